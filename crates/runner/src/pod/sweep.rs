//! The regular look at everything in the namespace: foreign pods are adopted or
//! collected as the judge says, our own are extended, replaced when they are
//! outdated, and forgotten when they have left. What is known comes from the
//! watches; requests are made only where something is to change, for several
//! pods at once, and each is bounded: one pod's trouble does not hold up others.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::core::v1::{Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use registry::Reference;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{
    api,
    blueprint::{IMAGE_DIGEST, OWNER, RECLAIM_AFTER, TEMPLATE_VERSION},
    care::{Care, care, extension},
    connect::Connection,
    judge::{Circumstances, Verdict, annotation, is_orphan, judge, owner, service_of},
    launch::PodLauncher,
    owners::{Census, Owners},
    progress::{Progress, progress},
    roster::Entry,
    unix_now,
    watch::Watch,
};
use crate::pool::{Failure, PodId, Pool};

/// Pods that are looked after at once: many, because most of that is waiting, but
/// not so many that the API server holds it against us.
const AT_ONCE: usize = 32;

/// A pod that is up answers at once, and so does the watch.
const REACH: Duration = Duration::from_secs(5);

/// One that is not told to run yet may do so for a second, or still have to load
/// its image: that is looked at again in the next sweep, and nobody waits for it.
const COMING: Duration = Duration::from_secs(2);

/// What is not known by then is looked at in the next sweep.
const METADATA: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Sweeper {
    pub launcher: Arc<PodLauncher>,
    pub services: Watch<Service>,
    pub owners: Arc<Owners>,
    pub pool: Pool<Connection>,
    /// When this runner has begun, in Unix seconds.
    pub began: u64,
    pub ttl: Duration,
}

impl Sweeper {
    pub async fn sweep(&self) {
        let launcher = &self.launcher;
        if !launcher.watch.is_synced() || !self.services.is_synced() {
            return;
        }
        let own = launcher.roster.all();
        each(&own, |(name, entry)| self.tend(name, entry)).await;

        let (pods, services) = (launcher.watch.all(), self.services.all());
        let is_strange = |metadata: &&ObjectMeta| {
            let name = metadata.name.as_deref().unwrap_or_default();
            launcher.roster.get(name).is_none()
        };
        // Asked after the objects were seen: an owner is there before its objects.
        let owners: BTreeSet<&str> = (pods.iter().map(|pod| &pod.metadata))
            .chain(services.iter().map(|service| &service.metadata))
            .filter(is_strange)
            .filter_map(owner)
            .collect();
        let census = self.owners.census(owners).await;
        let version = launcher.templates.version();
        let around = Circumstances {
            now: unix_now(),
            began: self.began,
            template_version: version.as_deref(),
            ttl: self.ttl,
            start_timeout: launcher.start_timeout,
        };
        each(&pods, |pod| self.consider(pod, &census, &around)).await;
        each(&services, |service| self.collect(service, &census, &around)).await;
        for dead in census.dead() {
            let is_left = |pod: &Arc<Pod>| owner(&pod.metadata) == Some(dead);
            if !pods.iter().any(is_left) {
                self.owners.bury(dead).await;
            }
        }
    }

    /// Looks after a pod of our own.
    async fn tend(&self, name: &str, entry: &Entry) {
        let launcher = &self.launcher;
        let pod = launcher.watch.get(name);
        let (id, pod) = match (care(entry, pod.as_deref(), &launcher.owner), pod) {
            (Care::Review(id), Some(pod)) => (id, pod),
            (Care::Wait | Care::Review(_), _) => return,
            (Care::Forget, _) => return launcher.roster.forget(name),
            (Care::Remove, _) => return launcher.remove(name).await,
            (Care::GiveUp(id, reason), _) => return give_up(&self.pool, name, id, reason),
            (Care::HandOver(id), _) => {
                tracing::warn!(name, "another runner has taken a pod over");
                launcher.roster.forget(name);
                let failure = Failure::passing("another runner has it");
                return self.pool.failed(id, failure);
            }
        };
        if self.is_outdated(&pod, &entry.function).await {
            tracing::info!(name, "the pod's template or image is no longer current");
            return self.pool.outdated(id);
        }
        let ttl = launcher.functions.settings(&entry.function).ttl;
        if let Some(time) = extension(&pod, entry.usage.last(), ttl) {
            let annotations = json!({ RECLAIM_AFTER: time.to_string() });
            let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
            if let Err(trouble) = self.patch(name, &patch).await {
                tracing::debug!(name, "cannot extend a pod's time: {trouble}");
            }
        }
    }

    async fn is_outdated(&self, pod: &Pod, function: &str) -> bool {
        let version = self.launcher.templates.version();
        if version.is_some() && annotation(&pod.metadata, TEMPLATE_VERSION) != version.as_deref() {
            return true;
        }
        let Ok(reference) = function.parse::<Reference>() else {
            return false;
        };
        let deadline = Instant::now() + METADATA;
        let image = self.launcher.metadata.get(&reference, deadline).await;
        let digest = annotation(&pod.metadata, IMAGE_DIGEST);
        // A registry that is down says nothing against a pod.
        image.is_ok_and(|image| digest.is_some_and(|digest| digest != image.digest.to_string()))
    }

    /// Looks at a pod that may be anybody's.
    async fn consider(&self, pod: &Pod, census: &Census, around: &Circumstances<'_>) {
        let name = pod.name_any();
        if self.launcher.roster.get(&name).is_some() {
            return;
        }
        match judge(pod, |owner| census.life(owner), around) {
            Verdict::Keep => {}
            Verdict::Delete(reason) => {
                tracing::info!(name, "deleting a pod: {reason}");
                let service = service_of(pod, &self.launcher.watch.all());
                self.launcher.remove_both(&name, &service).await;
            }
            Verdict::Adopt { function } => self.adopt(pod, &name, &function).await,
        }
    }

    /// Takes a pod over. If there are enough of its function, the pool has it
    /// deleted.
    async fn adopt(&self, pod: &Pod, name: &str, function: &str) {
        let (launcher, roster) = (&self.launcher, &self.launcher.roster);
        let Some(usage) = roster.claim(name, function) else {
            return;
        };
        let is_on_its_way = matches!(progress(pod), Progress::Waiting(_));
        let patience = if is_on_its_way { COMING } else { REACH };
        let reached = timeout(patience, launcher.reach(name)).await;
        let channel = reached
            .map_err(drop)
            .and_then(|reached| reached.map_err(drop));
        if channel.is_err() && is_on_its_way {
            tracing::info!(name, "not adopting a pod yet: it is still on its way");
            return roster.forget(name);
        }
        if let Err(trouble) = self.take_over(pod, name).await {
            tracing::info!(name, "not adopting a pod for now: {trouble}");
            return roster.forget(name);
        }
        // As long as the watch has not told, the pod looks like another's.
        let taken_over = launcher.watch.until(|| launcher.is_ours(name));
        match (timeout(REACH, taken_over).await, channel) {
            (Ok(()), Ok(channel)) => {
                tracing::info!(name, function, "adopted a pod");
                let connection = Connection {
                    name: name.into(),
                    channel,
                    usage,
                };
                let settings = launcher.functions.settings(function);
                self.pool.adopt(function, settings, connection);
            }
            _ => {
                tracing::info!(name, "deleting a pod: it cannot be adopted");
                roster.leave_unadopted(name);
                launcher.remove(name).await;
            }
        }
    }

    /// Writes our name over its owner's. Of several runners only one succeeds: the
    /// owner has to be the one that was seen. Whatever else changes meanwhile, as
    /// a young pod's status does all the time, is no hindrance.
    async fn take_over(&self, pod: &Pod, name: &str) -> Result<(), String> {
        let path = format!("/metadata/annotations/{}", OWNER.replace('/', "~1"));
        let patch = json!([
            { "op": "test", "path": path, "value": owner(&pod.metadata) },
            { "op": "replace", "path": path, "value": self.launcher.owner },
        ]);
        let patch = serde_json::from_value(patch).map_err(|error| error.to_string())?;
        self.patch(name, &Patch::Json(patch)).await
    }

    /// Removes a service whose pod is gone or never came.
    async fn collect(&self, service: &Service, census: &Census, around: &Circumstances<'_>) {
        let name = service.name_any();
        let has_pod = self.launcher.watch.get(&name).is_some();
        let is_known = self.launcher.roster.get(&name).is_some();
        if !has_pod && !is_known && is_orphan(service, |owner| census.life(owner), around) {
            tracing::info!(name, "deleting a service: it has no pod");
            let parameters = DeleteParams::default();
            let _ = api::once(self.launcher.services.delete(&name, &parameters)).await;
        }
    }

    async fn patch(&self, name: &str, patch: &Patch<Value>) -> Result<(), String> {
        let parameters = PatchParams::default();
        let patched = self.launcher.pods.patch(name, &parameters, patch);
        match api::once(patched).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error.message),
        }
    }
}

/// A pod that was usable is not any more. Who sees it first says so: the watch, or a
/// sweep.
pub(super) fn give_up(pool: &Pool<Connection>, name: &str, id: PodId, reason: impl Into<Arc<str>>) {
    let reason = reason.into();
    tracing::info!(name, "a pod is lost: {reason}");
    pool.failed(id, Failure::passing(reason));
}

/// Several at once, but not any number.
async fn each<I: IntoIterator, F: Future<Output = ()>>(
    items: I,
    look_after: impl FnMut(I::Item) -> F,
) {
    stream::iter(items)
        .for_each_concurrent(AT_ONCE, look_after)
        .await;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn slow_pods_hold_up_nobody_and_only_so_many_are_looked_after_at_once() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let (under_way, most, quick) = (Cell::new(0), Cell::new(0), Cell::new(Duration::ZERO));
        each(0..3 * AT_ONCE, async |number| {
            under_way.set(under_way.get() + 1);
            most.set(most.get().max(under_way.get()));
            // The first is as slow as a pod that cannot be reached.
            sleep(if number == 0 { 30 * second } else { second }).await;
            under_way.set(under_way.get() - 1);
            if number > 0 {
                quick.set(begin.elapsed());
            }
        })
        .await;
        assert_eq!(most.get(), AT_ONCE);
        assert!(quick.get() < 5 * second, "{:?}", quick.get());
        assert!(begin.elapsed() < 31 * second);
    }
}
