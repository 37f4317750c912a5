//! The FunctionEvaluator service around any [`Evaluator`]: what the runner and
//! the wrapper server have in common. Requests become [`Evaluation`]s with a
//! deadline, errors become statuses in one place ([`status`]), messages are
//! bounded, health is told, and a server that is asked to stop first finishes
//! what it has begun.

mod body;
mod budget;
mod connections;
mod deadline;
mod evaluator;
mod handler;
mod health;
mod memory;
mod message_limit;
mod notes;
mod panics;
mod served;
mod server;
mod signals;
mod status;
mod stop;
mod tasks;
pub mod trace;

pub use connections::{Plain, Transport};
pub use evaluator::{EvaluateError, Evaluation, Evaluator};
pub use handler::Handler;
pub use health::Health;
pub use notes::{Noted, Notes, Running, Waiting};
pub use panics::log_panics;
pub use server::{Server, bind, max_output};
pub use signals::Shutdown;
pub use stop::Stages;
pub use tasks::{TaskEnded, Tasks};
pub use trace::{Span, Trace, Tracing};

/// What a verbosity from 0 to 5, as both servers take it, lets through. 3 and 4
/// differ in whether libraries are heard, which only the runner tells apart.
pub fn log_level(verbosity: u8) -> tracing::level_filters::LevelFilter {
    use tracing::level_filters::LevelFilter;
    match verbosity {
        0 => LevelFilter::ERROR,
        1 => LevelFilter::WARN,
        2 => LevelFilter::INFO,
        3 | 4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}
