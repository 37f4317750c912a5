//! The pool's plan. It is compiled from the runner's own files: building all of
//! the runner for it would take minutes.

use std::{hint::black_box, time::Duration};

use pool::{
    plan::{Action, Event},
    state::{CallerId, PodId, Settings, State},
};

use crate::Workload;

#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/runner/src/pool"]
mod pool {
    pub(super) mod plan;
    pub(super) mod state;
}

const SETTINGS: Settings = Settings {
    ttl: Duration::from_secs(1800),
    max_waitlist_length: 2,
    max_pods: 4,
    max_queued: 1000,
    is_warm_up: false,
    min_pods: 0,
    revision: 0,
};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("planner-warm-calls", |rounds| repeat(rounds, warm_calls)),
    ("planner-crowd", |rounds| repeat(rounds, crowd)),
    ("planner-scan", |rounds| repeat(rounds, scan)),
];

fn repeat(rounds: usize, work: fn(&mut Cluster)) {
    let mut cluster = Cluster::with_functions(20);
    for _ in 0..rounds {
        work(&mut cluster);
    }
    let pods = cluster.state.overview();
    assert!(pods.iter().all(|(_, _, load)| *load == 0));
}

/// The plan, and a cluster where every pod is ready at once.
#[derive(Default)]
struct Cluster {
    state: State,
    last_caller: u64,
    now: Duration,
}

impl Cluster {
    /// So many functions with a pod each.
    fn with_functions(count: usize) -> Self {
        let mut cluster = Self::default();
        for n in 0..count {
            cluster.event(Event::Warm {
                function: name(n),
                settings: SETTINGS,
                now: Duration::ZERO,
            });
        }
        cluster
    }

    /// Lets the plan decide; returns the loans that follow.
    fn event(&mut self, event: Event) -> Vec<(CallerId, PodId)> {
        let mut events = vec![event];
        let mut lent = Vec::new();
        while let Some(event) = events.pop() {
            for action in black_box(self.state.decide(event)) {
                match action {
                    Action::Lend { caller, pod } => lent.push((caller, pod)),
                    Action::Start { pod, .. } => events.push(Event::Ready { pod, now: self.now }),
                    Action::Refuse { .. } | Action::Check { .. } | Action::Delete { .. } => {}
                }
            }
        }
        lent
    }

    fn request(&mut self, function: usize) -> Vec<(CallerId, PodId)> {
        self.last_caller += 1;
        self.event(Event::Request {
            caller: CallerId(self.last_caller),
            function: name(function),
            settings: SETTINGS,
            avoid: Vec::new(),
            now: self.now,
        })
    }

    fn release(&mut self, lent: Vec<(CallerId, PodId)>) {
        for (caller, pod) in lent {
            let now = self.now;
            self.event(Event::Released { caller, pod, now });
        }
    }
}

fn name(n: usize) -> String {
    format!("ghcr.io/kptdev/krm-functions-catalog/function-{n}:v1")
}

/// One call after the other, each function in turn.
fn warm_calls(cluster: &mut Cluster) {
    for n in 0..2_000 {
        let lent = cluster.request(n % 20);
        cluster.release(lent);
    }
}

/// Hundreds of callers of one function at a time.
fn crowd(cluster: &mut Cluster) {
    for _ in 0..5 {
        let lent: Vec<_> = (0..400).flat_map(|_| cluster.request(7)).collect();
        cluster.release(lent);
    }
}

/// Looking for pods that nobody uses, when there are none.
fn scan(cluster: &mut Cluster) {
    for _ in 0..1_000 {
        let now = cluster.now;
        cluster.event(Event::Scan { now });
    }
}
