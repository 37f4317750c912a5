//! The pod runtime: functions in pods of a cluster. The pool decides, this acts.
//!
//! ```text
//! runtime: evaluate ─► pool ─► launch ─► template, blueprint, connect · check: is it still good?
//!    │                           └─ roster: numbers ↔ names · watch: pods and services as they are
//!    ├─ functions: per-function settings and warm-up   ├─ owners: which runners live
//!    └─ sweep ─► judge over others' pods, care for our own (both pure)
//! ```

pub mod api;
pub mod blueprint;
pub mod care;
mod check;
pub mod cluster;
pub mod connect;
pub mod current_template;
pub mod evaluate;
#[cfg(test)]
mod fake;
pub mod functions;
pub mod judge;
pub mod launch;
mod life;
pub mod names;
pub mod owners;
pub mod progress;
pub mod pull_secret;
pub mod roster;
pub mod runtime;
pub mod sweep;
pub mod template;
pub mod watch;
pub mod witness;

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds, as annotations have them.
fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
