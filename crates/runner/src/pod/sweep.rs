//! The regular look at everything in the namespace: foreign pods are adopted or
//! collected as the judge says, our own are extended, replaced when they are
//! outdated, and forgotten when they have left. What is known comes from the
//! watches; requests are made only where something is to change.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Pod, Service};
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
    connect::Connection,
    judge::{Circumstances, Verdict, annotation, is_orphan, judge, owner, service_of},
    launch::PodLauncher,
    owners::Owners,
    roster::{Entry, Stage},
    unix_now,
    watch::{Watch, Watched as _},
};
use crate::pool::{Failure, Pool};

/// A pod that is up answers at once.
const REACH: Duration = Duration::from_secs(10);

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
        if !self.launcher.watch.is_synced() {
            return;
        }
        let own = self.launcher.roster.all();
        join_all(own.iter().map(|(name, entry)| self.tend(name, entry))).await;
        let version = self.launcher.templates.version();
        let around = Circumstances {
            now: unix_now(),
            began: self.began,
            template_version: version.as_deref(),
            ttl: self.ttl,
            start_timeout: self.launcher.start_timeout,
        };
        let pods = self.launcher.watch.all();
        join_all(pods.iter().map(|pod| self.consider(pod, &around))).await;
        self.collect_services(&around).await;
        for dead in self.owners.dead() {
            let has_left_something = |pod: &Arc<Pod>| owner(&pod.metadata) == Some(&dead);
            if !pods.iter().any(has_left_something) {
                self.owners.bury(&dead).await;
            }
        }
    }

    /// Looks after a pod of our own.
    async fn tend(&self, name: &str, entry: &Entry) {
        let pod = self.launcher.watch.get(name);
        let (pod, id) = match (&entry.stage, pod, entry.id) {
            (Stage::Leaving, None, _) => return self.launcher.roster.forget(name),
            (Stage::Leaving, Some(pod), _) => {
                if !self.launcher.is_ours(name) {
                    self.launcher.roster.forget(name);
                } else if pod.metadata.deletion_timestamp.is_none() {
                    self.launcher.remove(name).await;
                }
                return;
            }
            (Stage::Ready, Some(pod), Some(id)) => (pod, id),
            (Stage::Ready, None, Some(id)) => {
                return self.pool.failed(id, Failure::passing(Pod::GONE));
            }
            _ => return,
        };
        // The patch that takes an adopted pod over comes back with the watch.
        if owner(&pod.metadata) != Some(&self.launcher.owner) {
            tracing::warn!(name, "another runner has taken a pod over");
            self.launcher.roster.forget(name);
            return self
                .pool
                .failed(id, Failure::passing("another runner has it"));
        }
        if let Some(reason) = pod.loss() {
            return self.pool.failed(id, Failure::passing(reason));
        }
        if self.is_outdated(&pod, &entry.function).await {
            tracing::info!(name, "the pod's template or image is no longer current");
            return self.pool.outdated(id);
        }
        let ttl = self.launcher.functions.settings(&entry.function).ttl;
        let wanted = entry.last_use.get() + ttl.as_secs();
        let told = annotation(&pod.metadata, RECLAIM_AFTER).and_then(|text| text.parse().ok());
        if told.is_none_or(|told: u64| told < wanted) {
            let patch =
                json!({ "metadata": { "annotations": { RECLAIM_AFTER: wanted.to_string() } } });
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

    async fn consider(&self, pod: &Pod, around: &Circumstances<'_>) {
        let name = pod.name_any();
        if self.launcher.roster.get(&name).is_some() {
            return;
        }
        match judge(pod, |owner| self.owners.life(owner), around) {
            Verdict::Keep => {}
            Verdict::Delete(reason) => {
                tracing::info!(name, "deleting a pod: {reason}");
                let service = service_of(pod, &self.launcher.watch.all());
                self.launcher.remove_both(&name, &service).await;
            }
            Verdict::Adopt { function } => self.adopt(pod, &name, &function).await,
        }
    }

    async fn adopt(&self, pod: &Pod, name: &str, function: &str) {
        let roster = &self.launcher.roster;
        let settings = self.launcher.functions.settings(function);
        let others = roster.all();
        let others = others
            .iter()
            .filter(|(_, entry)| entry.function == function);
        if others.count() >= settings.max_pods {
            tracing::info!(
                name,
                "deleting a pod: its owner is gone and there are enough"
            );
            return self.launcher.remove(name).await;
        }
        let Some(last_use) = roster.claim(name, function) else {
            return;
        };
        // The version makes sure that of several runners only one succeeds.
        let version = pod.resource_version();
        let me = &self.launcher.owner;
        let patch =
            json!({ "metadata": { "resourceVersion": version, "annotations": { OWNER: me } } });
        if let Err(trouble) = self.patch(name, &patch).await {
            tracing::debug!(name, "another runner was faster: {trouble}");
            return roster.forget(name);
        }
        // As long as the watch has not told, the pod looks like another's.
        let _ = timeout(
            REACH,
            self.launcher.watch.until(|| self.launcher.is_ours(name)),
        )
        .await;
        match timeout(REACH, self.launcher.reach(name)).await {
            Ok(Ok(channel)) => {
                tracing::info!(name, function, "adopted a pod");
                let name = name.to_owned();
                let connection = Connection {
                    name,
                    channel,
                    last_use,
                };
                self.pool.adopt(function, settings, connection);
            }
            Ok(Err(_)) | Err(_) => {
                tracing::info!(name, "deleting a pod: it cannot be adopted");
                roster.leave_unadopted(name);
                self.launcher.remove(name).await;
            }
        }
    }

    async fn collect_services(&self, around: &Circumstances<'_>) {
        if !self.services.is_synced() {
            return;
        }
        for service in self.services.all() {
            let name = service.name_any();
            let has_pod = self.launcher.watch.get(&name).is_some();
            let is_known = self.launcher.roster.get(&name).is_some();
            let life = |owner: &str| self.owners.life(owner);
            if !has_pod && !is_known && is_orphan(&service, life, around) {
                tracing::info!(name, "deleting a service: it has no pod");
                let parameters = DeleteParams::default();
                let _ = api::once(self.launcher.services.delete(&name, &parameters)).await;
            }
        }
    }

    async fn patch(&self, name: &str, patch: &Value) -> Result<(), String> {
        let parameters = PatchParams::default();
        let patch = Patch::Merge(patch);
        let patched = self.launcher.pods.patch(name, &parameters, &patch);
        match api::once(patched).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error.message),
        }
    }
}
