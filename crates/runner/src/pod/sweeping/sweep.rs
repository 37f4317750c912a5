//! The regular check of everything in the namespace: pods of other runners are adopted
//! or collected as the judge decides, our own are extended, replaced when they are
//! outdated, and forgotten when they have left. All information comes from the
//! watches; requests are made only to change something, for several pods at once, and
//! each has a time limit, so that a pod or service that fails does not hold up others.

mod adopt;
mod orphans;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use kube::api::{Patch, PatchParams};
use parking_lot::{Mutex, MutexGuard};
use registry::{Client, Metadata, Reference};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{
    care::{Care, care, extension},
    judge::{Circumstances, Services, Verdict, judge},
    tags::Tags,
};
use crate::{
    pod::{
        calling::{Connection, Wrappers},
        functions::Functions,
        marks::RECLAIM_AFTER,
        objects::Objects,
        owning::{Census, Entry, Life, Owners, Roster, Us},
        starting::{CurrentTemplate, settings_version},
        watching::{Identity, SeenPod, SeenService},
    },
    pool::{Failure, PodId, Pool},
};

/// Pods that are looked after at once: many, because most of that is waiting. What
/// goes to the API server waits for its turn besides.
const AT_ONCE: usize = 32;

/// How long a sweep waits for a removal.
const SOON: Duration = Duration::from_secs(10);

/// How long the runner that is to look after an orphan has for it, before others do. Runners notice a
/// departure within one renewal of their leases (5 s), and then have to reach the pod and take it over.
pub(crate) const TURN_OF_OTHERS: Duration = Duration::from_secs(15);

/// A pod that is up answers at once.
const REACH: Duration = Duration::from_secs(5);

/// Where there is much to do the watch may be behind. Nobody waits for a pod that is taken over, and one that is given up
/// would be dialled once more.
const SHOWN: Duration = Duration::from_secs(30);

/// A pod whose status is not "running" yet may become so within a second, or may still have
/// to load its image: then it is looked at again in the next sweep, and nobody waits for it.
const COMING: Duration = Duration::from_secs(2);

/// What is not known by then is looked at in the next sweep.
const METADATA: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Sweeper {
    pub(crate) objects: Arc<Objects>,
    pub(crate) wrappers: Arc<Wrappers>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) owners: Arc<Owners>,
    pub(crate) us: Arc<Us>,
    pub(crate) templates: CurrentTemplate,
    pub(crate) functions: Arc<Functions>,
    pub(crate) metadata: Arc<Metadata<Client>>,
    /// How long a start may take.
    pub(crate) start_timeout: Duration,
    pub(crate) pool: Pool<Connection>,
    pub(crate) ttl: Duration,
    pub(crate) memory: Memory,
}

/// What a sweep remembers of those before.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    tags: Tags,
    /// Objects of runners that are gone which other runners were to look after first, and since when.
    left_to_others: Mutex<HashMap<String, Instant>>,
    /// Services that could not be deleted.
    stuck: Mutex<HashSet<String>>,
}

/// What one sweep knows when it looks at the objects of others.
struct Look<'a> {
    census: Census,
    around: Circumstances<'a>,
    services: Services<'a>,
    /// What the sweep before has left to others, and since when.
    left_before: HashMap<String, Instant>,
    left_now: Mutex<HashMap<String, Instant>>,
}

impl Look<'_> {
    fn life(&self, owner: &str) -> Life {
        self.census.life(owner)
    }

    /// Whether it is up to this runner to act on an orphan. When a runner departs all
    /// others notice at about the same time, and each takes its share of the orphans.
    /// For what is still there after each turn, twice as many runners are responsible:
    /// those that come first may be gone as well, and all at once would be a crowd.
    fn is_my_turn(&self, identity: &Identity, me: &str) -> bool {
        let name: &str = &identity.name;
        let since = self.left_before.get(name);
        let since = since.copied().unwrap_or_else(Instant::now);
        let turns = since.elapsed().as_secs() / TURN_OF_OTHERS.as_secs();
        let responsible = 1_usize.checked_shl(u32::try_from(turns).unwrap_or(u32::MAX));
        let is_responsible = || {
            let rank = self.census.rank_for(name);
            responsible.is_none_or(|responsible| rank < responsible)
        };
        if identity.owner.as_deref() == Some(me) || is_responsible() {
            return true;
        }
        let mut left = self.left_now.lock();
        left.insert(name.to_owned(), since);
        false
    }
}

impl Sweeper {
    /// Looks at everything; whether something was left to other runners that should
    /// be looked at again soon.
    pub(crate) async fn sweep(&self) -> bool {
        let objects = &self.objects;
        let (pods, services) = (&objects.watch, &objects.service_watch);
        if !pods.is_synced() || !services.is_synced() {
            return false;
        }
        let own = self.roster.all();
        let functions = own.iter().map(|(_, entry)| entry.function.as_str());
        let tags = self.memory.tags.due(functions);
        each(&own, |(name, entry)| self.tend(name, entry, &tags)).await;

        let (pods, services) = (pods.all(), services.all());
        self.memory
            .stuck()
            .retain(|name| objects.service_watch.get(name).is_some());
        let is_strange = |identity: &Identity| !self.roster.knows(&identity.name);
        // Asked after the objects were seen: an owner is there before its objects.
        let owners = owners_in_question(&pods, &services, is_strange);
        let version = self.templates.version();
        let look = Look {
            census: self.owners.census(owners).await,
            around: Circumstances {
                now: self.objects.gate.headers.now(),
                began: self.objects.gate.headers.began(),
                incarnation: &self.us.incarnation,
                template_version: version.as_deref(),
                ttl: self.ttl,
                start_timeout: self.start_timeout,
            },
            services: Services::of(&pods),
            left_before: std::mem::take(&mut *self.left_to_others()),
            left_now: Mutex::default(),
        };
        each(&pods, |pod| self.consider(pod, &look)).await;
        each(&services, |service| self.collect(service, &look)).await;
        self.bury_the_dead(&pods, &look).await;
        let left = look.left_now.into_inner();
        let has_left = !left.is_empty();
        *self.left_to_others() = left;
        has_left
    }

    fn left_to_others(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        let left = &self.memory.left_to_others;
        left.lock()
    }

    /// Removes the leases of dead runners of which nothing is left.
    async fn bury_the_dead(&self, pods: &[Arc<SeenPod>], look: &Look<'_>) {
        let owners = pods.iter().filter_map(|pod| pod.identity.owner.as_deref());
        let owners: HashSet<&str> = owners.collect();
        for dead in look.census.dead() {
            let is_first = look.census.rank_for(dead) == 0;
            if is_first && !owners.contains(dead) {
                self.owners.bury(dead).await;
            }
        }
    }

    /// Looks after a pod of our own.
    async fn tend(&self, name: &str, entry: &Entry, tags: &HashMap<&str, Reference>) {
        let pod = self.objects.watch.get(name);
        let (id, pod) = match (care(entry, pod.as_deref(), &self.us.owner), pod) {
            (Care::Review(id), Some(pod)) => (id, pod),
            (Care::Wait | Care::Review(_), _) => return,
            (Care::Forget, _) => return self.roster.forget(name),
            (Care::Remove, _) => return self.remove_own(name).await,
            (Care::GiveUp(id, reason), _) => return give_up(&self.pool, name, id, reason),
            (Care::HandOver(id), _) => {
                tracing::warn!(name, "another runner has taken a pod over");
                self.roster.forget(name);
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
        let ttl = self.functions.settings(&entry.function).ttl;
        let now = self.objects.gate.headers.now_or_our_own();
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
        if let Some(templates) = self.templates.current() {
            if !pod.is_made_of(&templates.version) {
                return true;
            }
            let overrides = self.functions.overrides_version(function);
            let settings = settings_version(overrides.as_deref(), &templates);
            if self.functions.knows_objects()
                && pod.settings_version.as_deref() != settings.as_deref()
            {
                return true;
            }
        }
        let (Some(tag), Some(digest)) = (tag, &pod.image_digest) else {
            return false;
        };
        let deadline = Instant::now() + METADATA;
        let image = self.metadata.get(tag, deadline).await;
        // A registry that is down says nothing against a pod.
        image.is_ok_and(|image| **digest != image.digest.to_string())
    }

    /// Looks at a pod that may be anybody's.
    async fn consider(&self, pod: &SeenPod, look: &Look<'_>) {
        let name: &str = &pod.identity.name;
        if self.roster.knows(name) {
            return;
        }
        let judge = |pod: &SeenPod| judge(pod, |owner| look.life(owner), &look.around);
        match judge(pod) {
            Verdict::Keep => {}
            _ if !look.is_my_turn(&pod.identity, &self.us.owner) => {}
            Verdict::Delete(reason) => {
                tracing::info!(name, "deleting a pod: {reason}");
                let is_to_go = |pod: &SeenPod| matches!(judge(pod), Verdict::Delete(_));
                let service = look.services.name(pod);
                soon(name, self.objects.remove(name, service, is_to_go)).await;
            }
            Verdict::Adopt { function } => self.adopt(pod, name, &function).await,
        }
    }

    async fn remove_own(&self, name: &str) {
        soon(name, self.objects.remove_of(&self.us.owner, name)).await;
    }

    async fn patch(&self, name: &str, patch: &Patch<Value>) -> Result<(), String> {
        let parameters = PatchParams::default();
        let patched = self.objects.pods.patch(name, &parameters, patch);
        match self.objects.gate.once(patched).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error.message),
        }
    }
}

/// A removal without much patience: a sweep has more to do, and the next one tries again.
async fn soon(name: &str, removal: impl Future<Output = ()>) {
    if timeout(SOON, removal).await.is_err() {
        tracing::warn!(
            name,
            "a pod was not deleted in time; the next scan tries again"
        );
    }
}

/// The runners that have to be known to look at these objects. A service that has a pod is not looked at;
/// once that pod has been adopted, the service still names the runner that made it, which may be long gone.
fn owners_in_question<'a>(
    pods: &'a [Arc<SeenPod>],
    services: &'a [Arc<SeenService>],
    is_strange: impl Fn(&Identity) -> bool,
) -> BTreeSet<&'a str> {
    let names: HashSet<&str> = pods.iter().map(|pod| &*pod.identity.name).collect();
    let is_alone = |identity: &&Identity| !names.contains(&*identity.name);
    let services = services.iter().map(|service| &service.identity);
    (pods.iter().map(|pod| &pod.identity))
        .chain(services.filter(is_alone))
        .filter(|identity| is_strange(identity))
        .filter_map(|identity| identity.owner.as_deref())
        .collect()
}

/// A pod that was usable is not any more. The first to see it logs it: the watch, or a
/// sweep.
pub(crate) fn give_up(pool: &Pool<Connection>, name: &str, id: PodId, reason: impl Into<Arc<str>>) {
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
