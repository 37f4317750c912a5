//! Mixed load under random faults, for any time: no call is lost or gets stuck, and nothing is left
//! over. `make soak` runs it; docs/decisions/0170-soak.md has the reasons.
//!
//! ```text
//!   plan ── what happens when ──► trouble ──► pods, API server, names, node, files, a runner
//!   call ── who calls what ─────► callers ──► front ──► two runners ──► functions
//!                                    │                      │
//!                                    ▼                      ▼
//!                                 ledger ◄─ verdict       rest ──► growth
//! ```
//! `plan`, `call`, `list`, `verdict` and `growth` are pure; the others carry out and write down.

mod blows;
mod call;
mod callers;
mod fault;
mod front;
mod growth;
mod ledger;
mod list;
mod material;
mod objects;
mod plan;
mod replicas;
mod rest;
mod run;
mod trouble;
mod verdict;

pub use plan::{Plan, Reach};
pub use run::soak;
