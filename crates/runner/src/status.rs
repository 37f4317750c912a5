//! What people and machines see of a running runner: a page that explains itself, the
//! same as JSON, and `/metrics` for Prometheus, all on one port.
//!
//! ```text
//! metrics ─┐
//! failures ├─► view (plain data) ─► page (HTML) · /status.json ─► `function-runner status`
//! starts ──┤
//! sources ─┘        server: who may see what is decided by `access`
//! ```
//! Nothing here shows a list, a secret, or what a function wrote beyond the message of
//! a result. Nothing that is counted grows with what callers choose.

mod access;
mod address;
mod chart;
pub(crate) mod configuration;
pub(crate) mod failures;
mod page;
mod recent;
mod server;
pub(crate) mod starts;
pub(crate) mod view;
mod words;

pub(crate) use access::Visible;
pub(crate) use address::Address;
pub(crate) use server::start;
pub(crate) use view::{PodSource, PodView, Sources, View};
pub(crate) use words::{ago, bytes, duration, percent, whole};
