//! The programs a node consists of: how each is started, and how one sees that it is ready.
//!
//! One file per program below; this one knows only what they have in common. All of it happens
//! inside the node's namespaces.

mod apiserver;
mod containerd;
mod controller_manager;
pub mod coredns;
mod etcd;
mod kube_proxy;
mod kubelet;
mod registry;
mod scheduler;

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::binaries::Binaries;
use crate::command::run;
use crate::layout::{API_PORT, NODE_ADDRESS, log_file};
use crate::process::{self, Process, wait_until};
use crate::registry::Registry;

/// Longest a component may take to get ready. An API server that returns to thousands of pods, on a busy
/// machine, needs more than a minute; an empty one needs seconds.
const START_LIMIT: Duration = Duration::from_secs(180);

/// A program of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
    Containerd,
    Kubelet,
    KubeProxy,
    CoreDns,
    OpenRegistry,
    PrivateRegistry,
}

/// How one component runs.
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// What shows that a component does its work.
pub(crate) enum Ready {
    /// Plain HTTP on the node's address answers 200.
    Http { port: u16, path: &'static str },
    /// The port on the node's address accepts connections.
    Port(u16),
    /// The socket accepts connections.
    Socket(&'static str),
    /// The API server's own account of itself.
    ApiServer,
    /// CoreDNS's own account of itself, which comes a moment before it answers.
    Dns,
}

impl Component {
    /// In the order of starting: each needs only those before it.
    pub const ALL: [Self; 10] = [
        Self::OpenRegistry,
        Self::PrivateRegistry,
        Self::Containerd,
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::KubeProxy,
        Self::CoreDns,
        Self::Kubelet,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Containerd => "containerd",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::CoreDns => "coredns",
            Self::OpenRegistry => "registry",
            Self::PrivateRegistry => "private-registry",
        }
    }

    /// Writes the component's configuration and says how to run it.
    fn launch(self, binaries: &Binaries) -> Result<Launch> {
        match self {
            Self::Etcd => etcd::launch(binaries),
            Self::ApiServer => apiserver::launch(binaries),
            Self::ControllerManager => controller_manager::launch(binaries),
            Self::Scheduler => scheduler::launch(binaries),
            Self::Containerd => containerd::launch(),
            Self::Kubelet => kubelet::launch(binaries),
            Self::KubeProxy => kube_proxy::launch(binaries),
            Self::CoreDns => coredns::launch(binaries),
            Self::OpenRegistry => registry::launch(Registry::Open),
            Self::PrivateRegistry => registry::launch(Registry::Private),
        }
    }

    fn ready(self) -> Ready {
        match self {
            Self::Etcd => etcd::READY,
            Self::ApiServer => apiserver::READY,
            Self::ControllerManager => controller_manager::READY,
            Self::Scheduler => scheduler::READY,
            Self::Containerd => containerd::READY,
            Self::Kubelet => kubelet::READY,
            Self::KubeProxy => kube_proxy::READY,
            Self::CoreDns => coredns::READY,
            Self::OpenRegistry => registry::ready(Registry::Open),
            Self::PrivateRegistry => registry::ready(Registry::Private),
        }
    }

    /// Starts the component without waiting for it.
    pub fn start(self, binaries: &Binaries) -> Result<Process> {
        let launch = self.launch(binaries)?;
        process::start(self.name(), &launch.program, &launch.arguments)
    }

    /// Waits until the component does its work; an error shows the end of its log.
    pub fn wait_ready(self, binaries: &Binaries) -> Result<()> {
        let process = self
            .process()
            .with_context(|| format!("{self} was never started"))?;
        let ready = self.ready();
        wait_until(START_LIMIT, &format!("{self} to be ready"), || {
            if !process.is_alive() {
                bail!("{self} ended by itself");
            }
            Ok(ready.is_ready(binaries))
        })
        .map_err(|error| anyhow!("{error}; its last lines:\n{}", self.log_tail(15)))
    }

    /// Its process as last started, running or not.
    #[must_use]
    pub fn process(self) -> Option<Process> {
        Process::recorded(self.name())
    }

    /// Its process, which must run.
    pub fn running(self) -> Result<Process> {
        self.process()
            .filter(Process::is_alive)
            .with_context(|| format!("{self} is not running"))
    }

    /// The last lines it logged.
    #[must_use]
    pub fn log_tail(self, lines: usize) -> String {
        let text = fs::read(log_file(self.name())).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Ready {
    fn is_ready(&self, binaries: &Binaries) -> bool {
        match self {
            Self::Http { port, path } => answers_ok(*port, path).unwrap_or(false),
            Self::Port(port) => TcpStream::connect((NODE_ADDRESS, *port)).is_ok(),
            Self::Socket(path) => UnixStream::connect(path).is_ok(),
            Self::Dns => {
                let knows_all = Self::Http {
                    port: coredns::READY_PORT,
                    path: "/ready",
                };
                knows_all.is_ready(binaries) && Self::Port(53).is_ready(binaries)
            }
            Self::ApiServer => {
                Self::Port(API_PORT).is_ready(binaries)
                    && run(binaries.kubectl().args([
                        "get",
                        "--raw",
                        "/readyz",
                        "--request-timeout=5s",
                    ]))
                    .is_ok()
            }
        }
    }
}

fn answers_ok(port: u16, path: &str) -> Result<bool> {
    let mut connection = TcpStream::connect((NODE_ADDRESS, port))?;
    connection.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(
        connection,
        "GET {path} HTTP/1.0\r\nHost: {NODE_ADDRESS}\r\n\r\n"
    )?;
    let mut status = [0; 12];
    connection.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}
