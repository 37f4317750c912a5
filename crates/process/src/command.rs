//! What to start: a program, its arguments and the environment it may see.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::confine::{Profile, Scratch};

/// A program with its arguments. No shell is involved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Command {
    program: PathBuf,
    args: Vec<OsString>,
    environment: Environment,
    profile: Option<Profile>,
}

/// A variable that only a program of one call sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub value: String,
}

/// Which variables a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Environment {
    /// Those that programs need to find files, speak a language and reach the
    /// network; not the rest, which may hold credentials.
    Minimal,
    /// All of this process's own: a container's environment belongs to the
    /// program in it.
    Inherited,
}

/// The variables of [`Environment::Minimal`], besides those that start with `LC_`.
const MINIMAL: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];

impl Command {
    pub fn new(program: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            environment,
            profile: None,
        }
    }

    /// What the program may reach and use, once confinement has begun.
    #[must_use]
    pub fn confined(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The command as the standard library starts it: piped, in a process group
    /// of its own, marked with `mark` in its environment, with `scratch` for its
    /// temporary files. Nothing here needs code between fork and exec, so the cheap
    /// `posix_spawn` is used.
    pub(crate) fn prepare(
        &self,
        mark: (&OsStr, &OsStr),
        variable: Option<&Variable>,
        scratch: Option<&Scratch>,
    ) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args);
        if self.environment == Environment::Minimal {
            command.env_clear();
            command.envs(env::vars_os().filter(|(name, _)| is_minimal(name)));
        }
        if let Some(Variable { name, value }) = variable {
            command.env(name, value);
        }
        command.env(mark.0, mark.1);
        if let Some(scratch) = scratch {
            command.env("TMPDIR", scratch.path());
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.process_group(0);
        command
    }
}

fn is_minimal(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| MINIMAL.contains(&name) || name.starts_with("LC_"))
}
