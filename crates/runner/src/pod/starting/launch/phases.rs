//! How long each phase of a pod's start took: pure, from the moments at which this
//! runner saw each phase end. The cluster's own timestamps count whole seconds, which
//! is too coarse.

use std::{fmt, time::Duration};

use tokio::time::Instant;

use crate::pod::watching::{SeenPod, StartPhase};

/// When each phase of one start was over, as far as it is known.
#[derive(Debug, Clone)]
pub(super) struct Phases {
    began: Instant,
    over: Vec<(StartPhase, Instant)>,
}

impl Phases {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            began: now,
            over: Vec::new(),
        }
    }

    /// A phase is over, and with it all before. Seen twice, the first time counts.
    pub(super) fn over(&mut self, phase: StartPhase, now: Instant) {
        if self.over.last().is_none_or(|(last, _)| *last < phase) {
            self.over.push((phase, now));
        }
    }

    /// A pod was seen.
    pub(super) fn see(&mut self, pod: &SeenPod, now: Instant) {
        if let Some(phase) = pod.passed {
            self.over(phase, now);
        }
    }

    /// The phases that took time, in their order, with the one that still lasts.
    /// What was seen to be over at once with a later phase counts there.
    pub(super) fn spent(&self, now: Instant) -> Vec<(StartPhase, Duration)> {
        let mut from = self.began;
        let mut spent = Vec::new();
        for (phase, to) in &self.over {
            spent.push((*phase, *to - from));
            from = *to;
        }
        let last = self.over.last().map(|(phase, _)| *phase);
        let mut left = StartPhase::ALL.into_iter();
        if let Some(current) = left.find(|phase| last.is_none_or(|last| *phase > last)) {
            spent.push((current, now - from));
        }
        spent
    }

    /// For a log: every phase, in milliseconds.
    pub(super) fn line(&self, now: Instant) -> String {
        let phases = self.spent(now).into_iter();
        let words = phases.map(|(phase, time)| format!("{} {} ms", phase.name(), time.as_millis()));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// For a caller: what took longest comes first, and what took no time is left out.
pub(super) struct Told<'a>(pub(super) &'a Phases, pub(super) Instant);

impl fmt::Display for Told<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut spent = self.0.spent(self.1);
        spent.retain(|(_, time)| time.as_millis() >= 50);
        spent.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        for (index, (phase, time)) in spent.iter().enumerate() {
            let before = if index == 0 { "it spent " } else { ", " };
            let (seconds, name) = (time.as_secs_f32(), phase.name());
            write!(formatter, "{before}{seconds:.1} s on {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: &Value) -> SeenPod {
        let pod: Pod = serde_json::from_value(json!({ "status": status })).unwrap();
        SeenPod::from(&pod)
    }

    fn conditions(names: &[&str]) -> Value {
        let condition = |name: &&str| json!({ "type": name, "status": "True" });
        names.iter().map(condition).collect()
    }

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_status_tells_how_far_the_pod_has_come() {
        let scheduled = conditions(&["PodScheduled"]);
        let done = conditions(&["PodScheduled", "Initialized"]);
        for (status, expected) in [
            (json!({ "phase": "Pending" }), None),
            (
                json!({ "conditions": scheduled }),
                Some(StartPhase::Schedule),
            ),
            (
                json!({ "conditions": scheduled, "podIP": "10.0.0.1" }),
                Some(StartPhase::Sandbox),
            ),
            (
                json!({ "conditions": done, "podIP": "10.0.0.1" }),
                Some(StartPhase::Init),
            ),
            (json!({ "phase": "Running" }), Some(StartPhase::Container)),
        ] {
            assert_eq!(pod(&status).passed, expected);
        }
    }

    #[test]
    fn every_moment_of_a_start_belongs_to_one_phase() {
        let began = Instant::now();
        let mut phases = Phases::begin(began);
        phases.over(StartPhase::Metadata, began + ms(10));
        phases.over(StartPhase::Create, began + ms(30));
        let running = pod(&json!({ "phase": "Running", "podIP": "10.0.0.1" }));
        phases.see(&running, began + ms(1_030));
        phases.see(&running, began + ms(5_000));
        let spent = phases.spent(began + ms(1_100));
        let expected = [
            (StartPhase::Metadata, ms(10)),
            (StartPhase::Create, ms(20)),
            (StartPhase::Container, ms(1_000)),
            (StartPhase::Wrapper, ms(70)),
        ];
        assert_eq!(spent, expected);
        let sum: Duration = spent.iter().map(|(_, time)| *time).sum();
        assert_eq!(sum, ms(1_100));
    }

    #[test]
    fn a_caller_hears_what_took_longest_first() {
        let began = Instant::now();
        let mut phases = Phases::begin(began);
        phases.over(StartPhase::Metadata, began + ms(10));
        phases.over(StartPhase::Create, began + ms(110));
        let told = Told(&phases, began + ms(12_210)).to_string();
        assert_eq!(
            told,
            "it spent 12.1 s on scheduling, 0.1 s on creating the objects"
        );
        assert_eq!(
            phases.line(began + ms(12_210)),
            "image metadata 10 ms, creating the objects 100 ms, scheduling 12100 ms"
        );
    }
}
