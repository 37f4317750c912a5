//! A registry on loopback, for one test: open, with a password and TLS, or with tokens. It is
//! Debian's `docker-registry`, or distribution v3, which sends lists of tags in pages. No node is
//! needed. Several of them may serve the same images.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cluster::binaries::{Binaries, Missing};
use cluster::image::{ImageSpec, Layout};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use crate::token_server::TokenServer;

/// A registry is up in a fraction of this, on two busy cores as well.
const PATIENCE: Duration = Duration::from_secs(20);

pub const USER: &str = "test-user";
pub const PASSWORD: &str = "test-password";

/// A name in every certificate that leads here only through a proxy.
pub const ELSEWHERE: &str = "registry.example.com";

/// Images on disk that registries serve.
#[derive(Debug)]
pub struct Images(TempDir);

/// Who may ask.
#[derive(Debug, Clone, Copy)]
pub enum Guard<'a> {
    Open,
    /// TLS, and [`USER`] with [`PASSWORD`].
    Password(&'a Certificates),
    Tokens(&'a TokenServer),
}

/// A running registry; it ends with this value.
#[derive(Debug)]
pub struct RealRegistry {
    child: Child,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
    _files: TempDir,
}

impl Images {
    pub fn new() -> Result<Self> {
        Ok(Self(TempDir::new()?))
    }

    /// Stores an image under `repository:tag`, in skopeo's words for the format: `oci` or `v2s2`.
    pub fn store(&self, name: &str, spec: &ImageSpec, format: &str) -> Result<()> {
        let open = RealRegistry::start(self, Guard::Open)?;
        let files = TempDir::new()?;
        let layout = Layout::write(files.path(), spec)?;
        let copied = Command::new("skopeo")
            .args(["--insecure-policy", "copy", "--quiet", "--all"])
            .args(["--dest-tls-verify=false", "--format", format])
            .arg(format!("oci:{}", layout.directory().display()))
            .arg(format!("docker://{}/{name}", open.host()))
            .output()
            .context("skopeo, of the Debian package of that name, is needed")?;
        ensure!(
            copied.status.success(),
            "{}",
            String::from_utf8_lossy(&copied.stderr)
        );
        Ok(())
    }

    /// Gives an image more tags, as if it had been pushed once for each of them. They are links to
    /// what the registry has written for the first: it would make six folders and files for each.
    pub fn tag(&self, name: &str, tags: impl IntoIterator<Item = String>) -> Result<()> {
        tag(self.0.path(), name, tags)
    }

    /// An image that runs `command`.
    pub fn store_command(&self, name: &str, command: &str) -> Result<()> {
        let spec = ImageSpec {
            entrypoint: vec![command.to_owned()],
            ..ImageSpec::default()
        };
        self.store(name, &spec, "oci")
    }
}

/// The same for any registry's storage. A tag that is there already stays.
pub(crate) fn tag(
    storage: &Path,
    name: &str,
    tags: impl IntoIterator<Item = String>,
) -> Result<()> {
    let (repository, tag) = name.rsplit_once(':').context("repository:tag")?;
    let folder = storage.join("docker/registry/v2/repositories");
    let folder = folder.join(repository).join("_manifests/tags");
    for other in tags {
        match symlink(tag, folder.join(other)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    Ok(())
}

impl RealRegistry {
    pub fn start(images: &Images, guard: Guard<'_>) -> Result<Self> {
        Self::start_program("docker-registry".into(), images, guard)
            .context("docker-registry, of the Debian package of that name, is needed")
    }

    /// distribution v3.
    pub fn start_v3(images: &Images, guard: Guard<'_>) -> Result<Self> {
        Self::start_program(Binaries::registry(Missing::Refuse)?, images, guard)
    }

    fn start_program(program: PathBuf, images: &Images, guard: Guard<'_>) -> Result<Self> {
        let files = TempDir::new()?;
        let mut config = json!({
            "version": "0.1",
            "log": { "level": "info", "accesslog": { "disabled": false } },
            "storage": { "filesystem": { "rootdirectory": images.0.path() } },
            "http": { "addr": "127.0.0.1:0", "secret": "test" },
        });
        match guard {
            Guard::Open => {}
            Guard::Password(certificates) => {
                let passwords = files.path().join("htpasswd");
                fs::write(&passwords, password_line()?)?;
                let (certificate, key) = certificates.server();
                config["http"]["tls"] = json!({ "certificate": certificate, "key": key });
                config["auth"] = json!({ "htpasswd": { "realm": "test", "path": passwords } });
            }
            Guard::Tokens(server) => {
                config["auth"] = json!({ "token": server.registry_settings() });
            }
        }
        let file = files.path().join("config.json");
        fs::write(&file, config.to_string())?;
        let mut child = Command::new(program)
            .arg("serve")
            .arg(&file)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, lines) = mpsc::channel();
        follow(child.stdout.take().context("piped")?, &log, sender.clone());
        follow(child.stderr.take().context("piped")?, &log, sender);
        let mut registry = Self {
            child,
            port: 0,
            log,
            _files: files,
        };
        registry.port = listening_port(&lines, &registry.log)?;
        Ok(registry)
    }

    /// As image references begin.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The paths that were asked for, with their method and the answer's status, by its own log.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let log = self.log.lock();
        let request = |line: &String| {
            let mut quoted = line.split('"').skip(1);
            let request = quoted.next()?.strip_suffix(" HTTP/1.1")?.to_owned();
            let status = quoted.next()?.split_whitespace().next()?.to_owned();
            request
                .contains(" /v2/")
                .then(|| format!("{request} {status}"))
        };
        log.iter().filter_map(request).collect()
    }
}

impl Drop for RealRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(
    output: impl std::io::Read + Send + 'static,
    log: &Arc<Mutex<Vec<String>>>,
    sender: mpsc::Sender<String>,
) {
    let log = Arc::clone(log);
    // Ends with the registry, whose output it reads.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            log.lock().push(line.clone());
            let _ = sender.send(line);
        }
    });
}

fn listening_port(lines: &mpsc::Receiver<String>, log: &Mutex<Vec<String>>) -> Result<u16> {
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                bail!("the registry does not start: {:?}", log.lock())
            }
        };
        if let Some((_, address)) = line.split_once("listening on 127.0.0.1:") {
            let digits: String = address.chars().take_while(char::is_ascii_digit).collect();
            return Ok(digits.parse()?);
        }
    }
}

/// The registry reads bcrypt only; the lowest cost is enough for a published password.
fn password_line() -> Result<String> {
    let line = Command::new("htpasswd")
        .args(["-n", "-b", "-B", "-C", "4", USER, PASSWORD])
        .output()
        .context("htpasswd, of the Debian package apache2-utils, is needed")?;
    Ok(String::from_utf8(line.stdout)?)
}

/// An authority and a certificate of it for loopback, as files.
#[derive(Debug)]
pub struct Certificates(TempDir);

impl Certificates {
    pub fn new() -> Result<Self> {
        let files = TempDir::new()?;
        let mut authority = CertificateParams::new(Vec::new())?;
        let name = &mut authority.distinguished_name;
        name.push(DnType::CommonName, "an authority of a test");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        fs::create_dir(files.path().join("ca"))?;
        let certificate = authority.self_signed(&key)?.pem();
        fs::write(files.path().join("ca/ca.crt"), certificate)?;
        let issuer = Issuer::new(authority, key);
        let names = ["127.0.0.1", ELSEWHERE].map(str::to_owned);
        let server = CertificateParams::new(names)?;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?.pem();
        fs::write(files.path().join("server.crt"), certificate)?;
        fs::write(files.path().join("server.key"), key.serialize_pem())?;
        Ok(Self(files))
    }

    /// The directory that holds the authority as `ca.crt`.
    #[must_use]
    pub fn authority(&self) -> std::path::PathBuf {
        self.0.path().join("ca")
    }

    fn server(
        &self,
    ) -> (
        impl AsRef<Path> + serde::Serialize,
        impl AsRef<Path> + serde::Serialize,
    ) {
        (
            self.0.path().join("server.crt"),
            self.0.path().join("server.key"),
        )
    }
}
