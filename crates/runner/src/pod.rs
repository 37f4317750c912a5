//! The pod runtime: functions in pods of a cluster. The pool decides, this acts.
//!
//! ```text
//!                    ┌─► calling ──► a wrapper's answer
//! runtime ─► pool ───┤
//!    │               └─► starting ─► a pod that answers, or its end
//!    └─► sweeping: others' pods, our own, at intervals
//!           all of them look at ─► watching, owning
//!           all of them ask     ─► cluster
//! ```
//! `functions` has the settings of each function, `marks` what is written on objects.

mod calling;
pub(crate) mod cluster;
pub(crate) mod functions;
mod marks;
mod names;
mod objects;
mod owning;
pub(crate) mod runtime;
mod shown;
mod starting;
mod sweeping;
pub(crate) mod watching;

pub use starting::pull_secret;
