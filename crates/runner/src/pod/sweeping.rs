//! What happens at intervals: pods of other runners are adopted or collected, our own extended or
//! replaced.
//!
//! - [`routine`]: when; [`sweep`]: one look at everything.
//! - [`judge`] decides about pods of other runners, [`care`] about our own. Both are pure.
//! - [`tags`]: which functions' tags are checked in this sweep.

mod care;
mod judge;
mod routine;
mod sweep;
mod tags;

pub(crate) use routine::Routine;
pub(crate) use sweep::{Memory, Sweeper, give_up};
