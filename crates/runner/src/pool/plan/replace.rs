//! Which pods give way to others: outdated pods to their replacement, starting pods to one
//! that is ready already.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::{
    super::state::{CallerId, Phase, Pod, PodId, State},
    Action,
};

/// How long after its last call a pod counts as in use: worth a replacement before
/// somebody asks for it.
const IN_USE: Duration = Duration::from_secs(60);

impl State {
    /// A pod that is there already is better than one that only starts, no matter which
    /// runner has started it. A pod too many is of no use.
    pub(super) fn adopted(
        &mut self,
        id: PodId,
        name: &str,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        let Some(function) = self.functions.get(name) else {
            return;
        };
        if self.pods.contains_key(&id) {
            return;
        }
        let settings = function.settings;
        let starting = self.pods_of(name);
        let starting = starting.filter(|(_, pod)| pod.phase == Phase::Starting);
        let starting: Vec<PodId> = starting.map(|(id, _)| id).collect();
        let is_full = self.survey(name, &[]).open >= settings.max_pods || self.is_at_the_bound();
        // The last one to start is the last one to be ready.
        let surplus = starting.last().copied().filter(|_| is_full);
        if is_full && surplus.is_none() {
            return self.remove(id, actions);
        }
        let mut waiting = Vec::new();
        if let Some(surplus) = surplus {
            waiting.extend(self.take_waiting(surplus));
            self.delete(surplus, actions);
        }
        self.add(id, name, Phase::Ready, now);
        for caller in waiting {
            self.join_least(caller, name, actions);
        }
        self.share_waiting(&starting, id, settings.max_waitlist_length, actions);
        self.drain_retiring(name, actions);
        // The surplus may have been one of those under way.
        self.replace_next(now, actions);
    }

    /// Callers that wait for a pod to start go to this one, as long as it has room.
    fn share_waiting(
        &mut self,
        starting: &[PodId],
        id: PodId,
        room: usize,
        actions: &mut Vec<Action>,
    ) {
        for other in starting {
            while self.pods.get(&id).is_some_and(|pod| pod.load() < room) {
                let other = self.pods.get_mut(other);
                let Some(caller) = other.and_then(|pod| pod.waiting.pop_front()) else {
                    break;
                };
                self.join(caller, id, actions);
            }
        }
    }

    /// A pod that is in use, or of the warm-up, serves until its replacement is ready,
    /// so that callers notice nothing; also if the replacement has to wait for its turn,
    /// or does not come up and is tried again when this is reported again. Those who wait
    /// for one to start want the new version.
    pub(super) fn outdated(&mut self, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        if let Some(pod) = self.pods.get_mut(&id) {
            pod.may_stay = false;
        }
        let Some(pod) = self.pods.get(&id) else {
            return;
        };
        let name = Arc::clone(&pod.function);
        match pod.phase {
            Phase::Starting => {
                let waiting = self.take_waiting(id);
                self.delete(id, actions);
                self.keep_retiring(&name);
                for caller in waiting {
                    let survey = self.survey(&name, &[]);
                    self.place(caller, &name, &survey, now, actions);
                }
                let retires = self
                    .pods_of(&name)
                    .any(|(_, pod)| pod.phase == Phase::Retiring);
                if retires {
                    self.replace(name, now, actions);
                } else {
                    if self.is_warm_up(&name) {
                        self.start_if_none(&name, now, actions);
                    }
                    // It may have been one of those under way.
                    self.replace_next(now, actions);
                }
            }
            Phase::Ready | Phase::Retiring if !self.is_missed(id, pod, now) => {
                self.delete(id, actions);
            }
            Phase::Ready => {
                if let Some(pod) = self.pods.get_mut(&id) {
                    pod.phase = Phase::Retiring;
                }
                self.replace(name, now, actions);
            }
            // What is ready by now was not found outdated.
            Phase::Retiring if self.survey(&name, &[]).has_ready => {
                self.drain_retiring(&name, actions);
            }
            Phase::Retiring => self.replace(name, now, actions),
            Phase::Draining | Phase::Lost => {}
        }
    }

    /// Whether an outdated pod is worth a replacement.
    pub(super) fn is_missed(&self, id: PodId, pod: &Pod, now: Duration) -> bool {
        let is_used = !pod.is_idle() || now < pod.used_at + IN_USE;
        is_used || self.is_warm_up(&pod.function) && !self.has_other_ready(&pod.function, id)
    }

    fn is_warm_up(&self, name: &str) -> bool {
        let function = self.functions.get(name);
        function.is_some_and(|function| function.settings.is_warm_up)
    }

    fn has_other_ready(&self, name: &str, id: PodId) -> bool {
        let mut pods = self.pods_of(name);
        pods.any(|(other, pod)| other != id && pod.phase == Phase::Ready && pod.is_usable())
    }

    /// Their replacement is there: they finish what they have.
    pub(super) fn drain_retiring(&mut self, name: &str, actions: &mut Vec<Action>) {
        let retiring = self.pods_of(name);
        let retiring = retiring.filter(|(_, pod)| pod.phase == Phase::Retiring);
        let retiring: Vec<PodId> = retiring.map(|(id, _)| id).collect();
        for id in retiring {
            let waiting = self.take_waiting(id);
            match self.pods.get_mut(&id) {
                Some(pod) if pod.load() > 0 => {
                    pod.phase = Phase::Draining;
                    pod.is_doubted = false;
                    pod.may_stay = false;
                }
                _ => self.delete(id, actions),
            }
            for caller in waiting {
                self.join_least(caller, name, actions);
            }
        }
    }

    fn take_waiting(&mut self, id: PodId) -> VecDeque<CallerId> {
        let pod = self.pods.get_mut(&id);
        pod.map(|pod| std::mem::take(&mut pod.waiting))
            .unwrap_or_default()
    }

    /// For callers of a function that has a pod.
    fn join_least(&mut self, caller: CallerId, name: &str, actions: &mut Vec<Action>) {
        if let Some((id, _)) = self.survey(name, &[]).least {
            self.join(caller, id, actions);
        }
    }
}
