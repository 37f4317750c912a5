//! What people use by hand: `function-runner eval`, `inspect` and `fn`.

mod eval;
mod function;
mod input;
mod inspect;
mod show;
mod yaml;

use std::ffi::OsString;

pub(crate) use eval::eval;
pub(crate) use function::function;
use goflags::Group;
pub(crate) use inspect::inspect;

/// Takes the words that are neither flags nor flags' values; flags may stand
/// before and behind them.
fn take_arguments(
    flags: &'static [Group],
    words: &mut Vec<OsString>,
) -> Result<Vec<OsString>, String> {
    let mut arguments = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let rest = words[at..].to_vec();
        let left = match goflags::parse(flags, rest) {
            Ok(flags) => flags.rest.len(),
            Err(error) => return Err(error.to_string()),
        };
        if left == 0 {
            break;
        }
        at = words.len() - left;
        arguments.push(words.remove(at));
    }
    Ok(arguments)
}
