//! The two runners of a soak. One stays, and what it keeps is measured; the other one is replaced
//! and killed, so that the first takes over what it leaves.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acceptance::Server;
use anyhow::{Context, Result, ensure};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::front::Front;
use super::material::Material;
use crate::api_proxy::ApiProxy;
use crate::name_server::NameServer;
use crate::runner::Runner;
use crate::scope::Scope;

/// How long a runner may take to know its pods.
const READY: Duration = Duration::from_secs(60);

/// A cluster hears of a runner's end a moment later than the runner.
const NOTICE: Duration = Duration::from_secs(1);

/// A pod that nobody has called for so long goes: short, so that rests are.
const POD_TTL: &str = "--pod-ttl=8s";

#[derive(Debug)]
pub(crate) struct Replicas<'a> {
    scope: &'a Scope,
    material: &'a Material,
    wrapper: &'a str,
    pub(crate) proxy: ApiProxy,
    pub(crate) names: NameServer,
    pub(crate) front: Front,
    steady: Option<Server>,
    other: RefCell<Option<Server>>,
    started: Cell<usize>,
}

impl<'a> Replicas<'a> {
    /// Starts both and waits until they are ready.
    pub(crate) async fn start(
        scope: &'a Scope,
        material: &'a Material,
        wrapper: &'a str,
    ) -> Result<Self> {
        let mut replicas = Self {
            scope,
            material,
            wrapper,
            proxy: ApiProxy::start()?,
            names: NameServer::start()?,
            front: Front::start()?,
            steady: None,
            other: RefCell::new(None),
            started: Cell::new(0),
        };
        replicas.steady = Some(replicas.another().await?);
        *replicas.other.get_mut() = Some(replicas.another().await?);
        Ok(replicas)
    }

    /// The one that stays.
    pub(crate) fn steady(&self) -> Result<&Server> {
        self.steady.as_ref().context("a runner that stays")
    }

    /// Starts a runner, waits until it is ready, and lets callers come.
    async fn another(&self) -> Result<Server> {
        let number = self.started.replace(self.started.get() + 1);
        let mut args = self.material.flags();
        // What is kept for a while is kept shortly, so that at a rest nothing of it is left.
        let settings = [
            "--disable-runtimes=",
            POD_TTL,
            "--scan-interval=1s",
            "--started-ahead-idle=5s",
            "--image-metadata-ttl=5s",
        ];
        args.extend(settings.map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let server = Runner::setup(self.scope, &args)
            .named(&format!("soak-{number}"))
            .with_access(&self.proxy.kubeconfig())
            .with_names(&self.names)
            .with_wrapper(self.wrapper)
            .start_server()?;
        let begin = Instant::now();
        while !server.log().contains("the pod runtime is ready") {
            let is_late = begin.elapsed() > READY;
            ensure!(!is_late, "a runner is not ready: {}", server.log());
            sleep(Duration::from_millis(50)).await;
        }
        self.front.add(server.address());
        Ok(server)
    }

    /// As a rolling update does it: a new one first, then the old one is told to end.
    pub(crate) async fn replace(&self) -> Result<()> {
        let new = self.another().await?;
        let old = self.other.replace(Some(new)).context("a second runner")?;
        old.terminate();
        sleep(NOTICE).await;
        self.front.remove(&old.address());
        let ended = spawn_blocking(move || {
            let mut old = old;
            let status = old.wait();
            keep_log(&old, "replaced").map(|path| (status, path))
        });
        let (status, log) = ended.await??;
        ensure!(status.success(), "a runner ended with {status}: {log:?}");
        Ok(())
    }

    /// The second one is killed, and only then replaced.
    pub(crate) async fn crash(&self) -> Result<()> {
        let mut old = self.other.take().context("a second runner")?;
        old.kill();
        self.front.remove(&old.address());
        keep_log(&old, "crashed")?;
        *self.other.borrow_mut() = Some(self.another().await?);
        Ok(())
    }

    /// Ends both; neither may have ended before.
    pub(crate) async fn end(mut self) -> Result<()> {
        let steady = self.steady.take().context("a runner that stays")?;
        let other = self.other.take().context("a second runner")?;
        for (mut server, name) in [(steady, "steady"), (other, "second")] {
            server.terminate();
            let ended = spawn_blocking(move || {
                let status = server.wait();
                keep_log(&server, name).map(|path| (status, path))
            });
            let (status, log) = ended.await??;
            println!("log of a runner: {}", log.display());
            ensure!(status.success(), "a runner ended with {status}: {log:?}");
        }
        Ok(())
    }
}

impl Drop for Replicas<'_> {
    /// After a failure their logs are wanted most.
    fn drop(&mut self) {
        let left = [
            (self.steady.take(), "steady"),
            (self.other.take(), "second"),
        ];
        for (server, name) in left {
            if let Some(path) = server.and_then(|server| keep_log(&server, name).ok()) {
                eprintln!("log of a runner: {}", path.display());
            }
        }
    }
}

/// Writes a runner's log where it outlives the soak.
fn keep_log(server: &Server, name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/soak"));
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}-{}.log", server.pid()));
    fs::write(&path, server.log())?;
    Ok(path)
}
