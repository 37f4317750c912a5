//! Every decision of the pool, as a pure function: state and event in, actions out.
//!
//! This file follows a caller: asking, waiting, running. `start` decides whether
//! another pod may be started, `replace` which pods are replaced by newer ones, and
//! `wave` when.

mod replace;
mod start;
mod wave;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::state::{CallerId, Failure, Function, Phase, Pod, PodId, Settings, State};

/// What happened. Times count from the pool's beginning.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A caller wants a pod of this function.
    Request {
        caller: CallerId,
        function: String,
        settings: Settings,
        /// Where it was sent before in vain: any other pod is better. Such a caller had
        /// its place in the queue already, and keeps it.
        avoid: Vec<PodId>,
        now: Duration,
    },
    /// A caller no longer waits for this function.
    GaveUp { caller: CallerId, function: String },
    /// A caller is done with its pod.
    Released {
        caller: CallerId,
        pod: PodId,
        now: Duration,
    },
    /// A pod can be used: it has come up, or it answers again.
    Ready { pod: PodId, now: Duration },
    /// A call was lost in a pod, or could not be sent to it.
    Doubted { pod: PodId },
    /// A pod did not come up, or cannot be used any more.
    Failed {
        pod: PodId,
        failure: Failure,
        now: Duration,
    },
    /// A pod is to be replaced: its template or its image is no longer current.
    Outdated { pod: PodId, now: Duration },
    /// The deletion of a pod has ended, one way or the other.
    Gone { pod: PodId, now: Duration },
    /// What pods are made of is no longer what it was, for one function or for all:
    /// what failed before may succeed now.
    Changed { function: Option<String> },
    /// A pod of an earlier runner is taken over.
    Adopted {
        function: String,
        settings: Settings,
        pod: PodId,
        now: Duration,
    },
    /// A function should have a pod before anybody asks.
    Warm {
        function: String,
        settings: Settings,
        now: Duration,
    },
    /// Other settings hold for a function that may have pods.
    Settled {
        function: String,
        settings: Settings,
    },
    /// Time to look for pods that nobody uses any more.
    Scan { now: Duration },
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Give the caller the pod.
    Lend { caller: CallerId, pod: PodId },
    /// Tell the caller that there will be none.
    Refuse { caller: CallerId, refusal: Refusal },
    /// Bring up a pod.
    Start { pod: PodId, function: String },
    /// Find out whether a pod answers.
    Check { pod: PodId },
    /// Remove a pod and its service, and close the connection to it.
    Delete { pod: PodId },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    QueueFull {
        queued: usize,
    },
    /// The pod that the caller waited for did not come up.
    PodFailed(Failure),
    /// Nor would another one: a start has failed so long ago, and the next is not tried
    /// before that much time has passed.
    Remembered {
        failure: Failure,
        ago: Duration,
        left: Duration,
    },
    /// There are as many pods as allowed, and none of them is idle.
    TooManyPods {
        pods: usize,
    },
}

impl State {
    /// A number for a pod that somebody else has started.
    pub(crate) fn next_pod(&mut self) -> PodId {
        self.last_pod += 1;
        PodId(self.last_pod)
    }

    /// Decides. Unknown pods and callers, late and repeated events change nothing.
    pub(crate) fn decide(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Request {
                caller,
                function,
                settings,
                avoid,
                now,
            } => {
                self.settle(&function, settings);
                let survey = self.survey(&function, &avoid);
                // A caller that was sent somewhere before had its place in the queue already.
                if survey.load >= settings.max_queued && avoid.is_empty() {
                    let queued = survey.load;
                    let refusal = Refusal::QueueFull { queued };
                    actions.push(Action::Refuse { caller, refusal });
                } else {
                    self.place(caller, &function, &survey, now, &mut actions);
                }
            }
            Event::GaveUp { caller, function } => self.gave_up(caller, &function),
            Event::Released { caller, pod, now } => self.released(caller, pod, now, &mut actions),
            Event::Ready { pod, now } => self.ready(pod, now, &mut actions),
            Event::Doubted { pod } => self.doubted(pod, &mut actions),
            Event::Failed { pod, failure, now } => self.failed(pod, &failure, now, &mut actions),
            Event::Outdated { pod, now } => self.outdated(pod, now, &mut actions),
            Event::Gone { pod, now } => self.gone(pod, now, &mut actions),
            Event::Changed { function } => {
                self.changed(function.as_deref());
                if function.is_none() {
                    self.keep_what_waits();
                }
            }
            Event::Adopted {
                function,
                settings,
                pod,
                now,
            } => {
                self.settle(&function, settings);
                self.adopted(pod, &function, now, &mut actions);
            }
            Event::Warm {
                function,
                settings,
                now,
            } => {
                self.settle(&function, settings);
                self.start_if_none(&function, now, &mut actions);
                self.keep_up(&function, now, &mut actions);
            }
            Event::Settled { function, settings } => {
                if self.functions.contains_key(function.as_str()) {
                    self.settle(&function, settings);
                }
            }
            Event::Scan { now } => self.scan(now, &mut actions),
        }
        actions
    }

    /// A caller runs in a pod that is ready, and waits for one that is not.
    fn join(&mut self, caller: CallerId, id: PodId, actions: &mut Vec<Action>) {
        self.last_turn += 1;
        let turn = self.last_turn;
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        pod.turn = turn;
        if pod.is_usable() {
            pod.running.insert(caller);
            actions.push(Action::Lend { caller, pod: id });
        } else {
            pod.waiting.push_back(caller);
        }
    }

    fn gave_up(&mut self, caller: CallerId, name: &str) {
        let Some(function) = self.functions.get(name) else {
            return;
        };
        for id in &function.pods {
            if let Some(pod) = self.pods.get_mut(id) {
                pod.waiting.retain(|waiting| *waiting != caller);
            }
        }
    }

    fn released(&mut self, caller: CallerId, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        if !pod.running.remove(&caller) {
            return;
        }
        pod.used_at = now;
        match pod.phase {
            Phase::Draining if pod.load() == 0 => self.delete(id, actions),
            Phase::Lost if pod.load() == 0 => self.forget(id),
            _ => {}
        }
    }

    fn ready(&mut self, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        let has_come_up = pod.phase == Phase::Starting;
        if has_come_up {
            pod.phase = Phase::Ready;
            pod.used_at = now;
        } else if !std::mem::take(&mut pod.is_doubted) {
            return;
        }
        let name = Arc::clone(&pod.function);
        for caller in std::mem::take(&mut pod.waiting) {
            pod.running.insert(caller);
            actions.push(Action::Lend { caller, pod: id });
        }
        if has_come_up {
            self.changed(Some(&name));
            self.drain_retiring(&name, actions);
            self.replace_next(now, actions);
        }
    }

    /// No caller gets the pod until it has answered; callers that ask meanwhile wait for
    /// that, unless there is a better pod.
    fn doubted(&mut self, id: PodId, actions: &mut Vec<Action>) {
        let usable = self.pods.get_mut(&id).filter(|pod| pod.is_usable());
        if let Some(pod) = usable {
            pod.is_doubted = true;
            actions.push(Action::Check { pod: id });
        }
    }

    /// Callers that run in the pod notice by themselves. Callers that wait for it go to
    /// another pod of the function; if it never came up, and there is no other, they get
    /// the reason as their error, unless it is not the pod's own fault.
    fn failed(&mut self, id: PodId, failure: &Failure, now: Duration, actions: &mut Vec<Action>) {
        let Some(pod) = self
            .pods
            .get_mut(&id)
            .filter(|pod| pod.phase != Phase::Lost)
        else {
            return;
        };
        let was_up = pod.phase != Phase::Starting;
        pod.phase = Phase::Lost;
        pod.is_doubted = false;
        pod.may_stay = false;
        let waiting = std::mem::take(&mut pod.waiting);
        let (is_idle, name) = (pod.running.is_empty(), Arc::clone(&pod.function));
        self.remove(id, actions);
        if is_idle {
            self.forget(id);
        }
        let is_tried_again = was_up || self.is_tried_again(&name, failure, now);
        for caller in waiting {
            let survey = self.survey(&name, &[]);
            match survey.least {
                _ if is_tried_again => self.place(caller, &name, &survey, now, actions),
                Some((other, _)) => self.join(caller, other, actions),
                None => actions.push(Action::Refuse {
                    caller,
                    refusal: Refusal::PodFailed(failure.clone()),
                }),
            }
        }
    }

    fn scan(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let ttl = |pod: &Pod| self.functions.get(&pod.function).map(|f| f.settings.ttl);
        let is_expired =
            |pod: &Pod| pod.is_idle() && ttl(pod).is_none_or(|ttl| now >= pod.used_at + ttl);
        let expired = self.pods.iter().filter(|(_, pod)| is_expired(pod));
        let expired: Vec<PodId> = expired.map(|(id, _)| *id).collect();
        for id in expired {
            if !self.is_kept(id) {
                self.delete(id, actions);
            }
        }
        let mut kept: Vec<Arc<str>> = Vec::new();
        self.functions.retain(|name, function| {
            function.trouble.take_if(|trouble| trouble.is_old(now));
            let is_kept = function.settings.min_pods > 0;
            if is_kept {
                kept.push(Arc::clone(name));
            }
            is_kept || !function.pods.is_empty() || function.trouble.is_some()
        });
        for name in kept {
            self.keep_up(&name, now, actions);
        }
    }

    /// Whether a pod is one of those that its function keeps.
    fn is_kept(&self, id: PodId) -> bool {
        let Some(pod) = self.pods.get(&id) else {
            return false;
        };
        let function = self.functions.get(&pod.function);
        let min_pods = function.map_or(0, |function| function.settings.min_pods);
        let is_wanted = pod.is_open() || pod.phase == Phase::Retiring;
        min_pods > 0 && is_wanted && self.survey(&pod.function, &[]).there() <= min_pods
    }

    fn delete(&mut self, id: PodId, actions: &mut Vec<Action>) {
        let starts = (self.pods.get(&id)).is_some_and(|pod| pod.phase == Phase::Starting);
        self.forget(id);
        if starts {
            actions.push(Action::Delete { pod: id });
        } else {
            self.remove(id, actions);
        }
    }

    fn remove(&mut self, id: PodId, actions: &mut Vec<Action>) {
        self.wave.leaving.insert(id);
        actions.push(Action::Delete { pod: id });
    }

    /// From now on these settings hold for the function. What failed with others may
    /// succeed now.
    fn settle(&mut self, name: &str, settings: Settings) {
        if let Some(function) = self.functions.get_mut(name) {
            if function.settings != settings {
                function.settings = settings;
                function.trouble = None;
            }
            return;
        }
        let function = Function {
            settings,
            pods: BTreeSet::new(),
            trouble: None,
            taken: 0,
        };
        self.functions.insert(name.into(), function);
    }
}

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;
