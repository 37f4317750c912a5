//! Memory that is set aside, and how much of it is in use.

use crate::{
    instruments::{Gauge, Split, label, metric},
    snapshot::Metric,
};

label!(
    /// What memory is set aside for.
    Part as "part" {
        /// Lists and answers of calls in flight.
        Requests = "requests",
        /// This process and all it starts.
        Processes = "processes",
    }
);

pub static LIMIT: Split<Part, Gauge, 2> = Split::new([const { Gauge::new() }; 2]);
pub static USED: Split<Part, Gauge, 2> = Split::new([const { Gauge::new() }; 2]);

pub(crate) fn snapshot() -> Vec<Metric> {
    vec![
        metric(
            "function_runner.memory.budget",
            "By",
            &LIMIT,
            "Memory that may be used: by requests in flight, and by the runner with all that it starts.",
        ),
        metric(
            "function_runner.memory.budget.used",
            "By",
            &USED,
            "Memory of the budget that is in use.",
        ),
    ]
}
