//! The function runner. Follow a request: `app` wires the parts, `service`
//! receives the call, `chain` asks one runtime after the other: `exec` runs
//! local executables, `pod` runs functions in pods, which its `pool` hands
//! out. `args` and `config` turn the command line into one validated value;
//! `cli` is what people use by hand.

mod app;
mod args;
mod chain;
mod cli;
mod config;
mod exec;
mod followed;
pub mod function_config;
mod images;
mod logging;
mod observed;
mod pod;
mod policy;
mod pool;
mod status;
mod stop;
mod tags;
mod tls;
mod wanted;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

use config::{Config, Request};
/// For its test on a real API server.
pub use pod::pull_secret;

/// Runs the program with the words after its name. `called_as` decides which program it is.
pub fn main(called_as: &OsStr, mut words: Vec<OsString>) -> ExitCode {
    if Path::new(called_as).file_name() == Some(OsStr::new(PROBE)) {
        return cli::probe(words);
    }
    if let Some(name) = words.first().and_then(|word| word.to_str()) {
        if let Some((_, command)) = COMMANDS.iter().find(|(known, _)| *known == name) {
            return command(words.split_off(1));
        }
        if !name.starts_with('-') {
            let known = COMMANDS.map(|(known, _)| known).join(", ");
            eprintln!(
                "function-runner: unknown command {name:?}; there are {known}, and without one a \
                 server is started (--help)"
            );
            return ExitCode::from(USAGE);
        }
    }
    match Config::parse(words) {
        Ok(Request::Print(text)) => {
            goflags::show(&text);
            ExitCode::SUCCESS
        }
        Ok(Request::Serve(config)) => match app::run(*config) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("function-runner: {error:#}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("function-runner: {error}");
            ExitCode::from(USAGE)
        }
    }
}

/// Runs with the words after its name.
type Command = fn(Vec<OsString>) -> ExitCode;

/// What can be asked for instead of a server.
const COMMANDS: [(&str, Command); 4] = [
    ("eval", cli::eval),
    ("inspect", cli::inspect),
    ("fn", cli::function),
    ("status", cli::status),
];

/// Called by this name, it asks a server's health.
const PROBE: &str = "grpc-health-probe";

/// The exit code for an invalid command line.
const USAGE: u8 = 2;
