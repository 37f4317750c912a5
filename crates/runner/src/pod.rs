//! What the pod runtime does in the cluster. The pool decides, this acts.

pub mod blueprint;
pub mod connect;
pub mod names;
pub mod progress;
pub mod pull_secret;
pub mod template;
pub mod watch;
