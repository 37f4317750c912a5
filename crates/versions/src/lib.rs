//! Versions and version constraints as Porch and kpt read them, which is as the
//! Go module `github.com/Masterminds/semver/v3` does: `>=v0.4.0 <v0.5`, `~0.4`,
//! `^1.2 || 2.x`, `v0.1 - v0.3`. The crate `semver` speaks another language.
//!
//! What is promised: [`Version`] and [`Constraint`] accept, refuse, compare and
//! match as v3.4.0 of that module does, oddities included (`tests/golden.rs` has
//! its answers, `interop/` asks the module itself). [`Constraint::choose`] picks a
//! tag as kpt does. Nothing here knows images or registries.

mod choose;
mod comparator;
mod constraint;
mod version;

pub use choose::{Choice, Passed, Skipped};
pub use comparator::Mismatch;
pub use constraint::{Constraint, InvalidConstraint};
pub use version::{InvalidVersion, Version};
