//! The metrics of a running process.
//!
//! The values are statics, as a log is: they belong to the process, and code that counts
//! something needs no handle for it. They are atomics, so counting takes a few
//! instructions and no lock; the only names that callers choose, functions and hosts, are
//! bounded ([`functions`], [`registries`]), so no caller can make the process grow.
//!
//! ```text
//! service, process, krm, registry, runner ──count──► statics ──snapshot──► /metrics, page, OTLP
//! ```
//! Names and units follow OpenTelemetry's conventions; [`prometheus`] spells them as
//! OpenTelemetry's exporter for Prometheus does. docs/observability.md lists all of them.

#![forbid(unsafe_code)]

mod bounded;
pub mod budget;
pub mod calls;
mod code;
pub mod functions;
mod instruments;
mod own;
pub mod pods;
pub mod processes;
mod prometheus;
pub mod registries;
mod snapshot;
mod window;

use std::{
    sync::OnceLock,
    time::{Instant, SystemTime},
};

pub use bounded::OTHER;
pub use code::Code;
pub use instruments::{Counter, Gauge, Histogram, Label, Split};
pub use own::{Own, is, own};
pub use prometheus::prometheus;
pub use snapshot::{Kind, Metric, Point, Value};
pub use window::Glance;

/// When this process began to count: the start of everything cumulative.
pub fn started() -> SystemTime {
    beginning().0
}

/// Since then, by a clock that only counts on.
pub(crate) fn uptime() -> std::time::Duration {
    beginning().1.elapsed()
}

fn beginning() -> &'static (SystemTime, Instant) {
    static BEGINNING: OnceLock<(SystemTime, Instant)> = OnceLock::new();
    BEGINNING.get_or_init(|| (SystemTime::now(), Instant::now()))
}

/// Everything that the runner counts.
pub fn snapshot() -> Vec<Metric> {
    let mut all = wrapper();
    all.extend(functions::snapshot());
    all.extend(calls::client());
    all.extend(pods::snapshot());
    all.extend(registries::snapshot());
    all
}

/// What the wrapper server counts: its calls, its processes and itself.
pub fn wrapper() -> Vec<Metric> {
    let mut all = own::snapshot();
    all.extend(calls::server());
    all.extend(processes::snapshot());
    all.extend(budget::snapshot());
    all
}
