//! What the pool knows. Plain data: only `plan` changes it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

/// A call that wants a pod, or has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallerId(pub u64);

/// A pod of ours, from the decision to start it until it is deleted. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(pub u64);

/// What holds for one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Idle time after which a pod is deleted.
    pub ttl: Duration,
    /// Load per pod from which on another pod is started.
    pub max_waitlist_length: usize,
    pub max_pods: usize,
    /// Callers waiting or running from which on more are refused.
    pub max_queued: usize,
}

/// Why a pod did not come up, or is no longer any good. Cheap to clone: all who
/// waited for it hear the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In words for the callers.
    pub reason: Arc<str>,
    /// The last lines that its container has written, if any.
    pub log: Arc<str>,
    /// Whether it stays so until somebody changes something.
    pub is_lasting: bool,
}

impl Failure {
    /// It stays so until somebody changes something.
    pub fn lasting(reason: impl Into<Arc<str>>) -> Self {
        Self {
            is_lasting: true,
            ..Self::passing(reason)
        }
    }

    /// The next attempt may succeed.
    pub fn passing(reason: impl Into<Arc<str>>) -> Self {
        Self {
            reason: reason.into(),
            log: "".into(),
            is_lasting: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Decided on, not usable yet. Its callers wait.
    Starting,
    /// Usable. Its callers run.
    Ready,
    /// Usable, but no longer what is wanted: serves until a newer pod is ready.
    Retiring,
    /// Takes no more callers; deleted when the last one is done.
    Draining,
    /// Gone from the cluster or given up; forgotten when the last caller is done.
    Lost,
}

#[derive(Debug)]
pub(super) struct Pod {
    pub(super) function: Arc<str>,
    pub(super) phase: Phase,
    pub(super) waiting: VecDeque<CallerId>,
    pub(super) running: BTreeSet<CallerId>,
    /// When it was last given to or back by a caller, since the pool began.
    pub(super) used_at: Duration,
    /// When it was last chosen, to take turns among equals.
    pub(super) turn: u64,
}

impl Pod {
    pub(super) fn load(&self) -> usize {
        self.waiting.len() + self.running.len()
    }

    /// Whether it counts against the function's maximum: it is wanted, and takes
    /// callers now or soon.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }

    /// Whether callers can run in it.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Retiring)
    }
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) settings: Settings,
    pub(super) pods: BTreeSet<PodId>,
}

/// The pods of one function, at a glance.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Callers waiting or running.
    pub(super) load: usize,
    /// Pods that count against the function's maximum.
    pub(super) open: usize,
    pub(super) has_ready: bool,
    pub(super) has_retiring: bool,
    /// The least loaded pod that takes callers, and its load; among equals, the
    /// one whose turn is longest ago. Nobody waits for a replacement while what it
    /// replaces can be used.
    pub(super) least: Option<(PodId, usize)>,
}

/// All functions with their pods and callers.
#[derive(Debug, Default)]
pub struct State {
    pub(super) functions: BTreeMap<Arc<str>, Function>,
    /// Of all functions; each also stands with its function.
    pub(super) pods: BTreeMap<PodId, Pod>,
    pub(super) last_pod: u64,
    pub(super) last_turn: u64,
}

impl State {
    /// Callers waiting or running, of all functions.
    pub fn in_flight(&self) -> usize {
        self.pods.values().map(Pod::load).sum()
    }

    /// The pods that are known, with their phase and load.
    pub fn overview(&self) -> Vec<(PodId, Phase, usize)> {
        self.pods
            .iter()
            .map(|(id, pod)| (*id, pod.phase, pod.load()))
            .collect()
    }

    /// The pods of one function.
    pub(super) fn pods_of(&self, name: &str) -> impl Iterator<Item = (PodId, &Pod)> {
        let ids = self.functions.get(name).into_iter();
        ids.flat_map(|function| &function.pods)
            .filter_map(|id| Some((*id, self.pods.get(id)?)))
    }

    /// Everything that decisions about a function need, in one look: each call
    /// asks for it.
    pub(super) fn survey(&self, name: &str) -> Survey {
        let mut survey = Survey::default();
        let (mut least_open, mut least_usable) = (None, None);
        for (id, pod) in self.pods_of(name) {
            let rank = (pod.load(), pod.turn, id);
            let less = |least: Option<_>| Some(least.map_or(rank, |least| rank.min(least)));
            survey.load += pod.load();
            survey.has_ready |= pod.phase == Phase::Ready;
            survey.has_retiring |= pod.phase == Phase::Retiring;
            if pod.is_open() {
                survey.open += 1;
                least_open = less(least_open);
            }
            if pod.is_usable() {
                least_usable = less(least_usable);
            }
        }
        let least = match survey.has_retiring {
            true => least_usable,
            false => least_open,
        };
        survey.least = least.map(|(load, _, id)| (id, load));
        survey
    }

    pub(super) fn add(&mut self, id: PodId, name: &str, phase: Phase, now: Duration) {
        let Some((name, _)) = self.functions.get_key_value(name) else {
            return;
        };
        let pod = Pod {
            function: Arc::clone(name),
            phase,
            waiting: VecDeque::new(),
            running: BTreeSet::new(),
            used_at: now,
            turn: 0,
        };
        if let Some(function) = self.functions.get_mut(&pod.function) {
            function.pods.insert(id);
        }
        self.pods.insert(id, pod);
    }

    pub(super) fn forget(&mut self, id: PodId) {
        let function = self.pods.remove(&id).map(|pod| pod.function);
        if let Some(function) = function.and_then(|name| self.functions.get_mut(&name)) {
            function.pods.remove(&id);
        }
    }
}
