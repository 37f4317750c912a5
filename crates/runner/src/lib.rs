//! The function runner. Follow a request: `app` wires the parts, `service`
//! receives the call, [`chain`] asks one runtime after the other, [`exec`] runs
//! local executables. `args` and [`config`] turn the command line into one
//! validated value; `cli` is what people use by hand.

mod app;
mod args;
pub mod chain;
mod cli;
pub mod config;
pub mod exec;
mod images;
mod logging;

use std::{ffi::OsString, process::ExitCode};

use config::{Config, Request};

/// Runs the program with the words after its name.
pub fn main(mut words: Vec<OsString>) -> ExitCode {
    if words.first().is_some_and(|word| word == "eval") {
        return cli::eval(words.split_off(1));
    }
    if words.first().is_some_and(|word| word == "fn") {
        return cli::function(words.split_off(1));
    }
    match Config::parse(words) {
        Ok(Request::Print(text)) => {
            print!("{text}");
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

/// The exit code for a command line that cannot be understood.
const USAGE: u8 = 2;
