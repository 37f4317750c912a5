//! `function-runner inspect` as a person runs it, and what it said.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::setup::runner_binary;

/// A command line to be, with a home of its own.
#[derive(Debug)]
pub struct Inspect {
    command: Command,
    home: TempDir,
}

/// What came out.
#[derive(Debug)]
pub struct Inspected {
    /// Of the standard output.
    pub answer: Value,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Inspect {
    pub fn new(image: &str) -> Result<Self> {
        let home = TempDir::new()?;
        let mut command = Command::new(runner_binary()?);
        command.args(["inspect", image, "-o", "json"]);
        command.env("HOME", home.path()).env_remove("DOCKER_CONFIG");
        Ok(Self { command, home })
    }

    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.command.args(flags);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With a docker config for private registries.
    pub fn private(self, auths: &Value) -> Result<Self> {
        let file = self.home().join("auth.json");
        std::fs::write(&file, serde_json::json!({ "auths": auths }).to_string())?;
        let path = format!("--registry-auth-secret-path={}", file.display());
        Ok(self.flags(&["--enable-private-registries", &path]))
    }

    /// Trusting the authority in a directory.
    #[must_use]
    pub fn trusting(self, authority: &Path) -> Self {
        let path = format!("--tls-secret-path={}", authority.display());
        self.flags(&["--enable-private-registries-tls", &path])
    }

    pub fn run(mut self) -> Result<Inspected> {
        let output = self.command.output()?;
        let stderr = String::from_utf8(output.stderr)?;
        let answer = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("no JSON, but {stderr}"))?;
        Ok(Inspected {
            answer,
            stderr,
            code: output.status.code(),
        })
    }
}

impl Inspected {
    /// The answer of an inspection that succeeded.
    pub fn succeeded(self) -> Result<Self> {
        ensure!(self.code == Some(0), "{}", self.stderr);
        Ok(self)
    }

    /// The complaint of one that failed.
    pub fn complaint(&self) -> Result<&str> {
        ensure!(
            self.code == Some(1),
            "code {:?}: {}",
            self.code,
            self.stderr
        );
        self.answer["error"]
            .as_str()
            .context("no error in the answer")
    }
}

/// Makes `script` a program in `folder`.
pub fn write_program(folder: &Path, name: &str, script: &str) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}
