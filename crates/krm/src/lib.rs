//! What a KRM function is, free of gRPC and Kubernetes: the list it reads and
//! writes, the results it reports, and the one verdict on how it ended. The exec
//! runtime and the wrapper server share all of it, so that a function behaves the
//! same in both.

mod evaluate;
mod outcome;
pub mod resource_list;

pub use evaluate::{evaluate, judge_completed};
pub use outcome::{Failure, FunctionError, Output};
