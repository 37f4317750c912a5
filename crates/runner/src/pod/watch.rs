//! One watch over all function pods of the namespace, and one over their
//! services. Whoever wants to know their state asks here and makes no request.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api, Resource, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        utils::Backoff,
        watcher::{self, Event},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};

use super::{
    blueprint::IMAGE_LABEL,
    cluster::WATCH_SECONDS,
    progress::{Progress, has_address, progress},
};

/// Pauses between attempts to watch. Short ones: as long as there is no watch,
/// no new pod is seen to come up.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// What is known of one kind of object. Cheap to clone.
#[derive(Debug)]
pub struct Watch<K> {
    objects: Arc<Mutex<HashMap<String, Arc<K>>>>,
    /// Counts changes, so that waiting ends with the next one.
    changes: watch::Receiver<u64>,
    is_broken: Arc<AtomicBool>,
}

impl<K> Clone for Watch<K> {
    fn clone(&self) -> Self {
        Self {
            objects: Arc::clone(&self.objects),
            changes: self.changes.clone(),
            is_broken: Arc::clone(&self.is_broken),
        }
    }
}

/// A function that was usable and is not any more: its pod's name, and why.
pub type Loss = (String, Arc<str>);

/// What can be watched: it is usable, or there is a reason why not.
pub trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// What is said when it is gone.
    const GONE: &'static str;

    /// Why it can no longer be used; `None` if it can.
    fn loss(&self) -> Option<String>;
}

impl Watched for Pod {
    const GONE: &'static str = "the pod is gone";

    fn loss(&self) -> Option<String> {
        match progress(self) {
            Progress::Leaving => Some("the pod is being deleted".into()),
            Progress::Failed(reason) => Some(reason),
            Progress::Waiting(_) | Progress::Addressed => None,
        }
    }
}

impl Watched for Service {
    const GONE: &'static str = "the pod's service is gone";

    fn loss(&self) -> Option<String> {
        let leaves = self.metadata.deletion_timestamp.is_some();
        leaves.then(|| "the pod's service is being deleted".into())
    }
}

impl<K: Watched> Watch<K> {
    /// The watch, and the task that keeps it. The task reports what is lost and
    /// ends when nobody listens any more.
    pub fn new(api: Api<K>, losses: mpsc::Sender<Loss>) -> (Self, impl Future<Output = ()> + Send) {
        let (changed, changes) = watch::channel(0);
        let objects = Arc::default();
        let is_broken = Arc::default();
        let keeper = Keeper {
            objects: Arc::clone(&objects),
            changed,
            is_broken: Arc::clone(&is_broken),
            losses,
        };
        let watch = Self {
            objects,
            changes,
            is_broken,
        };
        (watch, keeper.run(api))
    }

    /// Whether the API server tells what happens, as far as that is known.
    pub fn is_current(&self) -> bool {
        !self.is_broken.load(Ordering::Relaxed)
    }

    /// The object as last seen.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        lock(&self.objects).get(name).cloned()
    }

    /// All as last seen.
    pub fn all(&self) -> Vec<Arc<K>> {
        lock(&self.objects).values().cloned().collect()
    }

    /// Whether the first list has come.
    pub fn is_synced(&self) -> bool {
        *self.changes.borrow() > 0
    }

    /// Waits until the first list has come.
    pub async fn synced(&self) {
        let mut changes = self.changes.clone();
        // An error means that the watch has ended; there will be no list.
        let _ = changes.wait_for(|count| *count > 0).await;
    }

    /// Waits until something that is seen here is so, or the watch has ended.
    pub async fn until(&self, is_so: impl Fn() -> bool) {
        let mut changes = self.changes.clone();
        loop {
            changes.borrow_and_update();
            if is_so() || changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Why the object cannot be used; `None` if it can.
    pub fn loss(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Some(object) => object.loss(),
            None => Some(K::GONE.into()),
        }
    }

    /// Waits until an object that was seen is no longer usable, and says why.
    pub async fn lost(&self, name: &str) -> String {
        let mut changes = self.changes.clone();
        loop {
            changes.borrow_and_update();
            if let Some(reason) = self.loss(name) {
                return reason;
            }
            if changes.changed().await.is_err() {
                return ENDED.into();
            }
        }
    }
}

const ENDED: &str = "the watch over pods has ended";

impl Watch<Pod> {
    /// Waits until the pod has an address.
    pub async fn addressed(&self, name: &str) {
        let is_addressed = || {
            let pod = self.get(name);
            let status = pod.as_ref().and_then(|pod| pod.status.as_ref());
            status.is_some_and(has_address)
        };
        self.until(is_addressed).await;
    }

    /// Shows a pod that is coming up to `look` at every change, until nothing
    /// will come of it; the reason.
    pub async fn follow(&self, name: &str, look: impl Fn(&Pod)) -> String {
        let mut changes = self.changes.clone();
        let mut was_seen = false;
        loop {
            changes.borrow_and_update();
            match self.get(name) {
                Some(pod) => {
                    if let Some(reason) = pod.loss() {
                        return reason;
                    }
                    look(&pod);
                    was_seen = true;
                }
                None if was_seen => return Pod::GONE.into(),
                // Created a moment ago: the watch will tell.
                None => {}
            }
            if changes.changed().await.is_err() {
                return ENDED.into();
            }
        }
    }
}

/// Keeps what is known up to date.
struct Keeper<K> {
    objects: Arc<Mutex<HashMap<String, Arc<K>>>>,
    changed: watch::Sender<u64>,
    is_broken: Arc<AtomicBool>,
    losses: mpsc::Sender<Loss>,
}

impl<K: Watched> Keeper<K> {
    async fn run(self, api: Api<K>) {
        let kind = K::kind(&());
        let config = watcher::Config::default()
            .labels(IMAGE_LABEL)
            .timeout(WATCH_SECONDS);
        let events = watcher::watcher(api, config).backoff(Pauses(FIRST_PAUSE));
        pin_mut!(events);
        // Names of the list that is coming in, which replaces what was known.
        let mut listed: Option<HashSet<String>> = None;
        let mut in_trouble = false;
        while let Some(event) = events.next().await {
            let lost = match event {
                Ok(Event::Init) => {
                    listed = Some(HashSet::new());
                    continue;
                }
                Ok(Event::InitApply(object)) => {
                    listed.get_or_insert_default().insert(object.name_any());
                    self.apply(object)
                }
                Ok(Event::InitDone) => self.retain(&listed.take().unwrap_or_default()),
                Ok(Event::Apply(object)) => self.apply(object),
                Ok(Event::Delete(object)) => self.remove(&object.name_any()),
                Err(error) => {
                    // Told once: it is retried until it works again.
                    if !in_trouble {
                        tracing::warn!(%error, "cannot watch {kind} objects of functions; trying again");
                    }
                    in_trouble = true;
                    self.is_broken.store(true, Ordering::Relaxed);
                    continue;
                }
            };
            self.is_broken.store(false, Ordering::Relaxed);
            if std::mem::take(&mut in_trouble) {
                tracing::info!("watching {kind} objects of functions again");
            }
            if listed.is_none() {
                self.changed.send_modify(|count| *count += 1);
            }
            for loss in lost {
                if self.losses.send(loss).await.is_err() {
                    return;
                }
            }
        }
    }

    fn apply(&self, object: K) -> Vec<Loss> {
        let name = object.name_any();
        let now = object.loss();
        let before = lock(&self.objects).insert(name.clone(), Arc::new(object));
        let was_good = before.is_some_and(|before| before.loss().is_none());
        match now {
            Some(reason) if was_good => vec![(name, reason.into())],
            _ => Vec::new(),
        }
    }

    fn remove(&self, name: &str) -> Vec<Loss> {
        match lock(&self.objects).remove(name) {
            Some(_) => vec![(name.to_owned(), K::GONE.into())],
            None => Vec::new(),
        }
    }

    fn retain(&self, listed: &HashSet<String>) -> Vec<Loss> {
        let gone: Vec<String> = lock(&self.objects)
            .keys()
            .filter(|name| !listed.contains(*name))
            .cloned()
            .collect();
        gone.iter().flat_map(|name| self.remove(name)).collect()
    }
}

/// Doubles each time, up to the longest.
struct Pauses(Duration);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = FIRST_PAUSE;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, phase: &str) -> Pod {
        let pod = json!({ "metadata": { "name": name },
                          "status": { "phase": phase, "podIP": "10.0.0.1" } });
        serde_json::from_value(pod).unwrap()
    }

    fn keeper() -> (Watch<Pod>, Keeper<Pod>) {
        let (changed, changes) = watch::channel(0);
        let objects = Arc::default();
        let is_broken = Arc::default();
        let keeper = Keeper {
            objects: Arc::clone(&objects),
            changed,
            is_broken: Arc::clone(&is_broken),
            losses: mpsc::channel(1).0,
        };
        let watch = Watch {
            objects,
            changes,
            is_broken,
        };
        (watch, keeper)
    }

    fn names(losses: Vec<Loss>) -> Vec<String> {
        losses.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_was_usable_and_is_not_any_more_is_reported_once() {
        let (watch, keeper) = keeper();
        assert!(keeper.apply(pod("a", "Pending")).is_empty());
        assert!(keeper.apply(pod("a", "Running")).is_empty());
        assert_eq!(watch.loss("a"), None);
        assert_eq!(names(keeper.apply(pod("a", "Failed"))), ["a"]);
        assert!(keeper.apply(pod("a", "Failed")).is_empty());
        assert!(watch.loss("a").is_some());
        assert_eq!(names(keeper.remove("a")), ["a"], "gone is another matter");
        assert!(keeper.remove("a").is_empty());
        assert_eq!(watch.loss("a").as_deref(), Some(Pod::GONE));
    }

    #[test]
    fn what_a_new_list_does_not_have_is_gone() {
        let (watch, keeper) = keeper();
        for name in ["a", "b", "c"] {
            keeper.apply(pod(name, "Running"));
        }
        let mut gone = names(keeper.retain(&["b".to_owned()].into()));
        gone.sort();
        assert_eq!(gone, ["a", "c"]);
        assert_eq!(watch.all().len(), 1);
    }

    #[tokio::test]
    async fn a_pod_that_comes_up_is_followed_until_nothing_will_come_of_it() {
        let (watch, keeper) = keeper();
        let change = async |phase: &str| {
            keeper.apply(pod("a", phase));
            keeper.changed.send_modify(|count| *count += 1);
            tokio::task::yield_now().await;
        };
        let seen = Mutex::new(Vec::new());
        let look = |pod: &Pod| lock(&seen).push(pod.status.clone().unwrap().phase.unwrap());
        let (lost, (), ()) = futures::join!(watch.follow("a", look), watch.addressed("a"), async {
            for phase in ["Pending", "Running", "Failed"] {
                change(phase).await;
            }
        });
        assert_eq!(lost, "the pod has ended");
        assert_eq!(*lock(&seen), ["Pending", "Running"]);
        assert_eq!(watch.lost("a").await, lost);
    }
}
