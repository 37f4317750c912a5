//! The pool knows its pods by numbers, the cluster by names. The roster holds both
//! for every pod of this runner, from before it is created until it has left the
//! cluster, and what a pod that is not usable yet waits for.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::pool::PodId;

/// When a pod was last used, and whether it is in use right now. By a clock that
/// only counts on: nobody's wall clock matters.
#[derive(Debug, Clone)]
pub(crate) struct Usage(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    began: Instant,
    /// Milliseconds since it began.
    last: AtomicU64,
    running: AtomicUsize,
    has_answered: AtomicBool,
}

/// A pod is in use as long as this lives.
#[derive(Debug)]
pub(crate) struct InUse(Usage);

impl Default for Usage {
    /// Of a pod that is fresh.
    fn default() -> Self {
        Self(Arc::new(Counts {
            began: Instant::now(),
            last: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            has_answered: AtomicBool::new(false),
        }))
    }
}

impl Usage {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn begin(&self) -> InUse {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        InUse(self.clone())
    }

    /// Whether it has never answered this runner before; only once.
    pub(crate) fn is_first_answer(&self) -> bool {
        !self.0.has_answered.swap(true, Ordering::Relaxed)
    }

    /// How many calls run in it.
    pub(crate) fn load(&self) -> usize {
        self.0.running.load(Ordering::Relaxed)
    }

    /// For how long it has not been used: not at all, if a call is running.
    pub(crate) fn idle(&self) -> Duration {
        if self.0.running.load(Ordering::Relaxed) > 0 {
            self.touch();
        }
        let last = Duration::from_millis(self.0.last.load(Ordering::Relaxed));
        self.0.began.elapsed().saturating_sub(last)
    }

    fn touch(&self) {
        let now = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last.fetch_max(now, Ordering::Relaxed);
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not usable yet; what it waits for.
    Starting(String),
    Ready,
    /// Its deletion is under way.
    Leaving,
    /// Its deletion has ended. What is left of it, if anything, is for the next sweep.
    Remains,
}

/// A deletion that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Leaving<'a> {
    roster: &'a Roster,
    pub(crate) name: String,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.roster.leave_to_sweeps(&self.name);
    }
}

/// What is known of one pod.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// None until the pool has taken an adopted pod over.
    pub(crate) id: Option<PodId>,
    pub(crate) function: String,
    pub(crate) stage: Stage,
    pub(crate) usage: Usage,
}

/// All pods of this runner.
#[derive(Debug, Default)]
pub(crate) struct Roster(Mutex<Pods>);

#[derive(Debug, Default)]
struct Pods {
    by_name: HashMap<String, Entry>,
    /// The names of those that the pool knows.
    names: HashMap<PodId, String>,
    /// Starts that have no name yet, because their image is not known.
    unnamed: HashMap<PodId, (String, String)>,
}

impl Pods {
    fn of(&mut self, id: PodId) -> Option<&mut Entry> {
        self.by_name.get_mut(self.names.get(&id)?)
    }
}

impl Roster {
    fn pods(&self) -> MutexGuard<'_, Pods> {
        self.0.lock()
    }

    /// A pod is to be started.
    pub(crate) fn begin(&self, id: PodId, function: &str) {
        let start = (function.to_owned(), "its image's metadata".to_owned());
        self.pods().unnamed.insert(id, start);
    }

    /// It is going to be created under this name.
    pub(crate) fn name(&self, id: PodId, name: &str) {
        let mut pods = self.pods();
        let Some((function, waits_for)) = pods.unnamed.remove(&id) else {
            return;
        };
        let entry = Entry {
            id: Some(id),
            function,
            stage: Stage::Starting(waits_for),
            usage: Usage::new(),
        };
        pods.by_name.insert(name.to_owned(), entry);
        pods.names.insert(id, name.to_owned());
    }

    /// A pod that exists already is going to be taken over. Not if it is known.
    pub(crate) fn claim(&self, name: &str, function: &str) -> Option<Usage> {
        let mut pods = self.pods();
        if pods.by_name.contains_key(name) {
            return None;
        }
        let usage = Usage::new();
        let entry = Entry {
            id: None,
            function: function.to_owned(),
            stage: Stage::Ready,
            usage: usage.clone(),
        };
        pods.by_name.insert(name.to_owned(), entry);
        Some(usage)
    }

    /// The pool knows the pod by this number from now on.
    pub(crate) fn adopted(&self, name: &str, id: PodId) {
        let mut pods = self.pods();
        if let Some(entry) = pods.by_name.get_mut(name) {
            entry.id = Some(id);
            pods.names.insert(id, name.to_owned());
        }
    }

    pub(crate) fn waits_for(&self, id: PodId, what: String) {
        let mut pods = self.pods();
        if let Some(unnamed) = pods.unnamed.get_mut(&id) {
            unnamed.1 = what;
        } else if let Some(entry) = pods.of(id) {
            entry.stage = Stage::Starting(what);
        }
    }

    /// The pod can be used; its usage, to be kept up to date.
    pub(crate) fn ready(&self, id: PodId) -> Usage {
        let mut pods = self.pods();
        let Some(entry) = pods.of(id) else {
            return Usage::new();
        };
        entry.stage = Stage::Ready;
        entry.usage.clone()
    }

    /// The pod's deletion begins, if it ever got a name.
    pub(crate) fn leave(&self, id: PodId) -> Option<Leaving<'_>> {
        let mut pods = self.pods();
        pods.unnamed.remove(&id);
        pods.of(id)?.stage = Stage::Leaving;
        let name = pods.names.get(&id).cloned()?;
        Some(Leaving { roster: self, name })
    }

    /// Nobody but sweeps deletes it from now on.
    pub(crate) fn leave_to_sweeps(&self, name: &str) {
        if let Some(entry) = self.pods().by_name.get_mut(name) {
            entry.stage = Stage::Remains;
        }
    }

    /// The pod is no longer in the cluster.
    pub(crate) fn forget(&self, name: &str) {
        let mut pods = self.pods();
        if let Some(id) = pods.by_name.remove(name).and_then(|entry| entry.id) {
            pods.names.remove(&id);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        self.pods().by_name.get(name).cloned()
    }

    /// Whether a pod of this name is one of ours.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.pods().by_name.contains_key(name)
    }

    pub(crate) fn all(&self) -> Vec<(String, Entry)> {
        let pods = self.pods();
        let entries = pods.by_name.iter();
        entries
            .map(|(name, entry)| (name.clone(), entry.clone()))
            .collect()
    }

    /// What the pods of a function that are not usable yet wait for.
    pub(crate) fn starting(&self, function: &str) -> Option<String> {
        let pods = self.pods();
        let mut named = pods
            .by_name
            .values()
            .filter(|entry| entry.function == function);
        let named = named.find_map(|entry| match &entry.stage {
            Stage::Starting(what) => Some(what.clone()),
            _ => None,
        });
        named.or_else(|| {
            let mut unnamed = pods.unnamed.values().filter(|(name, _)| name == function);
            unnamed.next().map(|(_, what)| what.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_known_from_its_beginning_to_its_end() {
        let roster = Roster::default();
        let id = PodId(1);
        roster.begin(id, "fn");
        assert_eq!(roster.starting("fn").unwrap(), "its image's metadata");
        roster.name(id, "fn-x1");
        roster.waits_for(id, "a node".into());
        assert_eq!(roster.starting("fn").unwrap(), "a node");
        assert_eq!(roster.starting("other"), None);
        roster.ready(id);
        assert_eq!(roster.starting("fn"), None);
        let leaving = roster.leave(id).unwrap();
        assert_eq!(leaving.name, "fn-x1");
        assert_eq!(roster.get("fn-x1").unwrap().stage, Stage::Leaving);
        drop(leaving);
        assert_eq!(roster.get("fn-x1").unwrap().stage, Stage::Remains);
        roster.forget("fn-x1");
        assert!(roster.all().is_empty());
        assert!(roster.leave(id).is_none(), "nothing of it is left");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_in_use_does_not_idle_however_long_its_call_takes() {
        let (usage, minute) = (Usage::new(), Duration::from_secs(60));
        let call = usage.begin();
        tokio::time::advance(minute).await;
        assert_eq!(usage.idle(), Duration::ZERO, "still in use");
        tokio::time::advance(minute).await;
        drop(call);
        assert_eq!(usage.idle(), Duration::ZERO, "its end counts");
        tokio::time::advance(minute).await;
        assert_eq!(usage.idle(), minute);
    }

    #[test]
    fn a_pod_is_claimed_once() {
        let roster = Roster::default();
        assert!(roster.claim("fn-x1", "fn").is_some());
        assert!(roster.claim("fn-x1", "fn").is_none());
        roster.adopted("fn-x1", PodId(7));
        assert_eq!(roster.leave(PodId(7)).unwrap().name, "fn-x1");
    }
}
