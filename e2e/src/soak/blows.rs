//! What happens to pods: through the API server, as somebody with its rights does it, or on the
//! node, as the kernel does it.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cluster::process::Process;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::fault::{Aim, Blow};
use crate::pod;
use crate::scope::Scope;

/// An API server that hangs is asked again; a fault waits for it for so long.
const PATIENCE: Duration = Duration::from_secs(90);
const ATTEMPT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(500);

/// How long an API server is asked which pods there are, before the last answer has to do.
const GLANCE: Duration = Duration::from_secs(1);

/// The pods of functions.
#[derive(Debug)]
pub(crate) struct Pods<'a> {
    scope: &'a Scope,
    /// As they were last seen: pods can be killed while no API server knows of them.
    seen: RefCell<Vec<Pod>>,
}

impl<'a> Pods<'a> {
    pub(crate) fn new(scope: &'a Scope) -> Self {
        Self {
            scope,
            seen: RefCell::default(),
        }
    }

    /// Does it to all that it is meant for. There may be none.
    pub(crate) async fn strike(&self, blow: Blow, aim: Aim, lasts: Duration) -> Result<()> {
        let victims = self.victims(aim).await;
        let mut paused = Vec::new();
        for pod in &victims {
            match blow {
                Blow::Kill => on_each(pod, Process::kill)?,
                Blow::Pause => {
                    paused.extend(pod::wrappers(pod)?);
                    on_each(pod, Process::pause)?;
                }
                Blow::Delete | Blow::Evict | Blow::Fail | Blow::Unserve => {
                    insist(|| self.ask(blow, pod)).await?;
                }
            }
        }
        if blow == Blow::Pause {
            sleep(lasts).await;
            // A process that was killed meanwhile needs no waking.
            for wrapper in paused.iter().filter(|wrapper| wrapper.is_alive()) {
                let _ = wrapper.resume();
            }
        }
        Ok(())
    }

    async fn victims(&self, aim: Aim) -> Vec<Pod> {
        if let Ok(Ok((pods, _))) = timeout(GLANCE, self.scope.functions()).await {
            self.seen.replace(pods);
        }
        let seen = self.seen.borrow();
        match aim {
            Aim::All => seen.clone(),
            Aim::One(script) => {
                let is_its = |pod: &&Pod| pod.name_any().starts_with(script.name());
                seen.iter().find(is_its).cloned().into_iter().collect()
            }
        }
    }

    async fn ask(&self, blow: Blow, pod: &Pod) -> Result<()> {
        let (pods, name) = (self.scope.api::<Pod>(), pod.name_any());
        let at_once = DeleteParams::default().grace_period(0);
        let asked = match blow {
            Blow::Delete => pods.delete(&name, &at_once).await.map(drop),
            Blow::Evict => pods.evict(&name, &EvictParams::default()).await.map(drop),
            Blow::Fail => {
                let patch = json!({ "spec": { "activeDeadlineSeconds": 1 } });
                let patch = Patch::Merge(&patch);
                let patched = pods.patch(&name, &PatchParams::default(), &patch).await;
                patched.map(drop)
            }
            Blow::Unserve => {
                let services = self.scope.api::<Service>();
                let deleted = services.delete(&name, &DeleteParams::default()).await;
                deleted.map(drop)
            }
            Blow::Kill | Blow::Pause => bail!("nobody asks the API server for that"),
        };
        match asked {
            // It is gone already.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            asked => Ok(asked?),
        }
    }
}

/// Each wrapper of a pod; one that has just ended has nothing to suffer.
fn on_each(pod: &Pod, act: impl Fn(&Process) -> Result<()>) -> Result<()> {
    for wrapper in pod::wrappers(pod)? {
        if let Err(error) = act(&wrapper)
            && wrapper.is_alive()
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Tries until it works: what a fault needs may be away because of another one.
pub(crate) async fn insist(work: impl AsyncFn() -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    loop {
        let outcome = timeout(ATTEMPT, work()).await;
        let error = match outcome.context("no answer") {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) | Err(error) => error,
        };
        if begin.elapsed() > PATIENCE {
            return Err(error.context("tried in vain for a long time"));
        }
        sleep(AGAIN).await;
    }
}
