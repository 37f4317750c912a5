//! What the cluster reports of pods and services: watched, kept in short, and read.
//!
//! - [`watch`]: one watch over all pods and one over all services, and the tasks that wait for them.
//! - [`sparse`]: what is read of an object; [`seen`]: what is kept of it, its [`text`]s in as little memory as
//!   possible ([`compact`]); [`progress`] and [`phase`]: what its status says.

mod compact;
mod phase;
mod progress;
mod seen;
mod sparse;
mod text;
mod watch;

pub(crate) use phase::StartPhase;
pub(crate) use progress::Progress;
pub(crate) use seen::{Identity, SeenPod, SeenService, deletion};
pub(crate) use watch::{Loss, Watch, Watched, follow};
