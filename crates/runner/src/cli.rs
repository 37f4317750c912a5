//! What people use by hand: `function-runner eval` and `function-runner fn`.

mod eval;
mod function;
mod input;
mod show;
mod yaml;

pub(crate) use eval::eval;
pub(crate) use function::function;
