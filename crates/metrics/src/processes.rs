//! The programs that this process starts.

use crate::{
    instruments::{Counter, Gauge, Split, label, metric},
    snapshot::Metric,
};

label!(
    /// For what a process was started.
    Started as "for" {
        /// For a call that was there.
        Call = "call",
        /// Before its call.
        Ahead = "ahead",
    }
);

label!(
    /// Whether a process waited for a call.
    Ahead as "outcome" { Hit = "hit", Miss = "miss", }
);

pub static STARTS: Split<Started, Counter, 2> = Split::new([const { Counter::new() }; 2]);
pub static AHEAD: Split<Ahead, Counter, 2> = Split::new([const { Counter::new() }; 2]);
pub static AHEAD_WAITING: Gauge = Gauge::new();
pub static AHEAD_MEMORY: Gauge = Gauge::new();

pub(crate) fn snapshot() -> Vec<Metric> {
    vec![
        metric(
            "function_runner.process.starts",
            "{process}",
            &STARTS,
            "Processes of functions that were started, for a call or ahead of it.",
        ),
        metric(
            "function_runner.started_ahead.calls",
            "{call}",
            &AHEAD,
            "Calls that found a process started ahead (hit) or had to start one (miss).",
        ),
        metric(
            "function_runner.started_ahead.processes",
            "{process}",
            &AHEAD_WAITING,
            "Processes that wait for their call.",
        ),
        metric(
            "function_runner.started_ahead.memory",
            "By",
            &AHEAD_MEMORY,
            "Memory of the processes that wait for their call.",
        ),
    ]
}
