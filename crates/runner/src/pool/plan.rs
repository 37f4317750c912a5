//! Every decision of the pool, as a pure function: state and event in, actions out.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use super::state::{CallerId, Failure, Function, Phase, Pod, PodId, Settings, State};

/// What happened. Times count from the pool's beginning.
#[derive(Debug, Clone)]
pub enum Event {
    /// A caller wants a pod of this function.
    Request {
        caller: CallerId,
        function: String,
        settings: Settings,
        now: Duration,
    },
    /// A caller no longer waits.
    GaveUp { caller: CallerId },
    /// A caller is done with its pod.
    Released {
        caller: CallerId,
        pod: PodId,
        now: Duration,
    },
    /// A pod can be used.
    Ready { pod: PodId, now: Duration },
    /// A pod did not come up, or is no longer any good.
    Failed { pod: PodId, failure: Failure },
    /// A pod is to be replaced: its template or its image is no longer current.
    Outdated { pod: PodId },
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
    /// Time to look for pods that nobody uses any more.
    Scan { now: Duration },
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Give the caller the pod.
    Lease { caller: CallerId, pod: PodId },
    /// Tell the caller that there will be none.
    Refuse { caller: CallerId, refusal: Refusal },
    /// Bring up a pod.
    Start { pod: PodId, function: String },
    /// Remove a pod and its service, and close the connection to it.
    Delete { pod: PodId },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    QueueFull {
        queued: usize,
    },
    /// The pod that the caller waited for did not come up.
    PodFailed(Failure),
}

impl State {
    /// A number for a pod that somebody else has started.
    pub fn next_pod(&mut self) -> PodId {
        self.last_pod += 1;
        PodId(self.last_pod)
    }

    /// Decides. Unknown pods and callers, late and repeated events change nothing.
    pub fn decide(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Request {
                caller,
                function,
                settings,
                now,
            } => {
                self.request(caller, &function, settings, now, &mut actions);
            }
            Event::GaveUp { caller } => self.gave_up(caller),
            Event::Released { caller, pod, now } => self.released(caller, pod, now, &mut actions),
            Event::Ready { pod, now } => self.ready(pod, now, &mut actions),
            Event::Failed { pod, failure } => self.failed(pod, &failure, &mut actions),
            Event::Outdated { pod } => self.outdated(pod, &mut actions),
            Event::Adopted {
                function,
                settings,
                pod,
                now,
            } => {
                let pods = &mut self.function(&function, settings).pods;
                pods.entry(pod)
                    .or_insert_with(|| Pod::new(Phase::Ready, now));
            }
            Event::Warm {
                function,
                settings,
                now,
            } => {
                if !self
                    .function(&function, settings)
                    .pods
                    .values()
                    .any(Pod::is_open)
                {
                    self.start(&function, now, &mut actions);
                }
            }
            Event::Scan { now } => self.scan(now, &mut actions),
        }
        actions
    }

    fn request(
        &mut self,
        caller: CallerId,
        name: &str,
        settings: Settings,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        let function = self.function(name, settings);
        let queued = function.pods.values().map(Pod::load).sum::<usize>();
        if queued >= settings.max_queued {
            actions.push(Action::Refuse {
                caller,
                refusal: Refusal::QueueFull { queued },
            });
        } else {
            self.place(caller, name, now, actions);
        }
    }

    /// Gives a caller its place: in the least loaded pod, or in a new one if that
    /// has enough to do and another is allowed.
    fn place(&mut self, caller: CallerId, name: &str, now: Duration, actions: &mut Vec<Action>) {
        let Some(Function { settings, pods }) = self.functions.get(name) else {
            return;
        };
        let open_pods = pods.values().filter(|pod| pod.is_open()).count();
        let is_busy = |id: &PodId| pods[id].load() >= settings.max_waitlist_length;
        let least = self.least_loaded(name);
        let chosen = match least.filter(|id| !is_busy(id) || open_pods >= settings.max_pods) {
            Some(id) => id,
            None => self.start(name, now, actions),
        };
        self.join(caller, chosen, actions);
    }

    /// A caller runs in a pod that is ready, and waits for one that is not.
    fn join(&mut self, caller: CallerId, id: PodId, actions: &mut Vec<Action>) {
        self.last_turn += 1;
        let turn = self.last_turn;
        let Some(pod) = self.pod(id) else { return };
        pod.turn = turn;
        if pod.phase == Phase::Ready {
            pod.running.insert(caller);
            actions.push(Action::Lease { caller, pod: id });
        } else {
            pod.waiting.push_back(caller);
        }
    }

    /// The function's least loaded pod that takes callers; among equals, the one
    /// whose turn is longest ago.
    fn least_loaded(&self, name: &str) -> Option<PodId> {
        let pods = &self.functions.get(name)?.pods;
        let open = pods.iter().filter(|(_, pod)| pod.is_open());
        open.min_by_key(|(_, pod)| (pod.load(), pod.turn))
            .map(|(id, _)| *id)
    }

    fn start(&mut self, name: &str, now: Duration, actions: &mut Vec<Action>) -> PodId {
        let id = self.next_pod();
        if let Some(function) = self.functions.get_mut(name) {
            function.pods.insert(id, Pod::new(Phase::Starting, now));
            actions.push(Action::Start {
                pod: id,
                function: name.to_owned(),
            });
        }
        id
    }

    fn gave_up(&mut self, caller: CallerId) {
        for pod in self
            .functions
            .values_mut()
            .flat_map(|function| function.pods.values_mut())
        {
            pod.waiting.retain(|waiting| *waiting != caller);
        }
    }

    fn released(&mut self, caller: CallerId, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        let Some(pod) = self.pod(id) else { return };
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
        let Some(pod) = self.pod(id).filter(|pod| pod.phase == Phase::Starting) else {
            return;
        };
        pod.phase = Phase::Ready;
        pod.used_at = now;
        for caller in std::mem::take(&mut pod.waiting) {
            pod.running.insert(caller);
            actions.push(Action::Lease { caller, pod: id });
        }
    }

    /// Those who run in it will notice by themselves; those who wait for it go
    /// to another pod of the function, or hear why.
    fn failed(&mut self, id: PodId, failure: &Failure, actions: &mut Vec<Action>) {
        let Some(pod) = self.pod(id).filter(|pod| pod.phase != Phase::Lost) else {
            return;
        };
        pod.phase = Phase::Lost;
        let waiting = std::mem::take(&mut pod.waiting);
        let is_idle = pod.running.is_empty();
        actions.push(Action::Delete { pod: id });
        let name = self.name_of(id);
        if is_idle {
            self.forget(id);
        }
        let Some(name) = name else { return };
        for caller in waiting {
            match self.least_loaded(&name) {
                Some(other) => self.join(caller, other, actions),
                None => actions.push(Action::Refuse {
                    caller,
                    refusal: Refusal::PodFailed(failure.clone()),
                }),
            }
        }
    }

    /// It finishes what it has. Those who wait for it to start want the new version.
    fn outdated(&mut self, id: PodId, actions: &mut Vec<Action>) {
        let Some(pod) = self.pod(id).filter(|pod| pod.is_open()) else {
            return;
        };
        pod.phase = Phase::Draining;
        let now = pod.used_at;
        let waiting = std::mem::take(&mut pod.waiting);
        let is_idle = pod.running.is_empty();
        let name = self.name_of(id);
        if is_idle {
            self.delete(id, actions);
        }
        for caller in waiting {
            if let Some(name) = &name {
                self.place(caller, name, now, actions);
            }
        }
    }

    fn scan(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let mut expired = Vec::new();
        for function in self.functions.values() {
            let ttl = function.settings.ttl;
            let is_expired = |pod: &Pod| {
                pod.phase == Phase::Ready && pod.load() == 0 && now >= pod.used_at + ttl
            };
            expired.extend(
                function
                    .pods
                    .iter()
                    .filter(|(_, pod)| is_expired(pod))
                    .map(|(id, _)| *id),
            );
        }
        for id in expired {
            self.delete(id, actions);
        }
        self.functions
            .retain(|_, function| !function.pods.is_empty());
    }

    fn delete(&mut self, id: PodId, actions: &mut Vec<Action>) {
        self.forget(id);
        actions.push(Action::Delete { pod: id });
    }

    fn forget(&mut self, id: PodId) {
        for function in self.functions.values_mut() {
            function.pods.remove(&id);
        }
    }

    fn function(&mut self, name: &str, settings: Settings) -> &mut Function {
        let function = self
            .functions
            .entry(name.to_owned())
            .or_insert_with(|| Function {
                settings,
                pods: BTreeMap::new(),
            });
        function.settings = settings;
        function
    }

    fn pod(&mut self, id: PodId) -> Option<&mut Pod> {
        self.functions
            .values_mut()
            .find_map(|function| function.pods.get_mut(&id))
    }

    fn name_of(&self, id: PodId) -> Option<String> {
        let mut functions = self.functions.iter();
        functions
            .find(|(_, function)| function.pods.contains_key(&id))
            .map(|(name, _)| name.clone())
    }
}

impl Pod {
    fn new(phase: Phase, now: Duration) -> Self {
        Self {
            phase,
            waiting: VecDeque::new(),
            running: BTreeSet::new(),
            used_at: now,
            turn: 0,
        }
    }
}

#[cfg(test)]
mod tests;
