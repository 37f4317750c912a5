//! The servers of the bundled functions' rows: three of ours, and the peer's if it has been built.
//! They need no node.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::program::Program;
use anyhow::{Context, Result};
use cluster::peer::Peer;
use go_programs::Form;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::rig::command;

#[path = "../../differential/src/modules.rs"]
mod modules;

/// The functions and releases that are measured. The last has no Go program.
pub(crate) const FUNCTIONS: [&str; 7] = [
    "apply-setters@v0.3.0",
    "ensure-name-substring@v0.2.4",
    "search-replace@v0.2.4",
    "set-namespace@v0.4.5",
    "starlark@v0.5.6",
    "upsert-resource@v0.2.4",
    "set-labels@v0.2.5",
];

/// What answers a function's calls: each has an image of its own.
pub(crate) fn bundled(function: &str) -> String {
    format!("bench.local/bundled/{function}:v1")
}

pub(crate) fn go(function: &str) -> String {
    format!("bench.local/go/{function}:v1")
}

/// The Go functions, and what says that they answer.
#[derive(Debug)]
pub(crate) struct Functions {
    folder: TempDir,
    peer: Option<Peer>,
}

/// One round's servers, all of them on the same functions.
#[derive(Debug)]
pub(crate) struct Servers {
    /// As it is deployed.
    pub(crate) bundled: Server,
    /// Starts every function when it is called.
    pub(crate) not_ahead: Server,
    /// Starts them without confinement.
    pub(crate) unconfined: Server,
    pub(crate) peer: Option<Server>,
}

/// A server, and the one connection to it.
#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    pub(crate) channel: Channel,
}

impl Functions {
    /// Builds the Go functions where they are not there yet.
    pub(crate) fn build() -> Result<Self> {
        let folder = TempDir::new()?;
        let functions = folder.path().join("functions");
        fs::create_dir(&functions)?;
        let mut config = "functions:\n".to_owned();
        for (name, program) in modules::programs(Form::Once, |name| FUNCTIONS.contains(&name))? {
            let (function, _) = modules::parts(name);
            fs::copy(program, functions.join(format!("{function}-go")))?;
            let _ = writeln!(
                config,
                "- function: {function}-go\n  images: ['{}']",
                go(function)
            );
        }
        fs::write(folder.path().join("go.yaml"), &config)?;
        for name in FUNCTIONS {
            let image = bundled(modules::parts(name).0);
            let _ = writeln!(config, "- function: {name}\n  images: ['{image}']");
        }
        fs::write(folder.path().join("all.yaml"), config)?;
        let peer = Peer::built();
        if let Err(reason) = &peer {
            eprintln!("left out what is beside the peer: {reason:#}");
        }
        Ok(Self {
            folder,
            peer: peer.ok(),
        })
    }

    pub(crate) async fn serve(&self) -> Result<Servers> {
        let peer = match &self.peer {
            Some(peer) => Some(self.start(command(Some(peer)), "go.yaml").await?),
            None => None,
        };
        let mut not_ahead = command(None);
        not_ahead.arg("--started-ahead=0");
        let mut unconfined = command(None);
        unconfined.arg("--confine=off");
        Ok(Servers {
            bundled: self.start(command(None), "all.yaml").await?,
            not_ahead: self.start(not_ahead, "all.yaml").await?,
            unconfined: self.start(unconfined, "all.yaml").await?,
            peer,
        })
    }

    async fn start(&self, mut command: Command, config: &str) -> Result<Server> {
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let folder = self.folder.path();
        command
            .arg("--disable-runtimes=pod")
            .arg(flag("functions", &folder.join("functions")))
            .arg(flag("config", &folder.join(config)))
            // Several at a time: each has its status page somewhere.
            .env("OTEL_EXPORTER_PROMETHEUS_PORT", "0");
        let program = Program::start(command, TempDir::new()?).await?;
        let channel = program.connect().await?;
        Ok(Server { program, channel })
    }
}

impl Servers {
    pub(crate) async fn stop(self) -> Result<()> {
        let ours = [self.bundled, self.not_ahead, self.unconfined];
        for server in ours.into_iter().chain(self.peer) {
            server.program.stop().await.context("a server")?;
        }
        Ok(())
    }
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.program.pid()
    }
}
