//! `function-runner`: serves, or talks to a server (`function-runner eval`).

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let called_as = words.next().unwrap_or_default();
    runner::main(&called_as, words.collect())
}
