//! Makes events of steps, among what there is at the time.

use std::collections::HashMap;

use super::{super::tests::at, observer::Observer, *};

/// Pods that are known neither to the plan nor to anybody.
const NOBODY: u64 = 1_000_000;

fn pick<T: Copy>(among: &[T], number: usize) -> Option<T> {
    among.get(number % among.len().max(1)).copied()
}

pub(super) fn name(function: u8) -> String {
    format!("fn-{function}")
}

impl Observer {
    /// What a step comes to at the time.
    pub(super) fn event(&mut self, step: &Step) -> Option<Event> {
        let now = at(self.now);
        let pods: Vec<PodId> = self.pods.keys().copied().collect();
        match step {
            Step::Request { function, again } => {
                self.callers += 1;
                let caller = CallerId(self.callers);
                let function = name(*function);
                let own = pods.iter().filter(|pod| self.pods[pod] == function);
                let own: Vec<PodId> = own.copied().collect();
                Some(Event::Request {
                    caller,
                    settings: self.settings[&function],
                    avoid: again.and_then(|n| pick(&own, n)).into_iter().collect(),
                    function,
                    now,
                })
            }
            Step::GiveUp(n) => pick(&self.waiting, *n).map(|caller| Event::GaveUp {
                caller,
                function: self.wanted[&caller].clone(),
            }),
            Step::Release(n) => {
                pick(&self.lent, *n).map(|(caller, pod)| Event::Released { caller, pod, now })
            }
            Step::Ready(n) => pick(&self.starting, *n).map(|pod| Event::Ready { pod, now }),
            Step::Answer(n) => pick(&self.doubted, *n).map(|pod| Event::Ready { pod, now }),
            // A caller that runs in a pod may lose its call.
            Step::Doubt(n) => pick(&self.lent, *n)
                .filter(|(_, pod)| self.pods.contains_key(pod))
                .map(|(_, pod)| Event::Doubted { pod }),
            Step::Fail(n, outlook) => pick(&pods, *n).map(|pod| Event::Failed {
                pod,
                failure: Failure {
                    outlook: *outlook,
                    ..Failure::passing(format!("{pod:?} is broken"))
                },
                now,
            }),
            Step::Outdate(n) => pick(&pods, *n).map(|pod| Event::Outdated { pod, now }),
            Step::Gone(n) => pick(&self.leaving, *n).map(|pod| Event::Gone { pod, now }),
            Step::Change { function } => Some(Event::Changed {
                function: function.map(name),
            }),
            Step::Adopt { function } => Some(Event::Adopted {
                settings: self.settings[&name(*function)],
                function: name(*function),
                pod: self.state.next_pod(),
                now,
            }),
            Step::Warm { function } => Some(Event::Warm {
                settings: self.settings[&name(*function)],
                function: name(*function),
                now,
            }),
            Step::Settings { function, settings } => {
                self.settings.insert(name(*function), *settings);
                let function = name(*function);
                let is_told = settings.revision > 0;
                let settings = *settings;
                is_told.then_some(Event::Settled { function, settings })
            }
            Step::Wait { seconds } => {
                self.now += seconds;
                None
            }
            Step::Scan => Some(Event::Scan { now }),
            Step::Echo(n) => {
                let old = self.history.get(n % self.history.len().max(1)).cloned();
                old.filter(|event| self.is_stale(event))
            }
            Step::Unknown(n) => {
                let (caller, pod) = (CallerId(NOBODY), PodId(NOBODY));
                let failure = Failure::lasting("unknown");
                let events = [
                    Event::GaveUp {
                        caller,
                        function: name(0),
                    },
                    Event::GaveUp {
                        caller,
                        function: "unknown".into(),
                    },
                    Event::Released { caller, pod, now },
                    Event::Ready { pod, now },
                    Event::Doubted { pod },
                    Event::Failed { pod, failure, now },
                    Event::Outdated { pod, now },
                    Event::Gone { pod, now },
                    Event::Changed {
                        function: Some("unknown".into()),
                    },
                    Event::Settled {
                        function: "unknown".into(),
                        settings: SETTINGS,
                    },
                ];
                events.get(n % events.len()).cloned()
            }
        }
    }

    /// Whether an event that was there before says nothing new.
    fn is_stale(&self, event: &Event) -> bool {
        let phases: HashMap<PodId, Phase> = (self.state.overview().into_iter())
            .map(|(pod, phase, _)| (pod, phase))
            .collect();
        let is_over = |pod| matches!(phases.get(pod), None | Some(Phase::Draining | Phase::Lost));
        match event {
            Event::GaveUp { caller, .. } => !self.waiting.contains(caller),
            Event::Released { caller, .. } => !self.lent.iter().any(|loan| loan.0 == *caller),
            Event::Ready { pod, .. } => !self.starting.contains(pod) && !self.doubted.contains(pod),
            Event::Doubted { pod } => is_over(pod) || self.doubted.contains(pod),
            Event::Failed { pod, .. } => !self.pods.contains_key(pod),
            Event::Outdated { pod, .. } => is_over(pod),
            Event::Gone { pod, .. } => !self.leaving.contains(pod),
            Event::Adopted {
                pod,
                function,
                settings,
                ..
            } => {
                phases.contains_key(pod)
                    && self.settings[function] == *settings
                    && self.state.functions[function.as_str()].settings == *settings
            }
            _ => false,
        }
    }
}
