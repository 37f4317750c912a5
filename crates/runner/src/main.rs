//! `function-runner`: serves, or talks to a server (`function-runner eval`).

use std::process::ExitCode;

fn main() -> ExitCode {
    runner::main(std::env::args_os().skip(1).collect())
}
