//! Who is who: the pool knows its pods by numbers, the cluster by names. The
//! roster holds both for every pod of ours, from before it is created until it
//! has left the cluster, and what a pod that is not usable yet waits for.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use crate::pool::PodId;

/// When a pod was last used, and whether it is in use right now.
#[derive(Debug, Clone, Default)]
pub struct Usage(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Unix seconds.
    last: AtomicU64,
    running: AtomicUsize,
    has_answered: AtomicBool,
}

/// A pod is in use as long as this lives.
#[derive(Debug)]
pub struct InUse(Usage);

impl Usage {
    /// Of a pod that is fresh.
    pub fn new() -> Self {
        let usage = Self::default();
        usage.touch();
        usage
    }

    pub fn begin(&self) -> InUse {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        InUse(self.clone())
    }

    /// Whether it has never answered this runner before; only once.
    pub fn is_first_answer(&self) -> bool {
        !self.0.has_answered.swap(true, Ordering::Relaxed)
    }

    /// When it was last used, in Unix seconds: now, if a call is running.
    pub fn last(&self) -> u64 {
        if self.0.running.load(Ordering::Relaxed) > 0 {
            self.touch();
        }
        self.0.last.load(Ordering::Relaxed)
    }

    fn touch(&self) {
        self.0.last.fetch_max(super::unix_now(), Ordering::Relaxed);
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Not usable yet; what it waits for.
    Starting(String),
    Ready,
    /// Its deletion was asked for.
    Leaving,
}

/// What is known of one pod.
#[derive(Debug, Clone)]
pub struct Entry {
    /// None until the pool has taken an adopted pod over.
    pub id: Option<PodId>,
    pub function: String,
    pub stage: Stage,
    pub usage: Usage,
}

/// All pods of this runner.
#[derive(Debug, Default)]
pub struct Roster {
    pods: Mutex<HashMap<String, Entry>>,
    /// Starts that have no name yet, because their image is not known.
    unnamed: Mutex<HashMap<PodId, (String, String)>>,
}

impl Roster {
    fn pods(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unnamed(&self) -> MutexGuard<'_, HashMap<PodId, (String, String)>> {
        self.unnamed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pod is to be started.
    pub fn begin(&self, id: PodId, function: &str) {
        let waits_for = "its image's metadata".to_owned();
        self.unnamed().insert(id, (function.to_owned(), waits_for));
    }

    /// It is going to be created under this name.
    pub fn name(&self, id: PodId, name: &str) {
        let Some((function, waits_for)) = self.unnamed().remove(&id) else {
            return;
        };
        let entry = Entry {
            id: Some(id),
            function,
            stage: Stage::Starting(waits_for),
            usage: Usage::new(),
        };
        self.pods().insert(name.to_owned(), entry);
    }

    /// A pod that exists already is going to be taken over. Not if it is known.
    pub fn claim(&self, name: &str, function: &str) -> Option<Usage> {
        let mut pods = self.pods();
        if pods.contains_key(name) {
            return None;
        }
        let usage = Usage::new();
        let entry = Entry {
            id: None,
            function: function.to_owned(),
            stage: Stage::Ready,
            usage: usage.clone(),
        };
        pods.insert(name.to_owned(), entry);
        Some(usage)
    }

    /// The pool knows the pod by this number from now on.
    pub fn adopted(&self, name: &str, id: PodId) {
        if let Some(entry) = self.pods().get_mut(name) {
            entry.id = Some(id);
        }
    }

    pub fn waits_for(&self, id: PodId, what: String) {
        if let Some(unnamed) = self.unnamed().get_mut(&id) {
            unnamed.1 = what;
        } else if let Some(entry) = self.of(id, &mut self.pods()) {
            entry.stage = Stage::Starting(what);
        }
    }

    /// The pod can be used; its usage, to be kept up to date.
    pub fn ready(&self, id: PodId) -> Usage {
        let mut pods = self.pods();
        match self.of(id, &mut pods) {
            Some(entry) => {
                entry.stage = Stage::Ready;
                entry.usage.clone()
            }
            None => Usage::new(),
        }
    }

    /// The pod's deletion begins; its name, if it ever got one.
    pub fn leave(&self, id: PodId) -> Option<String> {
        self.unnamed().remove(&id);
        let mut pods = self.pods();
        let (name, entry) = pods.iter_mut().find(|(_, entry)| entry.id == Some(id))?;
        entry.stage = Stage::Leaving;
        Some(name.clone())
    }

    /// The same for a pod that the pool never took over.
    pub fn leave_unadopted(&self, name: &str) {
        if let Some(entry) = self.pods().get_mut(name) {
            entry.stage = Stage::Leaving;
        }
    }

    /// The pod is no longer in the cluster.
    pub fn forget(&self, name: &str) {
        self.pods().remove(name);
    }

    pub fn get(&self, name: &str) -> Option<Entry> {
        self.pods().get(name).cloned()
    }

    pub fn all(&self) -> Vec<(String, Entry)> {
        let pods = self.pods();
        pods.iter()
            .map(|(name, entry)| (name.clone(), entry.clone()))
            .collect()
    }

    /// What the pods of a function that are not usable yet wait for.
    pub fn starting(&self, function: &str) -> Option<String> {
        let pods = self.pods();
        let mut named = pods.values().filter(|entry| entry.function == function);
        let named = named.find_map(|entry| match &entry.stage {
            Stage::Starting(what) => Some(what.clone()),
            _ => None,
        });
        named.or_else(|| {
            let unnamed = self.unnamed();
            let mut unnamed = unnamed.values().filter(|(name, _)| name == function);
            unnamed.next().map(|(_, what)| what.clone())
        })
    }

    fn of<'a>(&self, id: PodId, pods: &'a mut HashMap<String, Entry>) -> Option<&'a mut Entry> {
        pods.values_mut().find(|entry| entry.id == Some(id))
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
        assert_eq!(roster.leave(id).unwrap(), "fn-x1");
        assert_eq!(roster.get("fn-x1").unwrap().stage, Stage::Leaving);
        roster.forget("fn-x1");
        assert!(roster.all().is_empty());
    }

    #[test]
    fn a_pod_in_use_was_last_used_now_however_long_its_call_takes() {
        let usage = Usage::default();
        let call = usage.begin();
        let begin = crate::pod::unix_now();
        assert!(usage.last() >= begin);
        usage.0.last.store(0, Ordering::Relaxed);
        assert!(usage.last() >= begin, "still in use");
        usage.0.last.store(0, Ordering::Relaxed);
        drop(call);
        assert!(usage.last() >= begin, "its end counts");
        usage.0.last.store(7, Ordering::Relaxed);
        assert_eq!(usage.last(), 7, "idle");
    }

    #[test]
    fn a_pod_is_claimed_once() {
        let roster = Roster::default();
        assert!(roster.claim("fn-x1", "fn").is_some());
        assert!(roster.claim("fn-x1", "fn").is_none());
        roster.adopted("fn-x1", PodId(7));
        assert_eq!(roster.leave(PodId(7)).unwrap(), "fn-x1");
    }
}
