//! What people use by hand: `function-runner eval`.

mod eval;
mod input;
mod show;
mod yaml;

pub(crate) use eval::eval;
