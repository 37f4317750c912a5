//! The pod pool: which call runs in which pod, and when pods come and go.
//!
//! ```text
//!  callers ──acquire──► handle ──events──► worker ──► plan (pure: state + event → actions)
//!     ▲                                     │  ▲
//!     └──── Loan (freed when dropped) ─────┤  └── outcomes: ready, failed, gone
//!                                           └────► Launcher: start, check and delete pods
//! ```
//! The plan decides, the worker carries out, the launcher acts on the cluster. The rules, each
//! an invariant that property tests hold the plan to:
//!
//! 1. Every caller is answered exactly once: a loan, an error, or its own cancellation.
//! 2. A caller that gives up frees its place; a dropped loan frees its slot.
//! 3. Events name their pod by identity; one pod's failure never touches another's callers.
//! 4. Never more than the allowed pods per function, those starting included, those on their
//!    way out not; and never more than the bound over all functions, those included that
//!    finish their last calls.
//! 5. A pod with work is never deleted for age; a pod without work is deleted once.
//! 6. The load over all pods is the callers in flight; at rest it is zero.
//! 7. Unknown pods, late events and repeated events change nothing.
//! 8. Outdated pods are replaced some at a time, and serve until then. Whenever another may
//!    be replaced, it is.
//!
//! A pod that a call was lost in is *in doubt*: nobody is given it before it has answered a
//! check. A start that would fail again is remembered, and not tried for a while.

mod counted;
mod handle;
mod plan;
mod state;
mod worker;

pub(crate) use handle::{AcquireError, Loan, Pool};
pub(crate) use plan::Refusal;
pub(crate) use state::{Failure, Outlook, PodId, Settings};
pub(crate) use worker::{Launcher, Worker};
