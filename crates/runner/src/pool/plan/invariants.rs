//! The invariants of the pool, on histories that nobody thought of: an observer who
//! sees only events and actions checks after each step that they hold.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::{
    tests::{SETTINGS, at},
    *,
};

/// One step of a generated history. Numbers pick among what there is at the time.
#[derive(Debug, Clone)]
enum Step {
    Request {
        function: u8,
    },
    GiveUp(usize),
    Release(usize),
    Ready(usize),
    Fail(usize),
    Outdate(usize),
    Adopt {
        function: u8,
    },
    Warm {
        function: u8,
    },
    Scan {
        after: u64,
    },
    /// Repeats an earlier event about a pod or caller, which by now may be gone.
    Echo(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3_u8).prop_map(|function| Step::Request { function }),
        2 => any::<usize>().prop_map(Step::GiveUp),
        4 => any::<usize>().prop_map(Step::Release),
        4 => any::<usize>().prop_map(Step::Ready),
        2 => any::<usize>().prop_map(Step::Fail),
        1 => any::<usize>().prop_map(Step::Outdate),
        1 => (0..3_u8).prop_map(|function| Step::Adopt { function }),
        1 => (0..3_u8).prop_map(|function| Step::Warm { function }),
        2 => (0..100_u64).prop_map(|after| Step::Scan { after }),
        1 => any::<usize>().prop_map(Step::Echo),
    ];
    prop::collection::vec(step, 0..120)
}

/// What an observer knows who sees only events and actions.
#[derive(Default)]
struct Observer {
    state: State,
    now: u64,
    callers: u64,
    waiting: Vec<CallerId>,
    wanted: HashMap<CallerId, String>,
    leased: Vec<(CallerId, PodId)>,
    /// Pods that exist as far as the cluster is concerned, and their function.
    pods: HashMap<PodId, String>,
    open: HashSet<PodId>,
    /// Outdated, but usable until a newer pod is ready.
    retiring: HashSet<PodId>,
    starting: Vec<PodId>,
    lost: HashSet<PodId>,
    deleted: HashSet<PodId>,
    history: Vec<Event>,
}

fn pick<T: Copy>(among: &[T], number: usize) -> Option<T> {
    among.get(number % among.len().max(1)).copied()
}

impl Observer {
    fn step(&mut self, step: &Step) {
        let now = at(self.now);
        let name = |function: &u8| format!("fn-{function}");
        let pods: Vec<PodId> = {
            let mut pods: Vec<PodId> = self.pods.keys().copied().collect();
            pods.sort();
            pods
        };
        let event = match step {
            Step::Request { function } => {
                self.callers += 1;
                let caller = CallerId(self.callers);
                self.waiting.push(caller);
                self.wanted.insert(caller, name(function));
                Some(Event::Request {
                    caller,
                    function: name(function),
                    settings: SETTINGS,
                    now,
                })
            }
            Step::GiveUp(number) => pick(&self.waiting, *number).map(|caller| {
                self.waiting.retain(|waiting| *waiting != caller);
                let function = self.wanted[&caller].clone();
                Event::GaveUp { caller, function }
            }),
            Step::Release(number) => pick(&self.leased, *number).map(|(caller, pod)| {
                self.leased.retain(|lease| lease.0 != caller);
                Event::Released { caller, pod, now }
            }),
            Step::Ready(number) => pick(&self.starting, *number).map(|pod| {
                self.starting.retain(|starting| *starting != pod);
                let function = &self.pods[&pod];
                self.retiring
                    .retain(|retiring| self.pods[retiring] != *function);
                Event::Ready { pod, now }
            }),
            Step::Fail(number) => pick(&pods, *number).map(|pod| {
                self.lost.insert(pod);
                self.open.remove(&pod);
                self.retiring.remove(&pod);
                self.starting.retain(|starting| *starting != pod);
                Event::Failed {
                    pod,
                    failure: Failure::passing("broken"),
                }
            }),
            Step::Outdate(number) => pick(&pods, *number).map(|pod| {
                if self.open.remove(&pod) && !self.starting.contains(&pod) {
                    self.retiring.insert(pod);
                }
                self.starting.retain(|starting| *starting != pod);
                Event::Outdated { pod, now }
            }),
            Step::Adopt { function } => {
                let pod = self.state.next_pod();
                self.pods.insert(pod, name(function));
                self.open.insert(pod);
                Some(Event::Adopted {
                    function: name(function),
                    settings: SETTINGS,
                    pod,
                    now,
                })
            }
            Step::Warm { function } => Some(Event::Warm {
                function: name(function),
                settings: SETTINGS,
                now,
            }),
            Step::Scan { after } => {
                self.now += after;
                Some(Event::Scan { now: at(self.now) })
            }
            Step::Echo(number) => {
                let old = self
                    .history
                    .get(number % self.history.len().max(1))
                    .cloned();
                old.filter(|event| self.is_stale(event))
            }
        };
        let Some(event) = event else { return };
        self.history.push(event.clone());
        for action in self.state.decide(event) {
            self.see(&action);
        }
        self.check();
    }

    /// Whether repeating the event says nothing new.
    fn is_stale(&self, event: &Event) -> bool {
        match event {
            Event::GaveUp { .. } => true,
            Event::Released { caller, .. } => !self.leased.iter().any(|lease| lease.0 == *caller),
            Event::Ready { pod, .. } | Event::Failed { pod, .. } | Event::Outdated { pod, .. } => {
                !self.open.contains(pod) && !self.retiring.contains(pod)
            }
            _ => false,
        }
    }

    fn see(&mut self, action: &Action) {
        match action {
            Action::Lease { caller, pod } => {
                assert!(
                    self.waiting.contains(caller),
                    "{caller:?} was answered before"
                );
                self.waiting.retain(|waiting| waiting != caller);
                let takes_callers = self.open.contains(pod) || self.retiring.contains(pod);
                assert!(takes_callers, "{pod:?} takes no callers");
                assert!(!self.starting.contains(pod), "{pod:?} is not ready");
                self.leased.push((*caller, *pod));
            }
            Action::Refuse { caller, .. } => {
                assert!(
                    self.waiting.contains(caller),
                    "{caller:?} was answered before"
                );
                self.waiting.retain(|waiting| waiting != caller);
            }
            Action::Start { pod, function } => {
                assert!(
                    self.pods.insert(*pod, function.clone()).is_none(),
                    "{pod:?} again"
                );
                self.open.insert(*pod);
                self.starting.push(*pod);
            }
            Action::Delete { pod } => {
                assert!(self.deleted.insert(*pod), "{pod:?} was deleted before");
                assert!(self.pods.remove(pod).is_some(), "{pod:?} is not known");
                self.open.remove(pod);
                self.retiring.remove(pod);
                let has_work = self.leased.iter().any(|lease| lease.1 == *pod);
                assert!(!has_work || self.lost.contains(pod), "{pod:?} has work");
            }
        }
    }

    fn check(&self) {
        assert_eq!(
            self.state.in_flight(),
            self.waiting.len() + self.leased.len()
        );
        let mut open: HashMap<&str, usize> = HashMap::new();
        for pod in &self.open {
            *open.entry(&self.pods[pod]).or_default() += 1;
        }
        assert!(
            open.values().all(|count| *count <= SETTINGS.max_pods),
            "{open:?}"
        );
    }

    /// Lets everything come to rest.
    fn settle(&mut self) {
        while !self.waiting.is_empty() {
            self.step(&Step::GiveUp(0));
        }
        while !self.leased.is_empty() {
            self.step(&Step::Release(0));
        }
        while !self.starting.is_empty() {
            self.step(&Step::Ready(0));
        }
        self.step(&Step::Scan { after: 1000 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_invariants_hold_in_any_history(steps in steps()) {
        let mut observer = Observer::default();
        for step in &steps {
            observer.step(step);
        }
        observer.settle();
        prop_assert_eq!(observer.state.in_flight(), 0);
        prop_assert!(observer.state.overview().is_empty(), "{:?}", observer.state.overview());
        prop_assert!(observer.pods.is_empty(), "left in the cluster: {:?}", observer.pods);
    }
}
