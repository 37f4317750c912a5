//! Built programs, kept outside the checkout and found again by what they were built from.
//!
//! A part's directory is named after a hash of everything that decides its content, and appears
//! whole or not at all; so a hit needs no checking, and a crash half-way costs only the build.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::command::call;
use crate::layout::{admin_kubeconfig, state};
use crate::namespaces;
use crate::parts::Part;

/// Build settings that change what comes out; they are part of the hash.
const FLAGS: [&str; 2] = ["-trimpath", "-mod=readonly"];
const ENVIRONMENT: [(&str, &str); 2] = [("CGO_ENABLED", "0"), ("GOFLAGS", "")];
/// How often a long build says that it is alive.
const NEWS: Duration = Duration::from_secs(15);

/// The programs one node runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    directories: BTreeMap<String, PathBuf>,
}

/// Whether missing programs may be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Build,
    Refuse,
}

impl Binaries {
    /// Finds the programs of these parts in the cache and builds what is not there.
    pub(crate) fn obtain(parts: &[Part], missing: Missing) -> Result<Self> {
        let cache = cache_directory()?;
        namespaces::require_visible(&cache)?;
        let go = call("go", &["env", "GOVERSION", "GOOS", "GOARCH"])?;
        let directory = |part: Part| cache.join(key(part, &go));
        let absent = || -> Vec<Part> {
            let is_absent = |part: &Part| !directory(*part).exists();
            parts.iter().copied().filter(is_absent).collect()
        };
        if !absent().is_empty() {
            if missing == Missing::Refuse {
                let names: Vec<&str> = absent().into_iter().map(Part::name).collect();
                bail!("the cache {} lacks {}", cache.display(), names.join(", "));
            }
            fs::create_dir_all(&cache)?;
            let _lock = lock(&cache)?;
            // The other build may have made what was absent.
            let absent = absent();
            for (number, part) in absent.iter().enumerate() {
                eprintln!("building {} of {}: {part}", number + 1, absent.len());
                build(*part, &directory(*part))
                    .with_context(|| format!("could not build {part}"))?;
            }
        }
        let named = |part: &Part| (part.name().to_owned(), directory(*part));
        Ok(Self {
            directories: parts.iter().map(named).collect(),
        })
    }

    /// distribution v3, built if it is not there and that is allowed. No node needs it: tests ask
    /// for it, and from inside the node there is no way to its sources.
    pub fn registry(missing: Missing) -> Result<PathBuf> {
        let binaries = Self::obtain(&[Part::Registry], missing);
        let binaries = binaries.context("run `cluster registry` outside the node first")?;
        Ok(binaries.program("registry"))
    }

    /// Writes down which programs the node runs, for those who come later.
    pub(crate) fn record(&self) -> Result<()> {
        fs::write(record(), serde_json::to_vec(&self.directories)?)?;
        Ok(())
    }

    /// The programs of the running node.
    pub fn recorded() -> Result<Self> {
        let text = fs::read(record()).context("no cluster is up: run `make cluster`")?;
        Ok(Self {
            directories: serde_json::from_slice(&text)?,
        })
    }

    /// The path of a program, by its name.
    ///
    /// # Panics
    /// If no part has such a program: names are written in this crate, not read.
    #[must_use]
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let has = |part: &&Part| part.programs().iter().any(|program| program.name == name);
        let part = Part::ALL.iter().find(has).expect("a program of some part");
        self.directories[part.name()].join(name)
    }

    /// kubectl with the administrator's access.
    #[must_use]
    pub(crate) fn kubectl(&self) -> Command {
        let mut command = Command::new(self.program("kubectl"));
        command.env("KUBECONFIG", admin_kubeconfig());
        command
    }
}

/// Removes what this crate put into the cache, and the cache if nothing else is in it.
pub fn clean() -> Result<()> {
    let cache = cache_directory()?;
    let Ok(entries) = fs::read_dir(&cache) else {
        return Ok(());
    };
    let _lock = lock(&cache)?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Part::ALL
            .iter()
            .any(|part| name.starts_with(&format!("{}-", part.name())))
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let _ = fs::remove_file(cache.join("lock"));
    let _ = fs::remove_dir(&cache);
    println!("removed the built programs from {}", cache.display());
    Ok(())
}

/// One builder at a time.
fn lock(cache: &Path) -> Result<File> {
    let lock = File::create(cache.join("lock"))?;
    if lock.try_lock().is_err() {
        eprintln!(
            "another build is running in {}: waiting for it",
            cache.display()
        );
        lock.lock()?;
    }
    Ok(lock)
}

fn record() -> PathBuf {
    state("binaries.json")
}

fn cache_directory() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(directory) = set("FUNCTION_RUNNER_CACHE") {
        return std::path::absolute(directory).context("FUNCTION_RUNNER_CACHE");
    }
    let base = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))
        .context("neither FUNCTION_RUNNER_CACHE nor XDG_CACHE_HOME nor HOME is set")?;
    Ok(base.join("function-runner"))
}

fn key(part: Part, go: &str) -> String {
    let mut hash = Sha256::new();
    let flags = format!(
        "{FLAGS:?} {ENVIRONMENT:?} {} {:?}",
        part.linker_flags(),
        part.programs()
    );
    let main = part.main_go();
    let texts = [part.go_mod(), part.go_sum(), &flags, go];
    for text in texts.into_iter().chain(main) {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let digest = format!("{:x}", hash.finalize());
    format!("{}-{}", part.name(), &digest[..16])
}

/// Builds into a directory beside the final one and renames it.
fn build(part: Part, directory: &Path) -> Result<()> {
    let partial = directory.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    let (module, out) = (partial.join("module"), partial.join("out"));
    fs::create_dir_all(&module)?;
    fs::write(module.join("go.mod"), part.go_mod())?;
    fs::write(module.join("go.sum"), part.go_sum())?;
    if let Some(main) = part.main_go() {
        fs::write(module.join("main.go"), main)?;
    }
    let began = Instant::now();
    let mut go = Command::new("go");
    go.arg("build")
        .args(FLAGS)
        .arg("-v")
        .arg(format!("-ldflags={}", part.linker_flags()));
    // The slash says that this is a directory, also for a single program.
    go.arg(format!("-o={}/", out.display()));
    go.args(part.programs().iter().map(|program| program.package));
    watch(go.envs(ENVIRONMENT).current_dir(&module), began)?;
    for program in part.programs() {
        let built = out.join(default_name(program.package));
        fs::rename(built, out.join(program.name))?;
    }
    fs::rename(&out, directory)?;
    fs::remove_dir_all(&partial)?;
    eprintln!("  built in {}", minutes(began.elapsed()));
    Ok(())
}

/// Runs `go build -v`, which names a package per line, and turns that into news now and then.
fn watch(go: &mut Command, began: Instant) -> Result<()> {
    let mut child = go.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stderr.take().context("go's output")?).lines();
    let (mut seen, mut told) = (Vec::new(), began);
    for line in lines {
        seen.push(line?);
        if told.elapsed() > NEWS {
            told = Instant::now();
            eprintln!(
                "  {}, {} packages so far",
                minutes(began.elapsed()),
                seen.len()
            );
        }
    }
    if !child.wait()?.success() {
        bail!(
            "go build said:\n{}",
            seen[seen.len().saturating_sub(20)..].join("\n")
        );
    }
    Ok(())
}

/// How `go build` calls a program: the last element of its path that is not a major version.
fn default_name(package: &str) -> &str {
    let is_version = |word: &str| word.starts_with('v') && word[1..].parse::<u32>().is_ok();
    package
        .rsplit('/')
        .find(|word| !is_version(word))
        .unwrap_or(package)
}

fn minutes(time: Duration) -> String {
    format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_go_version_means_another_directory() {
        assert_ne!(key(Part::Etcd, "go1.26.1"), key(Part::Etcd, "go1.26.2"));
        assert_ne!(key(Part::Etcd, "go1.26.1"), key(Part::CoreDns, "go1.26.1"));
    }

    #[test]
    fn a_major_version_is_no_program_name() {
        assert_eq!(default_name("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(default_name("example.org/vault"), "vault");
    }
}
