//! The server's configuration: every flag read, checked, and in its own type.
//! From here on nobody looks at words of the command line.

mod tls;

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use functions::reference::Rules;
use goflags::{FlagError, Flags, value};

pub(crate) use tls::TlsConfig;

use crate::{
    args::FLAGS,
    status::{Visible, configuration::Configuration},
};

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) port: u16,
    pub(crate) runtimes: Runtimes,
    pub(crate) max_message_size: usize,
    pub(crate) evaluation_timeout: Duration,
    pub(crate) max_queued_per_function: usize,
    /// `None`: whatever the cgroup or the machine allows.
    pub(crate) memory_budget: Option<u64>,
    pub(crate) drain_timeout: Duration,
    /// How long after SIGTERM callers are still taken.
    pub(crate) lame_duck: Duration,
    pub(crate) default_image_prefix: String,
    /// `None`: every image may run.
    pub(crate) image_policy: Option<PathBuf>,
    /// `None`: plain text.
    pub(crate) tls: Option<TlsConfig>,
    pub(crate) log: LogConfig,
    /// Who may see the status page.
    pub(crate) status: Visible,
    /// What was said, for people to look at.
    pub(crate) shown: Configuration,
    pub(crate) exec: ExecConfig,
    pub(crate) pod: PodConfig,
    pub(crate) registry: RegistryConfig,
}

/// Which runtimes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runtimes {
    pub(crate) exec: bool,
    pub(crate) pod: bool,
}

impl Runtimes {
    /// The names of those that are not wanted.
    fn disabled(self) -> Vec<&'static str> {
        let all = [(self.exec, "exec"), (self.pod, "pod")];
        let disabled = all.into_iter().filter(|(is_wanted, _)| !is_wanted);
        disabled.map(|(_, name)| name).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LogConfig {
    /// 0 to 5.
    pub(crate) level: u8,
    pub(crate) json: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ExecConfig {
    pub(crate) functions: PathBuf,
    pub(crate) config: PathBuf,
    /// Whether the file was asked for: only then is its absence an error.
    pub(crate) config_is_required: bool,
    /// Directories beside `functions` from which objects may name executables.
    pub(crate) allowed_paths: Vec<PathBuf>,
    /// Whether functions that are part of the runner may be used.
    pub(crate) bundled: bool,
    /// Prefixes of mirrors of the catalog.
    pub(crate) bundled_prefixes: Vec<String>,
    /// Whether bundled functions answer `latest`, and `unstable` where nothing
    /// else could.
    pub(crate) bundled_latest: bool,
    pub(crate) confine: Confine,
    /// Most processes of functions that wait for their call; 0: none do.
    pub(crate) started_ahead: usize,
    pub(crate) started_ahead_idle: Duration,
}

/// Whether executables are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confine {
    /// As far as the kernel can.
    Auto,
    /// Or the server does not start.
    Required,
    Off,
}

#[derive(Debug, Clone)]
pub(crate) struct PodConfig {
    pub(crate) namespace: String,
    pub(crate) cache_config: PathBuf,
    /// Whether the file was asked for: only then is its absence worth a warning.
    pub(crate) cache_config_is_given: bool,
    pub(crate) warm_up: bool,
    pub(crate) ttl: Duration,
    pub(crate) scan_interval: Duration,
    pub(crate) template: Option<String>,
    pub(crate) max_waitlist_length: usize,
    pub(crate) max_parallel_pods: usize,
    /// Of all functions together; 0: any number.
    pub(crate) max_pods: usize,
    pub(crate) max_grpc_retries: usize,
    pub(crate) retry_lost_calls: bool,
    pub(crate) start_timeout: Duration,
    pub(crate) cluster_domain: String,
}

#[derive(Debug, Clone)]
pub(crate) struct RegistryConfig {
    /// `None`: a tag's metadata is kept for the process's life.
    pub(crate) metadata_ttl: Option<Duration>,
    pub(crate) insecure: Vec<String>,
    pub(crate) private: bool,
    pub(crate) auth_file: PathBuf,
    pub(crate) pull_secret: String,
    pub(crate) private_tls: bool,
    pub(crate) tls_directory: PathBuf,
}

/// What a command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Serve(Box<Config>),
    /// Only show this.
    Print(String),
}

const USAGE: &str = "\
function-runner executes KRM functions for Porch, as local executables or in pods.

Usage:
  function-runner [FLAGS]           serve
  function-runner eval --image IMG  evaluate a function, here or there (see eval --help)
  function-runner inspect IMG       ask a registry about an image (see inspect --help)
  function-runner status            show what a running server does (see status --help)
  function-runner fn NAME           run a bundled function on standard input
  function-runner fn list           show the bundled functions
  function-runner fn config         show them as a file for --config

Flags may have one dash or two, their value after = or a space.
Durations are written as in Go: 30m, 1h30m, 90s.
";

impl Config {
    pub(crate) fn parse(words: Vec<OsString>) -> Result<Request, FlagError> {
        let flags = goflags::parse(FLAGS, words)?;
        if flags.switch("help")? || flags.switch("h")? {
            return Ok(Request::Print(format!("{USAGE}{}", goflags::help(FLAGS))));
        }
        if flags.switch("version")? {
            return Ok(Request::Print(format!(
                "function-runner {}\n",
                env!("CARGO_PKG_VERSION")
            )));
        }
        if let Some(word) = flags.rest.first() {
            return Err(FlagError::Unexpected(word.clone()));
        }
        Self::read(&flags).map(|config| Request::Serve(Box::new(config)))
    }

    /// Which references bundled functions answer; `None`: none.
    pub(crate) fn bundled_rules(&self) -> Option<Rules> {
        self.exec.bundled.then(|| Rules {
            mirrors: self.exec.bundled_prefixes.clone(),
            latest: self.exec.bundled_latest,
            unstable: self.exec.bundled_latest && !self.runtimes.pod,
        })
    }

    fn read(flags: &Flags) -> Result<Self, FlagError> {
        let runtimes = flags.get("disable-runtimes", runtimes)?;
        let lame_duck = flags.get("lame-duck", value::duration)?;
        // Without pods it is hardly behind a service, whose news travel slowly.
        let is_duck = runtimes.pod || flags.is_given("lame-duck");
        Ok(Self {
            port: flags.get("port", value::port)?,
            runtimes,
            max_message_size: flags.get("max-request-body-size", value::message_size)?,
            evaluation_timeout: flags.get("evaluation-timeout", value::positive_duration)?,
            max_queued_per_function: flags.get("max-queued-per-function", at_least_one)?,
            memory_budget: Some(flags.get("memory-budget", value::quantity)?)
                .filter(|bytes| *bytes > 0),
            drain_timeout: flags.get("drain-timeout", value::duration)?,
            lame_duck: if is_duck { lame_duck } else { Duration::ZERO },
            default_image_prefix: flags.text("default-image-prefix")?,
            image_policy: file(flags, "image-policy")?,
            tls: TlsConfig::read(flags)?,
            log: LogConfig {
                level: flags.get("log-level", log_level)?,
                json: flags.get("log-format", json)?,
            },
            status: flags.get("status", visible)?,
            shown: Configuration::of(flags, FLAGS, &runtimes.disabled(), env::vars()),
            exec: ExecConfig {
                functions: flags.text("functions")?.into(),
                config: flags.text("config")?.into(),
                config_is_required: flags.is_given("config"),
                allowed_paths: flags.get("allowed-binary-paths", directories)?,
                bundled: flags.switch("bundled-functions")?,
                bundled_prefixes: flags.get("bundled-prefixes", prefixes)?,
                bundled_latest: flags.get("bundled-latest", newest_or_never)?,
                confine: flags.get("confine", confine)?,
                started_ahead: flags.get("started-ahead", value::number)?,
                started_ahead_idle: flags.get("started-ahead-idle", value::positive_duration)?,
            },
            pod: PodConfig {
                namespace: flags.get("pod-namespace", name)?,
                cache_config: flags.text("pod-cache-config")?.into(),
                cache_config_is_given: flags.is_given("pod-cache-config"),
                warm_up: flags.switch("warm-up-pod-cache")?,
                ttl: flags.get("pod-ttl", value::positive_duration)?,
                scan_interval: flags.get("scan-interval", value::positive_duration)?,
                template: Some(flags.text("function-pod-template")?)
                    .filter(|name| !name.is_empty()),
                max_waitlist_length: flags.get("max-waitlist-length", |text| count_or(text, 2))?,
                max_parallel_pods: flags
                    .get("max-parallel-pods-per-function", |text| count_or(text, 1))?,
                max_pods: flags.get("max-pods", value::number)?,
                max_grpc_retries: flags.get("max-grpc-retries", |text| count_or(text, 2))?,
                retry_lost_calls: flags.switch("retry-lost-calls")?,
                start_timeout: flags.get("pod-start-timeout", value::positive_duration)?,
                cluster_domain: flags.get("cluster-domain", name)?,
            },
            registry: RegistryConfig::read(flags)?,
        })
    }
}

/// A file that may be left out.
pub(crate) fn file(flags: &Flags, name: &str) -> Result<Option<PathBuf>, FlagError> {
    let path = flags.text(name)?;
    Ok(Some(path).filter(|path| !path.is_empty()).map(Into::into))
}

/// Prefixes up to a function's name, separated by commas.
fn prefixes(text: &str) -> Result<Vec<String>, &'static str> {
    let prefix = |text: &str| {
        let text = text.trim().trim_end_matches('/');
        format!("{text}/")
    };
    let words = text.split(',').filter(|word| !word.trim().is_empty());
    Ok(words.map(prefix).collect())
}

/// Absolute directories, separated by commas.
fn directories(text: &str) -> Result<Vec<PathBuf>, &'static str> {
    let paths: Vec<PathBuf> = list(text)?.into_iter().map(PathBuf::from).collect();
    if paths.iter().all(|path| path.is_absolute()) {
        Ok(paths)
    } else {
        Err("a comma-separated list of absolute directories")
    }
}

fn confine(text: &str) -> Result<Confine, &'static str> {
    match text {
        "auto" => Ok(Confine::Auto),
        "required" => Ok(Confine::Required),
        "off" => Ok(Confine::Off),
        _ => Err("auto, required or off"),
    }
}

fn newest_or_never(text: &str) -> Result<bool, &'static str> {
    match text {
        "newest" => Ok(true),
        "never" => Ok(false),
        _ => Err("newest or never"),
    }
}

impl RegistryConfig {
    pub(crate) fn read(flags: &Flags) -> Result<Self, FlagError> {
        Ok(Self {
            metadata_ttl: Some(flags.get("image-metadata-ttl", value::duration)?)
                .filter(|ttl| !ttl.is_zero()),
            insecure: flags.get("insecure-registries", list)?,
            private: flags.switch("enable-private-registries")?,
            auth_file: flags.text("registry-auth-secret-path")?.into(),
            pull_secret: flags.get("registry-auth-secret-name", name)?,
            private_tls: flags.switch("enable-private-registries-tls")?,
            tls_directory: flags.text("tls-secret-path")?.into(),
        })
    }
}

fn list(text: &str) -> Result<Vec<String>, &'static str> {
    let words = text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    Ok(words.map(str::to_owned).collect())
}

fn runtimes(text: &str) -> Result<Runtimes, &'static str> {
    let mut runtimes = Runtimes {
        exec: true,
        pod: true,
    };
    for name in list(text)? {
        match name.as_str() {
            "exec" => runtimes.exec = false,
            "pod" => runtimes.pod = false,
            _ => return Err("a comma-separated list of exec and pod"),
        }
    }
    Ok(runtimes)
}

fn at_least_one(text: &str) -> Result<usize, &'static str> {
    match text.parse::<u32>() {
        Ok(count) if count > 0 => Ok(count as usize),
        _ => Err("a whole number from 1"),
    }
}

fn count_or(text: &str, default: usize) -> Result<usize, &'static str> {
    let count: i32 = text
        .parse()
        .map_err(|_| "a whole number; 0 or less means the default")?;
    Ok(usize::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .unwrap_or(default))
}

fn log_level(text: &str) -> Result<u8, &'static str> {
    text.parse()
        .ok()
        .filter(|level| *level <= 5)
        .ok_or("a level from 0 to 5")
}

fn visible(text: &str) -> Result<Visible, &'static str> {
    match text {
        "true" => Ok(Visible::Loopback),
        "all" => Ok(Visible::All),
        "false" => Ok(Visible::Nobody),
        _ => Err("true, false or all"),
    }
}

/// Whether JSON is wanted, and not text for people.
pub(crate) fn json(text: &str) -> Result<bool, &'static str> {
    match text {
        "text" => Ok(false),
        "json" => Ok(true),
        _ => Err("text or json"),
    }
}

/// A name as Kubernetes and DNS have them: labels of lower-case letters, digits
/// and dashes, with dots between them.
fn name(text: &str) -> Result<String, &'static str> {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
        bytes.iter().all(inner)
            && !label.is_empty()
            && label.len() <= 63
            && bytes[0] != b'-'
            && bytes[bytes.len() - 1] != b'-'
    };
    if text.len() <= 253 && text.split('.').all(is_label) {
        Ok(text.to_owned())
    } else {
        Err("a name of lower-case letters, digits, dashes and dots")
    }
}

#[cfg(test)]
mod tests;
