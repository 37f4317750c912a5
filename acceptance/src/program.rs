//! Any server of the same kind as ours, as a process of its own: it takes `--port` and serves
//! gRPC's health. Tests read the logs of our own servers, but not those of Porch's.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

/// How long it may take to answer or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    port: u16,
    /// Its home, with its log in it.
    pub folder: TempDir,
}

impl Program {
    /// Starts a command on a port that is free, given by the flag `--port`.
    pub async fn start(mut command: Command, folder: TempDir) -> Result<Self> {
        let port = free_port()?;
        let log = File::create(folder.path().join("log"))?;
        let child = command
            .arg(format!("--port={port}"))
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let mut program = Self {
            child,
            port,
            folder,
        };
        let begin = Instant::now();
        while let Err(error) = program.is_serving().await {
            if let Some(status) = program.child.try_wait()? {
                bail!("{command:?} ended with {status}:\n{}", program.log());
            }
            if begin.elapsed() > PATIENCE {
                bail!("{error:#}:\n{}", program.log());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(program)
    }

    async fn is_serving(&self) -> Result<()> {
        check_health(self.connect().await?).await
    }

    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A new connection.
    pub async fn connect(&self) -> Result<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address()))?;
        endpoint.connect().await.context("it does not answer")
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Asks it to end and waits until it has.
    pub async fn stop(mut self) -> Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begin.elapsed() > PATIENCE {
                bail!("it does not end:\n{}", self.log());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Asks a server whether it serves.
pub async fn check_health(channel: Channel) -> Result<()> {
    let mut request = Request::new(HealthCheckRequest::default());
    request.set_timeout(PATIENCE);
    let answer = HealthClient::new(channel).check(request).await?;
    if answer.into_inner().status() != ServingStatus::Serving {
        bail!("it does not serve");
    }
    Ok(())
}

/// Free at this moment: the server has to take it before somebody else does.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the program\n{}\n---", self.log());
        }
    }
}
