//! Which images may run: the operator's file of `--image-policy`.
//!
//! ```text
//! file ─► Policy (plain rules) ── Subject (image, digest, runtime) ─► Decision   pure
//!            ▲ Current follows the file        Guard: asks for signatures, keeps verdicts
//! ```
//! Rules are judged when it is known what runs: after a version constraint has become a
//! tag, and for a pod with the digest that it is made of, so that a tag that moves
//! between verification and pull changes nothing. Before a registry is asked at all, the
//! name alone has to have a chance. Without the flag everything may run.

mod current;
mod file;
mod guard;
mod pattern;
mod rules;

pub(crate) use current::{Current, PolicyFile};
pub(crate) use guard::{Guard, Refused};
pub(crate) use rules::Runtime;
