//! What the pool knows. Plain data: only `plan` changes it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use service::trace::SpanContext;

/// A call that wants a pod, or has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallerId(pub(crate) u64);

/// A pod of ours, from the decision to start it until it is deleted. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PodId(pub(crate) u64);

/// What holds for one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Idle time after which a pod is deleted.
    pub(crate) ttl: Duration,
    /// Load per pod at which another pod is started.
    pub(crate) max_waitlist_length: usize,
    pub(crate) max_pods: usize,
    /// Callers waiting or running at which more are refused.
    pub(crate) max_queued: usize,
    /// Whether the function should have a pod before anybody asks.
    pub(crate) is_warm_up: bool,
    /// How many pods are kept, however long nobody uses them.
    pub(crate) min_pods: usize,
    /// Changes with everything else that its pods are made of.
    pub(crate) revision: u64,
}

/// Whether another attempt would end in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It stays so until somebody changes something.
    Lasting,
    /// The next attempt may succeed.
    Passing,
    /// Nothing is wrong with the pod: somebody has deleted it, or its node has evicted it.
    Taken,
    /// The operator does not want it to run.
    Denied,
}

/// Why a pod did not come up, or cannot be used any more. Cheap to clone: every caller that
/// waited for the pod gets one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// In words for the callers.
    pub(crate) reason: Arc<str>,
    /// The last lines that its container has written, if any.
    pub(crate) log: Arc<str>,
    pub(crate) outlook: Outlook,
    /// The digest of the image that failed, if it was known.
    pub(crate) digest: Option<Arc<str>>,
    /// The start that failed, if it is part of a trace.
    pub(crate) start: Option<Arc<SpanContext>>,
}

/// Without what the container has written: that is for callers, and never for a log.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("reason", &self.reason)
            .field("outlook", &self.outlook)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Failure {
    /// It stays so until somebody changes something.
    pub(crate) fn lasting(reason: impl Into<Arc<str>>) -> Self {
        Self {
            outlook: Outlook::Lasting,
            ..Self::passing(reason)
        }
    }

    /// The next attempt may succeed.
    pub(crate) fn passing(reason: impl Into<Arc<str>>) -> Self {
        Self {
            reason: reason.into(),
            log: "".into(),
            outlook: Outlook::Passing,
            digest: None,
            start: None,
        }
    }

    /// The operator does not want it to run. Not remembered: it costs no pod to ask again.
    pub(crate) fn denied(reason: impl Into<Arc<str>>) -> Self {
        Self {
            outlook: Outlook::Denied,
            ..Self::passing(reason)
        }
    }

    /// It was this image that failed.
    #[must_use]
    pub(crate) fn of_image(self, digest: &str) -> Self {
        Self {
            digest: Some(digest.into()),
            ..self
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
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
    /// A call was lost in it: usable again once it has answered. Its callers wait.
    pub(super) is_doubted: bool,
    /// It retires, but what is wanted has changed since it was found outdated.
    pub(super) may_stay: bool,
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
        matches!(self.phase, Phase::Ready | Phase::Retiring) && !self.is_doubted
    }

    /// Whether it could go without anybody noticing.
    pub(super) fn is_idle(&self) -> bool {
        self.is_usable() && self.load() == 0
    }
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) settings: Settings,
    pub(super) pods: BTreeSet<PodId>,
    /// The start that failed last, if another would fail in the same way.
    pub(super) trouble: Option<Trouble>,
    /// Starts in a row whose pod was taken away.
    pub(super) taken: u32,
}

/// A failed start that is remembered.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) at: Duration,
    /// How long after it no other start is tried.
    pub(super) pause: Duration,
}

/// The pods of one function, at a glance.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Callers waiting or running.
    pub(super) load: usize,
    /// Pods that count against the function's maximum.
    pub(super) open: usize,
    /// Whether a current one can be used.
    pub(super) has_ready: bool,
    /// Pods that retire and can be used.
    pub(super) retiring: usize,
    /// The least loaded pod that takes callers, and its load; among equals, the
    /// one whose turn is longest ago. Nobody waits for a replacement while what it
    /// replaces can be used. Pods in doubt come last, and after them those that
    /// are to be avoided.
    pub(super) least: Option<(PodId, usize)>,
}

impl Survey {
    /// Pods that take callers now or soon, those that retire included.
    pub(super) fn there(&self) -> usize {
        self.open + self.retiring
    }
}

/// All functions with their pods and callers.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(super) functions: BTreeMap<Arc<str>, Function>,
    /// Of all functions; each also stands with its function.
    pub(super) pods: BTreeMap<PodId, Pod>,
    pub(super) last_pod: u64,
    pub(super) last_turn: u64,
    /// Most pods of all functions together; 0: any number.
    pub(super) max_pods: usize,
    pub(super) wave: Wave,
}

/// What is being replaced, and what waits for its turn.
#[derive(Debug, Default)]
pub(super) struct Wave {
    /// Functions with outdated pods whose replacement has not been started, in the order in which
    /// they were reported.
    pub(super) to_replace: VecDeque<Arc<str>>,
    /// Pods that were started to replace others. Only those that still start matter.
    pub(super) replacements: BTreeSet<PodId>,
    /// Pods whose deletion is under way. A start that is not wanted any more is none: it goes on
    /// for as long as starts may, and what waits for its turn does not wait for that.
    pub(super) leaving: BTreeSet<PodId>,
}

#[cfg(test)]
impl Wave {
    pub(super) fn is_empty(&self) -> bool {
        self.to_replace.is_empty() && self.leaving.is_empty()
    }
}

impl State {
    /// With a bound on the pods of all functions together; 0: any number.
    pub(crate) fn with_max_pods(max_pods: usize) -> Self {
        Self {
            max_pods,
            ..Self::default()
        }
    }

    /// Callers waiting or running, of all functions.
    #[cfg(test)]
    pub(super) fn in_flight(&self) -> usize {
        self.pods.values().map(Pod::load).sum()
    }

    /// The pods that are known, with their phase and load.
    pub(crate) fn overview(&self) -> Vec<(PodId, Phase, usize)> {
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
    pub(super) fn survey(&self, name: &str, avoid: &[PodId]) -> Survey {
        let mut survey = Survey::default();
        let (mut least_open, mut least_usable, mut least_doubted) = (None, None, None);
        for (id, pod) in self.pods_of(name) {
            let rank = (
                avoid.contains(&id),
                pod.is_doubted,
                pod.load(),
                pod.turn,
                id,
            );
            let less = |least: Option<_>| Some(least.map_or(rank, |least| rank.min(least)));
            survey.load += pod.load();
            survey.has_ready |= pod.phase == Phase::Ready && !pod.is_doubted;
            if pod.is_open() {
                survey.open += 1;
                least_open = less(least_open);
            }
            if pod.is_usable() {
                survey.retiring += usize::from(pod.phase == Phase::Retiring);
                least_usable = less(least_usable);
            } else if pod.phase == Phase::Retiring {
                least_doubted = less(least_doubted);
            }
        }
        let least = if survey.retiring > 0 {
            least_usable
        } else {
            least_open.or(least_doubted)
        };
        survey.least = least.map(|(_, _, load, _, id)| (id, load));
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
            is_doubted: false,
            may_stay: false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_container_wrote_is_not_shown_to_a_log() {
        let failure = Failure {
            log: "password: hunter2".into(),
            ..Failure::passing("it has ended")
        };
        let shown = format!("{failure:?}");
        assert!(shown.contains("it has ended"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
