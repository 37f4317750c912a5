//! Calls of functions in pods: the connection, the call, and what happens if its pod is lost.
//!
//! - [`evaluate`]: gets a pod, calls its wrapper, passes on the answer, and tries again.
//! - [`connect`]: connections to wrappers, [`wrappers`]: where these are; [`check`], [`witness`]: whether a pod is still good.

pub(crate) mod check;
mod connect;
mod evaluate;
mod witness;
mod wrappers;

pub(crate) use connect::{Connection, Origin, Start, WRAPPER_PORT};
pub(crate) use evaluate::PodEvaluator;
pub(crate) use witness::Evidence;
pub(crate) use wrappers::Wrappers;
