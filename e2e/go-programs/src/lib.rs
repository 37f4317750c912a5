//! Programs built from pinned Go modules, kept outside the checkout and found again by what they were built from.
//!
//! A module's directory is named after a hash of everything that decides its content, and appears
//! whole or not at all; so a hit needs no checking, and a crash half-way costs only the build.

mod repeat;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// Build settings that change what comes out; they are part of the hash.
const FLAGS: [&str; 2] = ["-trimpath", "-mod=readonly"];
const ENVIRONMENT: [(&str, &str); 2] = [("CGO_ENABLED", "0"), ("GOFLAGS", "")];
/// How often a long build says that it is alive.
const NEWS: Duration = Duration::from_secs(15);

/// A module file, and the programs built from it together.
#[derive(Debug, Clone)]
pub struct Module<'a> {
    pub name: &'a str,
    pub go_mod: &'a str,
    pub go_sum: &'a str,
    /// A program of our own around the modules, where theirs does not do.
    pub main_go: Option<&'a str>,
    pub linker_flags: String,
    pub programs: Vec<Program<'a>>,
    pub form: Form,
}

/// How often a program does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Once, as its authors built it.
    Once,
    /// Once per line of its standard input, from and to the files `input` and `output` of its directory; it answers
    /// each line with the exit code that it would have ended with.
    Repeating,
}

/// One program: the name it is kept under, its package, and its pinned version.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub name: &'a str,
    pub package: &'a str,
    pub version: &'a str,
}

/// Whether missing programs may be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Build,
    Refuse,
}

/// Finds the programs of these modules in the cache and builds what is not there; the directory of each.
pub fn obtain(modules: &[Module<'_>], missing: Missing) -> Result<Vec<PathBuf>> {
    let cache = cache_directory()?;
    let go = go_version()?;
    let directory = |module: &Module<'_>| cache.join(key(module, &go));
    let absent = || modules.iter().filter(|module| !directory(module).exists());
    if absent().next().is_some() {
        if missing == Missing::Refuse {
            let names: Vec<&str> = absent().map(|module| module.name).collect();
            bail!("the cache {} lacks {}", cache.display(), names.join(", "));
        }
        fs::create_dir_all(&cache)?;
        let _lock = lock(&cache)?;
        // The other build may have made what was absent.
        let absent: Vec<&Module<'_>> = absent().collect();
        for (number, module) in absent.iter().enumerate() {
            eprintln!(
                "building {} of {}: {}",
                number + 1,
                absent.len(),
                module.title()
            );
            build(module, &directory(module))
                .with_context(|| format!("could not build {}", module.title()))?;
        }
    }
    Ok(modules.iter().map(directory).collect())
}

/// Removes the directories of these modules from the cache, and the cache if nothing else is in it.
pub fn clean(modules: &[&str]) -> Result<()> {
    let cache = cache_directory()?;
    let Ok(entries) = fs::read_dir(&cache) else {
        return Ok(());
    };
    let _lock = lock(&cache)?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if modules
            .iter()
            .any(|module| name.starts_with(&format!("{module}-")))
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let _ = fs::remove_file(cache.join("lock"));
    let _ = fs::remove_dir(&cache);
    println!("removed the built programs from {}", cache.display());
    Ok(())
}

impl Module<'_> {
    fn title(&self) -> String {
        let names: Vec<&str> = self.programs.iter().map(|program| program.name).collect();
        match names[..] {
            [name] if name == self.name => name.to_owned(),
            _ => format!("{} ({})", self.name, names.join(", ")),
        }
    }
}

fn go_version() -> Result<String> {
    let output = Command::new("go")
        .args(["env", "GOVERSION", "GOOS", "GOARCH"])
        .output()
        .context("go does not run: is it installed?")?;
    if !output.status.success() {
        bail!("go env said: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
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

/// Where built programs are kept.
pub fn cache_directory() -> Result<PathBuf> {
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

fn key(module: &Module<'_>, go: &str) -> String {
    let mut hash = Sha256::new();
    let flags = format!(
        "{FLAGS:?} {ENVIRONMENT:?} {} {:?}",
        module.linker_flags, module.programs
    );
    let texts = [module.go_mod, module.go_sum, flags.as_str(), go];
    let repeating = (module.form == Form::Repeating).then_some(repeat::MAIN);
    for text in texts.into_iter().chain(module.main_go).chain(repeating) {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    let digest = format!("{:x}", hash.finalize());
    format!("{}-{}", module.name, &digest[..16])
}

/// Builds into a directory beside the final one and renames it.
fn build(module: &Module<'_>, directory: &Path) -> Result<()> {
    let partial = directory.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    let (sources, out) = (partial.join("module"), partial.join("out"));
    fs::create_dir_all(&sources)?;
    fs::write(sources.join("go.mod"), module.go_mod)?;
    fs::write(sources.join("go.sum"), module.go_sum)?;
    if let Some(main) = module.main_go {
        fs::write(sources.join("main.go"), main)?;
    }
    if module.form == Form::Repeating {
        for program in &module.programs {
            repeat::rewrite(program.package, &sources, &partial)?;
        }
    }
    let began = Instant::now();
    let mut go = Command::new("go");
    go.arg("build")
        .args(FLAGS)
        .arg("-v")
        .arg(format!("-ldflags={}", module.linker_flags));
    // The slash says that this is a directory, also for a single program.
    go.arg(format!("-o={}/", out.display()));
    go.args(module.programs.iter().map(|program| program.package));
    watch(go.envs(ENVIRONMENT).current_dir(&sources), began)?;
    for program in &module.programs {
        let built = out.join(default_name(program.package));
        fs::rename(built, out.join(program.name))?;
    }
    fs::rename(&out, directory)?;
    fs::remove_dir_all(&partial)?;
    eprintln!("  built in {}", minutes(began.elapsed()));
    Ok(())
}

/// Runs `go build -v`, which names a package per line, and prints the progress at intervals.
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
        let module = |name| Module {
            name,
            go_mod: "module x",
            go_sum: "",
            main_go: None,
            linker_flags: String::new(),
            programs: Vec::new(),
            form: Form::Once,
        };
        assert_ne!(key(&module("a"), "go1.26.1"), key(&module("a"), "go1.26.2"));
        assert_ne!(key(&module("a"), "go1.26.1"), key(&module("b"), "go1.26.1"));
    }

    #[test]
    fn a_major_version_is_no_program_name() {
        assert_eq!(default_name("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(default_name("example.org/vault"), "vault");
    }
}
