//! One watch over all function pods of the namespace, and one over their
//! services. All other modules read the state of objects here and make no requests for
//! it. A task that waits for one object is woken by that object's changes alone.

pub(crate) mod follow;
mod keeper;
mod pauses;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt::Debug, future::Future, sync::Arc};

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Pod, Service},
};
use keeper::Keeper;
use kube::{Api, Client, Resource};
use parking_lot::{Mutex, MutexGuard};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    progress::Progress,
    seen::{SeenPod, SeenService},
    sparse::{PodFields, ServiceFields},
    text::Text,
};

/// A function that was usable and is not any more: its pod's name, and why.
pub(crate) type Loss = (String, Arc<str>);

/// What can be watched: it is usable, or there is a reason why not.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// What is read of it.
    type Fields: DeserializeOwned + Into<Self>;

    /// What is kept of it.
    type Seen: Debug + PartialEq + Send + Sync + 'static;

    /// What is said when it is gone.
    const GONE: &'static str;

    /// How its watch is counted.
    const COUNTED: metrics::pods::Watched;

    fn seen(&self) -> Self::Seen;

    fn name(seen: &Self::Seen) -> &Text;

    /// Why it can no longer be used; `None` if it can.
    fn loss(seen: &Self::Seen) -> Option<String>;
}

impl Watched for Pod {
    type Fields = PodFields;
    type Seen = SeenPod;

    const GONE: &'static str = "the pod is gone";

    const COUNTED: metrics::pods::Watched = metrics::pods::Watched::Pods;

    fn seen(&self) -> SeenPod {
        self.into()
    }

    fn name(seen: &SeenPod) -> &Text {
        &seen.identity.name
    }

    fn loss(seen: &SeenPod) -> Option<String> {
        match &seen.progress {
            Progress::Leaving => Some("the pod is being deleted".into()),
            Progress::Failed(reason) => Some(reason.clone()),
            Progress::Waiting(_) | Progress::Addressed => None,
        }
    }
}

impl Watched for Service {
    type Fields = ServiceFields;
    type Seen = SeenService;

    const GONE: &'static str = "the pod's service is gone";

    const COUNTED: metrics::pods::Watched = metrics::pods::Watched::Services;

    fn seen(&self) -> SeenService {
        self.into()
    }

    fn name(seen: &SeenService) -> &Text {
        &seen.identity.name
    }

    fn loss(seen: &SeenService) -> Option<String> {
        let leaves = seen.identity.is_leaving;
        leaves.then(|| "the pod's service is being deleted".into())
    }
}

/// What is known of one kind of object. Cheap to clone.
#[derive(Debug)]
pub(crate) struct Watch<K: Watched> {
    known: Arc<Mutex<Known<K>>>,
    is_synced: watch::Receiver<bool>,
}

impl<K: Watched> Clone for Watch<K> {
    fn clone(&self) -> Self {
        Self {
            known: Arc::clone(&self.known),
            is_synced: self.is_synced.clone(),
        }
    }
}

#[derive(Debug)]
struct Known<K: Watched> {
    objects: HashMap<Text, Arc<K::Seen>>,
    /// One for each name that somebody waits for.
    waits: HashMap<String, watch::Sender<()>>,
    has_ended: bool,
    /// When the last list that has come was asked for.
    listed: Option<Instant>,
    /// The last attempt to hear from the API server failed.
    is_broken: bool,
}

impl<K: Watched> Default for Known<K> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            waits: HashMap::new(),
            has_ended: false,
            listed: None,
            is_broken: false,
        }
    }
}

impl<K: Watched> Known<K> {
    /// Wakes the tasks that wait for an object.
    fn changed(&self, name: &str) {
        if let Some(wait) = self.waits.get(name) {
            wait.send_replace(());
        }
    }
}

/// The place of a task that waits for an object.
struct Wait<'a, K: Watched> {
    watch: &'a Watch<K>,
    name: &'a str,
    /// `None` if the watch has ended.
    changes: Option<watch::Receiver<()>>,
}

impl<K: Watched> Wait<'_, K> {
    /// Waits for the next change; false if none will be seen any more.
    async fn next(&mut self) -> bool {
        match &mut self.changes {
            Some(changes) => changes.changed().await.is_ok(),
            None => false,
        }
    }
}

impl<K: Watched> Drop for Wait<'_, K> {
    fn drop(&mut self) {
        let mut known = self.watch.known();
        drop(self.changes.take());
        let is_last = |wait: &watch::Sender<()>| wait.receiver_count() == 0;
        if known.waits.get(self.name).is_some_and(is_last) {
            known.waits.remove(self.name);
        }
    }
}

impl<K: Watched> Watch<K> {
    /// The watch, and the task that keeps it. The task reports what is lost and
    /// ends when nobody listens any more.
    pub(crate) fn new(
        client: &Client,
        namespace: &str,
        losses: mpsc::Sender<Loss>,
    ) -> (Self, impl Future<Output = ()> + Send + use<K>) {
        let (watch, keeper) = Self::pair(losses);
        let api = Api::namespaced(client.clone(), namespace);
        (watch, keeper.run(api))
    }

    fn pair(losses: mpsc::Sender<Loss>) -> (Self, Keeper<K>) {
        let (synced, is_synced) = watch::channel(false);
        let known = Arc::default();
        let keeper = Keeper {
            known: Arc::clone(&known),
            synced,
            losses,
        };
        (Self { known, is_synced }, keeper)
    }

    /// A watch that has seen these objects and sees no more.
    #[cfg(test)]
    pub(crate) fn of(objects: &[K]) -> Self {
        let (watch, keeper) = Self::pair(mpsc::channel(1).0);
        for object in objects {
            keeper.apply(object);
        }
        watch
    }

    /// Whether the API server reports changes, as far as that is known.
    pub(crate) fn is_current(&self) -> bool {
        !self.known().is_broken
    }

    fn known(&self) -> MutexGuard<'_, Known<K>> {
        self.known.lock()
    }

    /// The object as last seen.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<K::Seen>> {
        self.known().objects.get(name).cloned()
    }

    /// All as last seen.
    pub(crate) fn all(&self) -> Vec<Arc<K::Seen>> {
        self.known().objects.values().cloned().collect()
    }

    /// Whether the first list has come.
    pub(crate) fn is_synced(&self) -> bool {
        *self.is_synced.borrow()
    }

    /// Waits until the first list has come.
    pub(crate) async fn synced(&self) {
        let mut is_synced = self.is_synced.clone();
        // An error means that the watch has ended; there will be no list.
        let _ = is_synced.wait_for(|is_synced| *is_synced).await;
    }

    fn wait<'a>(&'a self, name: &'a str) -> Wait<'a, K> {
        let mut known = self.known();
        let changes = (!known.has_ended).then(|| {
            let wait = known.waits.entry(name.to_owned()).or_default();
            wait.subscribe()
        });
        Wait {
            watch: self,
            name,
            changes,
        }
    }

    /// Waits until an object is seen to be so, or the watch has ended.
    pub(crate) async fn until(&self, name: &str, is_so: impl Fn(Option<&K::Seen>) -> bool) {
        let mut wait = self.wait(name);
        while !is_so(self.get(name).as_deref()) && wait.next().await {}
    }

    /// Waits until an object that was created has been seen, or is gone without that.
    pub(crate) async fn appears(&self, name: &str) {
        let created = Instant::now();
        let mut wait = self.wait(name);
        while self.get(name).is_none() && !self.is_missed(name, created) && wait.next().await {}
    }

    /// Whether an object that was created by then is gone, although it was never seen: a list
    /// that was asked for later does not have it.
    fn is_missed(&self, name: &str, created: Instant) -> bool {
        let known = self.known();
        let is_listed = known.listed.is_some_and(|listed| listed > created);
        is_listed && !known.objects.contains_key(name)
    }

    /// Why the object cannot be used; `None` if it can.
    pub(crate) fn loss(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Some(seen) => K::loss(&seen),
            None => Some(K::GONE.into()),
        }
    }

    /// Waits until an object that was seen is no longer usable, and says why.
    pub(crate) async fn lost(&self, name: &str) -> String {
        let mut wait = self.wait(name);
        loop {
            if let Some(reason) = self.loss(name) {
                return reason;
            }
            if !wait.next().await {
                return ENDED.into();
            }
        }
    }
}

const ENDED: &str = "the watch over pods has ended";

impl Watch<Pod> {
    /// Waits until the pod has an address.
    pub(crate) async fn addressed(&self, name: &str) {
        let is_addressed = |pod: Option<&SeenPod>| pod.is_some_and(|pod| pod.has_address);
        self.until(name, is_addressed).await;
    }

    /// Shows a pod that was created a moment ago to `look` at every change, until nothing
    /// will come of it; the reason.
    pub(crate) async fn follow(&self, name: &str, look: impl Fn(&SeenPod)) -> String {
        let created = Instant::now();
        let mut wait = self.wait(name);
        let mut was_seen = false;
        loop {
            match self.get(name) {
                Some(pod) => {
                    if let Some(reason) = Pod::loss(&pod) {
                        return reason;
                    }
                    look(&pod);
                    was_seen = true;
                }
                None if was_seen || self.is_missed(name, created) => return Pod::GONE.into(),
                // The watch will report it, or the next list will not have it.
                None => {}
            }
            if !wait.next().await {
                return ENDED.into();
            }
        }
    }
}
