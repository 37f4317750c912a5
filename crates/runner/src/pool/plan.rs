//! Every decision of the pool, as a pure function: state and event in, actions out.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::state::{CallerId, Failure, Function, Phase, Pod, PodId, Settings, State, Survey};

/// How long after its last call a pod counts as in use: worth a replacement before
/// somebody asks for it.
const IN_USE: Duration = Duration::from_secs(60);

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
    /// A caller no longer waits for this function.
    GaveUp { caller: CallerId, function: String },
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
    Outdated { pod: PodId, now: Duration },
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
            Event::GaveUp { caller, function } => self.gave_up(caller, &function),
            Event::Released { caller, pod, now } => self.released(caller, pod, now, &mut actions),
            Event::Ready { pod, now } => self.ready(pod, now, &mut actions),
            Event::Failed { pod, failure } => self.failed(pod, &failure, &mut actions),
            Event::Outdated { pod, now } => self.outdated(pod, now, &mut actions),
            Event::Adopted {
                function,
                settings,
                pod,
                now,
            } => self.adopted(pod, &function, settings, now, &mut actions),
            Event::Warm {
                function,
                settings,
                now,
            } => {
                self.settle(&function, settings);
                self.start_if_none(&function, now, &mut actions);
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
        self.settle(name, settings);
        let survey = self.survey(name);
        if survey.load >= settings.max_queued {
            let queued = survey.load;
            actions.push(Action::Refuse {
                caller,
                refusal: Refusal::QueueFull { queued },
            });
        } else {
            self.place(caller, name, &survey, now, actions);
        }
    }

    /// Gives a caller its place: in the least loaded pod, or in a new one if that
    /// has enough to do and another is allowed. While pods are being replaced there
    /// is one on its way already.
    fn place(
        &mut self,
        caller: CallerId,
        name: &str,
        survey: &Survey,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        let Some(Function { settings, .. }) = self.functions.get(name) else {
            return;
        };
        let is_full = survey.open >= settings.max_pods || survey.has_retiring;
        let is_free = |load: usize| load < settings.max_waitlist_length;
        let chosen = match survey.least.filter(|(_, load)| is_full || is_free(*load)) {
            Some((id, _)) => id,
            None => self.start(name, now, actions),
        };
        self.join(caller, chosen, actions);
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
            actions.push(Action::Lease { caller, pod: id });
        } else {
            pod.waiting.push_back(caller);
        }
    }

    fn start(&mut self, name: &str, now: Duration, actions: &mut Vec<Action>) -> PodId {
        let id = self.next_pod();
        self.add(id, name, Phase::Starting, now);
        actions.push(Action::Start {
            pod: id,
            function: name.to_owned(),
        });
        id
    }

    /// A pod too many is of no use, whoever has started it.
    fn adopted(
        &mut self,
        id: PodId,
        name: &str,
        settings: Settings,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        self.settle(name, settings);
        if self.pods.contains_key(&id) {
            return;
        }
        if self.survey(name).open < settings.max_pods {
            self.add(id, name, Phase::Ready, now);
        } else {
            actions.push(Action::Delete { pod: id });
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
        let Some(pod) = self
            .pods
            .get_mut(&id)
            .filter(|pod| pod.phase == Phase::Starting)
        else {
            return;
        };
        pod.phase = Phase::Ready;
        pod.used_at = now;
        let name = Arc::clone(&pod.function);
        for caller in std::mem::take(&mut pod.waiting) {
            pod.running.insert(caller);
            actions.push(Action::Lease { caller, pod: id });
        }
        self.drain_retiring(&name, actions);
    }

    /// Those who run in it will notice by themselves; those who wait for it go
    /// to another pod of the function, or hear why.
    fn failed(&mut self, id: PodId, failure: &Failure, actions: &mut Vec<Action>) {
        let Some(pod) = self
            .pods
            .get_mut(&id)
            .filter(|pod| pod.phase != Phase::Lost)
        else {
            return;
        };
        pod.phase = Phase::Lost;
        let waiting = std::mem::take(&mut pod.waiting);
        let (is_idle, name) = (pod.running.is_empty(), Arc::clone(&pod.function));
        actions.push(Action::Delete { pod: id });
        if is_idle {
            self.forget(id);
        }
        for caller in waiting {
            match self.survey(&name).least {
                Some((other, _)) => self.join(caller, other, actions),
                None => actions.push(Action::Refuse {
                    caller,
                    refusal: Refusal::PodFailed(failure.clone()),
                }),
            }
        }
    }

    /// One that is in use serves until its replacement is ready, so that callers
    /// notice nothing; also if the replacement does not come up, which is then tried
    /// again when this is told again. Those who wait for one to start want the new
    /// version.
    fn outdated(&mut self, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        let Some(pod) = self.pods.get_mut(&id) else {
            return;
        };
        let name = Arc::clone(&pod.function);
        match pod.phase {
            Phase::Starting => {
                let waiting = std::mem::take(&mut pod.waiting);
                self.delete(id, actions);
                for caller in waiting {
                    let survey = self.survey(&name);
                    self.place(caller, &name, &survey, now, actions);
                }
                if self.survey(&name).has_retiring {
                    self.start_if_none(&name, now, actions);
                }
            }
            Phase::Ready if pod.load() == 0 && now >= pod.used_at + IN_USE => {
                self.delete(id, actions);
            }
            Phase::Ready => {
                pod.phase = Phase::Retiring;
                self.start_if_none(&name, now, actions);
            }
            Phase::Retiring => match self.survey(&name).has_ready {
                // What is ready by now was not found outdated.
                true => self.drain_retiring(&name, actions),
                false => self.start_if_none(&name, now, actions),
            },
            Phase::Draining | Phase::Lost => {}
        }
    }

    /// Starts a pod unless there is one, or one on its way. Those that retire do
    /// not count.
    fn start_if_none(&mut self, name: &str, now: Duration, actions: &mut Vec<Action>) {
        if self.survey(name).open == 0 {
            self.start(name, now, actions);
        }
    }

    /// Their replacement is there: they finish what they have.
    fn drain_retiring(&mut self, name: &str, actions: &mut Vec<Action>) {
        let retiring = self.pods_of(name);
        let retiring = retiring.filter(|(_, pod)| pod.phase == Phase::Retiring);
        let retiring: Vec<PodId> = retiring.map(|(id, _)| id).collect();
        for id in retiring {
            match self.pods.get_mut(&id) {
                Some(pod) if pod.load() > 0 => pod.phase = Phase::Draining,
                _ => self.delete(id, actions),
            }
        }
    }

    fn scan(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let ttl = |pod: &Pod| self.functions.get(&pod.function).map(|f| f.settings.ttl);
        let is_expired = |pod: &Pod| {
            let is_idle = pod.is_usable() && pod.load() == 0;
            is_idle && ttl(pod).is_none_or(|ttl| now >= pod.used_at + ttl)
        };
        let expired = self.pods.iter().filter(|(_, pod)| is_expired(pod));
        let expired: Vec<PodId> = expired.map(|(id, _)| *id).collect();
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

    /// From now on these settings hold for the function.
    fn settle(&mut self, name: &str, settings: Settings) {
        if let Some(function) = self.functions.get_mut(name) {
            function.settings = settings;
            return;
        }
        let function = Function {
            settings,
            pods: BTreeSet::new(),
        };
        self.functions.insert(name.into(), function);
    }
}

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;
