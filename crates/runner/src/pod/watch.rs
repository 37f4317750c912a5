//! One watch over all function pods of the namespace. Whoever wants to know a
//! pod's state asks here and makes no request.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use tokio::sync::{mpsc, watch};

use super::{
    blueprint::IMAGE_LABEL,
    progress::{Progress, progress},
};

/// What is known of the pods. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PodWatch {
    pods: Arc<Mutex<HashMap<String, Arc<Pod>>>>,
    /// Counts changes, so that waiting ends with the next one.
    changes: watch::Receiver<u64>,
}

/// A pod that was usable and is not any more: its name, and why.
pub type Loss = (String, Arc<str>);

impl PodWatch {
    /// The watch, the task that keeps it, and what the task reports: pods that
    /// are lost. The task ends when nobody listens any more.
    pub fn new(api: Api<Pod>) -> (Self, impl Future<Output = ()> + Send, mpsc::Receiver<Loss>) {
        let (changed, changes) = watch::channel(0);
        let (losses, lost) = mpsc::channel(64);
        let pods = Arc::default();
        let keeper = Keeper {
            pods: Arc::clone(&pods),
            changed,
            losses,
        };
        (Self { pods, changes }, keeper.run(api), lost)
    }

    /// The pod as last seen.
    pub fn get(&self, name: &str) -> Option<Arc<Pod>> {
        lock(&self.pods).get(name).cloned()
    }

    /// All pods as last seen.
    pub fn all(&self) -> Vec<Arc<Pod>> {
        lock(&self.pods).values().cloned().collect()
    }

    /// Waits until the first list has come.
    pub async fn synced(&self) {
        let mut changes = self.changes.clone();
        // An error means that the watch has ended; there will be no list.
        let _ = changes.wait_for(|count| *count > 0).await;
    }

    /// Waits until the pod has an address, or nothing will come of it. What it
    /// waits for meanwhile is written into `state`.
    pub async fn addressed(&self, name: &str, state: &Mutex<String>) -> Result<(), String> {
        let mut changes = self.changes.clone();
        loop {
            changes.borrow_and_update();
            match self.get(name).map(|pod| progress(&pod)) {
                Some(Progress::Addressed) => return Ok(()),
                Some(Progress::Failed(reason)) => return Err(reason),
                Some(Progress::Leaving) => return Err("the pod is being deleted".into()),
                Some(Progress::Waiting(what)) => *lock(state) = what,
                // Created a moment ago: the watch will tell.
                None => {}
            }
            if changes.changed().await.is_err() {
                return Err("the watch over pods has ended".into());
            }
        }
    }

    /// Waits until the pod is no longer usable, and says why.
    pub async fn lost(&self, name: &str) -> String {
        let mut changes = self.changes.clone();
        loop {
            changes.borrow_and_update();
            if let Some(reason) = loss(self.get(name).as_deref()) {
                return reason;
            }
            if changes.changed().await.is_err() {
                return "the watch over pods has ended".into();
            }
        }
    }
}

/// Why a pod that was usable is not; `None` if it still is.
fn loss(pod: Option<&Pod>) -> Option<String> {
    match pod.map(progress) {
        None => Some("the pod is gone".into()),
        Some(Progress::Leaving) => Some("the pod is being deleted".into()),
        Some(Progress::Failed(reason)) => Some(reason),
        Some(Progress::Waiting(_) | Progress::Addressed) => None,
    }
}

/// Keeps what is known up to date.
struct Keeper {
    pods: Arc<Mutex<HashMap<String, Arc<Pod>>>>,
    changed: watch::Sender<u64>,
    losses: mpsc::Sender<Loss>,
}

impl Keeper {
    async fn run(self, api: Api<Pod>) {
        let config = watcher::Config::default().labels(IMAGE_LABEL);
        let events = watcher::watcher(api, config).default_backoff();
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
                Ok(Event::InitApply(pod)) => {
                    listed.get_or_insert_default().insert(pod.name_any());
                    self.apply(pod)
                }
                Ok(Event::InitDone) => self.retain(&listed.take().unwrap_or_default()),
                Ok(Event::Apply(pod)) => self.apply(pod),
                Ok(Event::Delete(pod)) => self.remove(&pod.name_any()),
                Err(error) => {
                    // Told once: it is retried until it works again.
                    if !in_trouble {
                        tracing::warn!(%error, "cannot watch function pods; trying again");
                    }
                    in_trouble = true;
                    continue;
                }
            };
            if std::mem::take(&mut in_trouble) {
                tracing::info!("watching function pods again");
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

    fn apply(&self, pod: Pod) -> Vec<Loss> {
        let name = pod.name_any();
        let was_good = |pod: &Arc<Pod>| loss(Some(pod)).is_none();
        let now = loss(Some(&pod));
        let before = lock(&self.pods).insert(name.clone(), Arc::new(pod));
        match now {
            Some(reason) if before.as_ref().is_some_and(was_good) => vec![(name, reason.into())],
            _ => Vec::new(),
        }
    }

    fn remove(&self, name: &str) -> Vec<Loss> {
        match lock(&self.pods).remove(name) {
            Some(_) => vec![(name.to_owned(), "the pod is gone".into())],
            None => Vec::new(),
        }
    }

    fn retain(&self, listed: &HashSet<String>) -> Vec<Loss> {
        let gone: Vec<String> = lock(&self.pods)
            .keys()
            .filter(|name| !listed.contains(*name))
            .cloned()
            .collect();
        gone.iter().flat_map(|name| self.remove(name)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
