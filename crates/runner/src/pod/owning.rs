//! Which runner owns which pod: which runners are alive ([`owners`]), and which pods belong to this
//! one ([`roster`]).

mod owners;
mod roster;

pub(crate) use owners::{Census, Life, Owners};
pub(crate) use roster::{Entry, Roster, Stage, Usage};

/// This runner, as it is named on its pods.
#[derive(Debug)]
pub(crate) struct Us {
    pub(crate) owner: String,
    /// Names this process among all that ever were this runner.
    pub(crate) incarnation: String,
}
