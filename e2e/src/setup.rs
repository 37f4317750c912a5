//! How a runner is started: whose rights, which wrapper, which clock, which name server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use acceptance::Server;
use anyhow::{Context, Result, ensure};
use cluster::layout::admin_kubeconfig;
use tempfile::TempDir;

use crate::name_server::NameServer;
use crate::runner::{Runner, binaries, publish_wrapper};
use crate::scale::Counter;
use crate::scope::Scope;

/// `debug` runs the runner that `cargo test` builds. It is another program than the one that is
/// deployed, and quicker to build.
const CHOICE: &str = "E2E_RUNNER";

/// The runner under test: as `make build` makes it, unless told otherwise.
pub(crate) fn runner_binary() -> Result<PathBuf> {
    if env::var_os(CHOICE).is_some_and(|choice| choice == "debug") {
        eprintln!("{CHOICE}=debug: this is NOT the optimised runner that is deployed");
        return Ok(acceptance::server::binary("function-runner"));
    }
    let built = binaries().join("function-runner");
    ensure!(
        built.exists(),
        "no {}: run `make build`, or set {CHOICE}=debug",
        built.display()
    );
    Ok(built)
}

/// A runner to be, with its pods in a scope's namespace.
#[derive(Debug)]
#[must_use]
pub struct Setup<'a> {
    scope: &'a Scope,
    args: Vec<String>,
    name: String,
    access: PathBuf,
    wrapper: Option<String>,
    clock: Option<String>,
    names: Option<&'a NameServer>,
    counter: Option<&'a Counter>,
    variables: Vec<(String, String)>,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(scope: &'a Scope, args: &[&str]) -> Self {
        Self {
            scope,
            args: args.iter().map(ToString::to_string).collect(),
            name: String::new(),
            access: admin_kubeconfig(),
            wrapper: None,
            clock: None,
            names: None,
            counter: None,
            variables: Vec::new(),
        }
    }

    /// Under a name that it keeps over restarts.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// With the rights of a kubeconfig's user, at the API server that is in there.
    pub fn with_access(mut self, kubeconfig: &Path) -> Self {
        kubeconfig.clone_into(&mut self.access);
        self
    }

    /// With another wrapper's image.
    pub fn with_wrapper(mut self, reference: &str) -> Self {
        self.wrapper = Some(reference.to_owned());
        self
    }

    /// With a clock that is wrong by this much, such as `+10m`.
    pub fn with_clock(mut self, offset: &str) -> Self {
        self.clock = Some(offset.to_owned());
        self
    }

    /// With another name server than everybody else on the node.
    pub fn with_names(mut self, names: &'a NameServer) -> Self {
        self.names = Some(names);
        self
    }

    /// With its instructions counted, which makes it slow. By everybody's name server.
    pub(crate) fn counted_by(mut self, counter: &'a Counter) -> Self {
        self.counter = Some(counter);
        self
    }

    /// With a variable in its environment.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it and waits until it is ready.
    pub fn start(self) -> Result<Runner> {
        let runner = self.start_unready()?;
        runner.server.wait_for_log("the pod runtime is ready");
        Ok(runner)
    }

    /// Starts it and waits until it listens; what it does before it is ready is the test's matter.
    pub fn start_unready(self) -> Result<Runner> {
        let server = self.start_server()?;
        Ok(Runner { server })
    }

    /// The same for one whose log is not wanted at its end.
    pub(crate) fn start_server(self) -> Result<Server> {
        let wrapper = match self.wrapper {
            Some(wrapper) => wrapper,
            None => publish_wrapper("wrapper", "e2e")?,
        };
        let folder = TempDir::new()?;
        let program = runner_binary()?;
        let mut command = match (self.names, self.counter) {
            (Some(names), _) => names.command(folder.path(), &program)?,
            (None, Some(counter)) => counter.command(&program),
            (None, None) => Command::new(program),
        };
        command
            .args(["--port=0", "--disable-runtimes=exec"])
            .arg(format!("--pod-namespace={}", self.scope.namespace()))
            .args(self.args)
            .env("WRAPPER_SERVER_IMAGE", wrapper)
            .env("KUBECONFIG", self.access)
            .env("POD_NAME", self.name)
            .env("HOME", folder.path())
            .envs(self.variables);
        if let Some(offset) = self.clock {
            command
                .env("LD_PRELOAD", faketime()?)
                .env("FAKETIME", offset)
                // Durations are measured with the other clock, which no operator sets.
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
        }
        Ok(Server::start(command, folder))
    }
}

/// Debian's faketime, which the node's packages bring.
fn faketime() -> Result<PathBuf> {
    let candidates = fs::read_dir("/usr/lib")?.flatten();
    let mut found = candidates
        .map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"))
        .filter(|path| path.exists());
    found
        .next()
        .context("no libfaketime: `cluster up` installs it")
}
