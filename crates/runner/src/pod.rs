//! The pod runtime: functions in pods of a cluster. The pool decides, this acts.
//!
//! ```text
//! runtime: evaluate ─► pool ─► launch ─► template, blueprint, connect · check: is it still good?
//!    │                           └─ roster: numbers ↔ names · watch: pods and services as they are
//!    ├─ functions: per-function settings and warm-up   ├─ owners: which runners live
//!    └─ sweep ─► judge over others' pods, care for our own (both pure)
//! ```
//! All of it talks to the API server through `api`, and takes the time from `headers`.

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
pub mod headers;
pub mod judge;
pub mod launch;
mod life;
pub mod names;
pub mod owners;
pub mod progress;
pub mod pull_secret;
pub mod roster;
pub mod runtime;
pub mod seen;
mod shown;
pub mod sweep;
mod tags;
pub mod template;
pub mod watch;
pub mod witness;
