//! What people use by hand: `function-runner eval`, `inspect`, `fn` and `status`.

mod eval;
mod function;
mod input;
mod inspect;
mod probe;
mod show;
mod status;
mod yaml;

use std::{ffi::OsString, process::ExitCode};

pub(crate) use eval::eval;
pub(crate) use function::function;
use goflags::{FlagError, Flags, Group};
pub(crate) use inspect::inspect;
pub(crate) use status::status;

use crate::USAGE;

/// The frame of a command: help, complaints about the command line and errors,
/// each with its exit code.
fn command<T>(
    name: &str,
    help: &str,
    flags: &[Group],
    parsed: Result<Option<T>, String>,
    run: impl FnOnce(&T) -> anyhow::Result<ExitCode>,
) -> ExitCode {
    match parsed {
        Ok(None) => {
            goflags::show(&format!("{help}{}", goflags::help(flags)));
            ExitCode::SUCCESS
        }
        Ok(Some(wanted)) => run(&wanted).unwrap_or_else(|error| {
            eprintln!("function-runner {name}: {error:#}");
            ExitCode::FAILURE
        }),
        Err(complaint) => {
            eprintln!("function-runner {name}: {complaint}");
            ExitCode::from(USAGE)
        }
    }
}

/// `grpc-health-probe`.
pub(crate) fn probe(words: Vec<OsString>) -> ExitCode {
    ::probe::main::<probe::Anywhere>(probe::FLAGS, words)
}

fn wants_help(flags: &Flags) -> Result<bool, String> {
    let is_set = |name| {
        flags
            .switch(name)
            .map_err(|error: FlagError| error.to_string())
    };
    Ok(is_set("help")? || is_set("h")?)
}

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
