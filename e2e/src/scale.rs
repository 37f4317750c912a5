//! A thousand functions on the real API server: what a runner costs when there are many runners, many
//! functions and many pods, measured and bounded. `make scale` runs it; docs/scale.md has the figures.
//!
//! ```text
//!   calls ──► runners ──► services ──► wrappers (one listener for the addresses of all pods)
//!                │                        ▲
//!                ▼                        │ addresses
//!             ApiProxy ──► API server ◄── nodes (simulated by kwok)
//!                │              │
//!                └──► figures ◄─┴── process, instructions
//! ```
//! `size`, `figures` and `dials` are pure; the others carry out and measure. Pods are objects only:
//! no container runs, and this process answers for all of them.

mod calls;
mod chapters;
mod cost;
mod dials;
mod figures;
mod fleet;
mod images;
mod instructions;
mod member;
mod nodes;
mod outage;
mod pods;
mod process;
mod run;
mod size;
mod stage;
mod wrappers;

pub(crate) use instructions::Counter;
pub use run::scale;
pub use size::Size;
