//! Errors that callers get instead of a pod: each has to be true, and has to be about the
//! pod that the caller waited for.

use std::collections::BTreeMap;

use super::{
    super::{
        start::{FIRST_PAUSE, LONGEST_PAUSE, MOST_TAKEN},
        tests::at,
    },
    observer::Observer,
    *,
};

/// What an observer knows of a function's failed starts.
#[derive(Debug, Default)]
pub(super) struct Memory {
    settings: Option<Settings>,
    taken: u32,
    /// The reason, since when, and for how long.
    trouble: Option<(Arc<str>, Duration, Duration)>,
}

impl Observer {
    pub(super) fn is_remembered(&self, function: &str) -> bool {
        let trouble = self
            .memory
            .get(function)
            .and_then(|memory| memory.trouble.as_ref());
        trouble.is_some_and(|(_, since, pause)| at(self.now) < *since + *pause)
    }

    /// Keeps the memory as the rules say.
    pub(super) fn remember(&mut self, event: &Event) {
        let now = at(self.now);
        match event {
            Event::Request {
                function, settings, ..
            }
            | Event::Adopted {
                function, settings, ..
            }
            | Event::Warm {
                function, settings, ..
            } => {
                let memory = self.memory.entry(function.clone()).or_default();
                if memory.settings.replace(*settings) != Some(*settings) {
                    memory.trouble = None;
                }
            }
            Event::Settled { function, settings } => {
                if let Some(memory) = self.memory.get_mut(function)
                    && memory.settings.replace(*settings) != Some(*settings)
                {
                    memory.trouble = None;
                }
            }
            Event::Ready { pod, .. } if self.starting.contains(pod) => {
                let memory = self.memory.entry(self.pods[pod].clone()).or_default();
                (memory.taken, memory.trouble) = (0, None);
            }
            Event::Changed { function } => {
                let is_meant = |name: &String| function.as_ref().is_none_or(|only| only == name);
                for (_, memory) in self.memory.iter_mut().filter(|(name, _)| is_meant(name)) {
                    (memory.taken, memory.trouble) = (0, None);
                }
            }
            Event::Failed { pod, failure, .. } if self.starting.contains(pod) => {
                let is_remembered = self.is_remembered(&self.pods[pod]);
                let memory = self.memory.entry(self.pods[pod].clone()).or_default();
                memory.taken += u32::from(failure.outlook == Outlook::Taken);
                let counts = match failure.outlook {
                    Outlook::Lasting => true,
                    Outlook::Taken => memory.taken >= MOST_TAKEN,
                    Outlook::Passing | Outlook::Denied => false,
                };
                if counts && !is_remembered {
                    let before = memory.trouble.as_ref().map(|(_, _, pause)| *pause);
                    let pause = before.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
                    memory.trouble = Some((Arc::clone(&failure.reason), now, pause));
                }
            }
            Event::Scan { .. } => {
                for memory in self.memory.values_mut() {
                    let is_old = |(_, since, pause): &mut (_, Duration, Duration)| {
                        now >= *since + *pause + LONGEST_PAUSE
                    };
                    memory.trouble.take_if(is_old);
                }
            }
            _ => {}
        }
    }

    pub(super) fn check_refusal(
        &self,
        caller: CallerId,
        refusal: &Refusal,
        event: &Event,
        waited: &BTreeMap<PodId, Vec<CallerId>>,
    ) {
        let function = &self.wanted[&caller];
        match refusal {
            Refusal::QueueFull { queued } => {
                let Event::Request { avoid, .. } = event else {
                    panic!("the queue is full at {event:?}");
                };
                assert!(avoid.is_empty(), "it had a place");
                let is_of = |caller: &&CallerId| self.wanted[caller] == *function;
                let lent = self.lent.iter().map(|(caller, _)| caller);
                let load = self.waiting.iter().chain(lent).filter(is_of).count();
                assert_eq!(load, *queued);
                assert!(load >= self.settings_of(function).max_queued);
            }
            Refusal::PodFailed(told) => {
                let Event::Failed { pod, failure, .. } = event else {
                    panic!("no pod has failed at {event:?}");
                };
                assert_eq!(told, failure, "of another pod");
                assert!(waited[pod].contains(&caller), "it did not wait for {pod:?}");
            }
            Refusal::Remembered { failure, ago, left } => {
                let trouble = self
                    .memory
                    .get(function)
                    .and_then(|memory| memory.trouble.as_ref());
                let (reason, since, pause) = trouble.expect("nothing to remember");
                assert_eq!(failure.reason, *reason);
                assert_eq!((*since + *ago, *ago + *left), (at(self.now), *pause));
                assert!(!left.is_zero(), "the pause is over");
                self.has_no_pod(function);
            }
            Refusal::TooManyPods { pods } => {
                assert_eq!(*pods, self.max_pods);
                assert!(self.pods.len() >= self.max_pods, "there is room");
                self.has_no_pod(function);
                let idle = self.idle(function);
                assert!(idle.is_empty(), "{idle:?} could make room");
            }
        }
    }

    fn has_no_pod(&self, function: &str) {
        let mut pods = self.state.pods_of(function);
        assert!(
            !pods.any(|(_, pod)| pod.is_open() || pod.is_usable()),
            "there is a pod"
        );
    }

    /// Pods of other functions that nobody uses, those to go first in front.
    fn idle(&self, function: &str) -> Vec<(bool, u64, PodId)> {
        let is_idle = |pod: &PodId| self.state.pods.get(pod).is_some_and(Pod::is_idle);
        let others = self
            .pods
            .iter()
            .filter(|(pod, of)| *of != function && is_idle(pod));
        let ranks =
            others.map(|(pod, of)| (self.settings_of(of).is_warm_up, self.used_at[pod], *pod));
        let mut ranks: Vec<_> = ranks.collect();
        ranks.sort();
        ranks
    }

    /// A pod that goes for the sake of a caller is the one that has been idle longest.
    pub(super) fn check_victim(&self, victim: PodId, event: &Event) {
        match event {
            Event::Request { function, .. } => {
                assert!(self.max_pods > 0, "there is room for {function}");
                let victim = (
                    self.settings_of(&self.pods[&victim]).is_warm_up,
                    self.used_at[&victim],
                    victim,
                );
                let better = self.idle(function).into_iter().find(|idle| *idle < victim);
                assert_eq!(better, None, "instead of {victim:?}");
            }
            // What is there already is better than what only starts.
            Event::Adopted { pod, function, .. } if *pod == victim => {
                let mut starting = self.starting.iter();
                assert!(
                    !starting.any(|pod| self.pods[pod] == *function),
                    "{pod:?} was there"
                );
            }
            _ => {}
        }
    }
}
