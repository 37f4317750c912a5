//! The regular look at everything in the namespace: foreign pods are adopted or
//! collected as the judge says, our own are extended, replaced when they are
//! outdated, and forgotten when they have left. What is known comes from the
//! watches; requests are made only where something is to change, for several
//! pods at once, and each is bounded: one pod's trouble does not hold up others.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt as _, stream};
use kube::api::{Patch, PatchParams};
use registry::Reference;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{
    blueprint::{OWNER, RECLAIM_AFTER, settings_version},
    care::{Care, care, extension},
    connect::{Connection, Origin},
    judge::{Circumstances, Services, Verdict, is_orphan, judge},
    launch::PodLauncher,
    owners::{Census, Life, Owners},
    progress::Progress,
    roster::Entry,
    seen::{Identity, SeenPod, SeenService},
    tags::Tags,
};
use crate::pool::{Failure, PodId, Pool};

/// Pods that are looked after at once: many, because most of that is waiting. What
/// goes to the API server waits for its turn besides.
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
    pub owners: Arc<Owners>,
    pub pool: Pool<Connection>,
    pub ttl: Duration,
    pub memory: Memory,
}

/// What a sweep remembers of those before.
#[derive(Debug, Default)]
pub struct Memory {
    tags: Tags,
    /// Objects of runners that are gone which another runner was to look after first.
    left_to_others: Mutex<HashSet<String>>,
}

/// What one sweep knows when it looks at the objects of others.
struct Look<'a> {
    census: Census,
    around: Circumstances<'a>,
    services: Services<'a>,
    /// What the sweep before has left to others: they had their chance.
    left_before: HashSet<String>,
    left_now: Mutex<HashSet<String>>,
}

impl Look<'_> {
    fn life(&self, owner: &str) -> Life {
        self.census.life(owner)
    }

    /// Whether it is up to this runner to act on an orphan. When a runner departs all
    /// others notice at once, and each takes its share of the orphans; what is still
    /// there in the next sweep anybody may take.
    fn is_my_turn(&self, identity: &Identity, me: &str) -> bool {
        let name = &identity.name;
        let is_mine = identity.owner.as_deref() == Some(me) || self.census.first_for(name) == me;
        if is_mine || self.left_before.contains(name) {
            return true;
        }
        let mut left = self.left_now.lock().unwrap_or_else(PoisonError::into_inner);
        left.insert(name.clone());
        false
    }
}

impl Sweeper {
    /// Looks at everything; whether something was left to other runners that should
    /// be looked at again soon.
    pub async fn sweep(&self) -> bool {
        let launcher = &self.launcher;
        let (pods, services) = (&launcher.watch, &launcher.service_watch);
        if !pods.is_synced() || !services.is_synced() {
            return false;
        }
        let own = launcher.roster.all();
        let functions = own.iter().map(|(_, entry)| entry.function.as_str());
        let tags = self.memory.tags.due(functions);
        each(&own, |(name, entry)| self.tend(name, entry, &tags)).await;

        let (pods, services) = (pods.all(), services.all());
        let is_strange = |identity: &&Identity| !launcher.roster.knows(&identity.name);
        // Asked after the objects were seen: an owner is there before its objects.
        let owners: BTreeSet<&str> = (pods.iter().map(|pod| &pod.identity))
            .chain(services.iter().map(|service| &service.identity))
            .filter(is_strange)
            .filter_map(|identity| identity.owner.as_deref())
            .collect();
        let version = launcher.templates.version();
        let look = Look {
            census: self.owners.census(owners).await,
            around: Circumstances {
                now: launcher.gate.headers.now(),
                began: launcher.gate.headers.began(),
                incarnation: &launcher.incarnation,
                template_version: version.as_deref(),
                ttl: self.ttl,
                start_timeout: launcher.start_timeout,
            },
            services: Services::of(&pods),
            left_before: std::mem::take(&mut *self.left_to_others()),
            left_now: Mutex::default(),
        };
        each(&pods, |pod| self.consider(pod, &look)).await;
        each(&services, |service| self.collect(service, &look)).await;
        self.bury_the_dead(&pods, &look).await;
        let left = look.left_now.into_inner().unwrap_or_default();
        let has_left = !left.is_empty();
        *self.left_to_others() = left;
        has_left
    }

    fn left_to_others(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        let left = &self.memory.left_to_others;
        left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the leases of dead runners of which nothing is left.
    async fn bury_the_dead(&self, pods: &[Arc<SeenPod>], look: &Look<'_>) {
        let owners = pods.iter().filter_map(|pod| pod.identity.owner.as_deref());
        let owners: HashSet<&str> = owners.collect();
        for dead in look.census.dead() {
            let is_first = look.census.first_for(dead) == self.launcher.owner;
            if is_first && !owners.contains(dead) {
                self.owners.bury(dead).await;
            }
        }
    }

    /// Looks after a pod of our own.
    async fn tend(&self, name: &str, entry: &Entry, tags: &HashMap<&str, Reference>) {
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
        if self
            .is_outdated(&pod, &entry.function, tags.get(entry.function.as_str()))
            .await
        {
            tracing::info!(name, "the pod's template or image is no longer current");
            return self.pool.outdated(id);
        }
        let ttl = launcher.functions.settings(&entry.function).ttl;
        let now = launcher.gate.headers.now_or_our_own();
        if let Some(time) = extension(&pod, now, entry.usage.idle(), ttl) {
            let annotations = json!({ RECLAIM_AFTER: time.to_string() });
            let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
            if let Err(trouble) = self.patch(name, &patch).await {
                tracing::debug!(name, "cannot extend a pod's time: {trouble}");
            }
        }
    }

    /// Whether the template, what the function changes of it or, if it is due to be
    /// looked at, the tag has moved on.
    async fn is_outdated(&self, pod: &SeenPod, function: &str, tag: Option<&Reference>) -> bool {
        let launcher = &self.launcher;
        if let Some(templates) = launcher.templates.current() {
            if pod.template_version.as_ref() != Some(&templates.version) {
                return true;
            }
            let overrides = launcher.functions.overrides_version(function);
            let settings = settings_version(overrides.as_deref(), &templates);
            if launcher.functions.knows_objects() && pod.settings_version != settings {
                return true;
            }
        }
        let (Some(tag), Some(digest)) = (tag, &pod.image_digest) else {
            return false;
        };
        let deadline = Instant::now() + METADATA;
        let image = self.launcher.metadata.get(tag, deadline).await;
        // A registry that is down says nothing against a pod.
        image.is_ok_and(|image| *digest != image.digest.to_string())
    }

    /// Looks at a pod that may be anybody's.
    async fn consider(&self, pod: &SeenPod, look: &Look<'_>) {
        let launcher = &self.launcher;
        let name = &pod.identity.name;
        if launcher.roster.knows(name) {
            return;
        }
        let judge = |pod: &SeenPod| judge(pod, |owner| look.life(owner), &look.around);
        match judge(pod) {
            Verdict::Keep => {}
            _ if !look.is_my_turn(&pod.identity, &launcher.owner) => {}
            Verdict::Delete(reason) => {
                tracing::info!(name, "deleting a pod: {reason}");
                let is_to_go = |pod: &SeenPod| matches!(judge(pod), Verdict::Delete(_));
                let service = look.services.name(pod);
                launcher.removal().both(name, service, is_to_go).await;
            }
            Verdict::Adopt { function } => self.adopt(pod, name, &function).await,
        }
    }

    /// Takes a pod over. If there are enough of its function, the pool has it
    /// deleted.
    async fn adopt(&self, pod: &SeenPod, name: &str, function: &str) {
        let (launcher, roster) = (&self.launcher, &self.launcher.roster);
        let Some(usage) = roster.claim(name, function) else {
            return;
        };
        let is_on_its_way = matches!(pod.progress, Progress::Waiting(_));
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
        let is_ours =
            |pod: Option<&SeenPod>| pod.is_none_or(|pod| pod.identity.belongs_to(&launcher.owner));
        let taken_over = launcher.watch.until(name, is_ours);
        match (timeout(REACH, taken_over).await, channel) {
            (Ok(()), Ok(channel)) => {
                tracing::info!(name, function, "adopted a pod");
                let connection = Connection {
                    name: name.into(),
                    channel,
                    usage,
                    origin: Origin {
                        digest: pod
                            .image_digest
                            .as_deref()
                            .and_then(|text| text.parse().ok()),
                        start: None,
                    },
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
    async fn take_over(&self, pod: &SeenPod, name: &str) -> Result<(), String> {
        let path = format!("/metadata/annotations/{}", OWNER.replace('/', "~1"));
        let patch = json!([
            { "op": "test", "path": path, "value": pod.identity.owner },
            { "op": "replace", "path": path, "value": self.launcher.owner },
        ]);
        let patch = serde_json::from_value(patch).map_err(|error| error.to_string())?;
        self.patch(name, &Patch::Json(patch)).await
    }

    /// Removes a service whose pod is gone or never came.
    async fn collect(&self, service: &SeenService, look: &Look<'_>) {
        let launcher = &self.launcher;
        let name = &service.identity.name;
        let is_needed = || launcher.watch.get(name).is_some() || launcher.roster.knows(name);
        if !is_orphan(service, |owner| look.life(owner), &look.around)
            || is_needed()
            || !look.is_my_turn(&service.identity, &launcher.owner)
        {
            return;
        }
        // The watch of pods may be behind that of services.
        match launcher.gate.once(launcher.pods.get_opt(name)).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return,
        }
        tracing::info!(name, "deleting a service: it has no pod");
        if let Err(error) = launcher.removal().service(name).await {
            tracing::debug!(name, "cannot delete a service: {}", error.message);
        }
    }

    async fn patch(&self, name: &str, patch: &Patch<Value>) -> Result<(), String> {
        let (launcher, parameters) = (&self.launcher, PatchParams::default());
        let patched = launcher.pods.patch(name, &parameters, patch);
        match launcher.gate.once(patched).await {
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
mod tests;
