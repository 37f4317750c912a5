//! `wrapper-server --port 9446 --max-request-body-size N [--verbosity V] -- ENTRYPOINT ARG…`

use std::{ffi::OsString, time::Duration};

use goflags::{FlagError, Group, flag, value};

/// What to serve, and how.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) port: u16,
    pub(crate) max_message_size: usize,
    pub(crate) verbosity: u8,
    /// Most processes of the function that wait for their call; 0: none do.
    pub(crate) started_ahead: usize,
    pub(crate) started_ahead_idle: Duration,
    /// Never empty.
    pub(crate) entrypoint: Vec<OsString>,
}

#[derive(Debug)]
pub(crate) enum Request {
    Serve(Args),
    Help(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgsError {
    #[error(transparent)]
    Flag(#[from] FlagError),
    #[error(
        "no entrypoint: name the function's program and its arguments after \"--\", as in \
         wrapper-server --port 9446 -- /usr/local/bin/function"
    )]
    NoEntrypoint,
}

static FLAGS: &[Group] = &[Group {
    title: "Flags",
    flags: &[
        flag::value("port", "PORT", "9446", "Port to listen on, all addresses."),
        flag::value(
            "max-request-body-size",
            "BYTES",
            "6291456",
            "Limit of gRPC messages, both directions.",
        ),
        flag::value(
            "verbosity",
            "LEVEL",
            "2",
            "How much to log: 0 errors, 1 warnings, 2 information, 3 and 4 debug, 5 all.",
        ),
        flag::value(
            "started-ahead",
            "COUNT",
            "4",
            "Most processes of the function that are started before it is called. Each serves one \
             call; 0 starts the function only when it is called.",
        ),
        flag::value(
            "started-ahead-idle",
            "DURATION",
            "1m",
            "How long after the last call waiting processes are kept.",
        ),
        flag::switch(
            "flatten-log",
            "false",
            "Accepted for templates that are written for Porch's own wrapper; has no effect.",
        ),
        flag::HELP,
    ],
}];

pub(crate) fn parse(words: Vec<OsString>) -> Result<Request, ArgsError> {
    let flags = goflags::parse(FLAGS, words)?;
    if flags.switch("help")? {
        let usage = "wrapper-server [FLAGS] -- ENTRYPOINT [ARG…]\n\n\
                     Runs a KRM function of its own container behind gRPC.\n";
        return Ok(Request::Help(format!("{usage}{}", goflags::help(FLAGS))));
    }
    let args = Args {
        port: flags.get("port", value::port)?,
        max_message_size: flags.get("max-request-body-size", value::message_size)?,
        verbosity: flags.get("verbosity", value::number)?,
        started_ahead: flags.get("started-ahead", value::number)?,
        started_ahead_idle: flags.get("started-ahead-idle", value::positive_duration)?,
        entrypoint: flags.rest,
    };
    match args.entrypoint.first() {
        Some(program) if !program.is_empty() => Ok(Request::Serve(args)),
        _ => Err(ArgsError::NoEntrypoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_makes_no_sense_is_refused_with_what_is_accepted() {
        for (word, expected) in [
            ("--port=65536", "a port from 0 to 65535"),
            (
                "--max-request-body-size=0",
                "a number of bytes from 1 to 2147483647",
            ),
        ] {
            let words = [word, "--", "/function"].map(OsString::from);
            let told = parse(words.into()).err().unwrap().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn the_documentation_has_every_flag_with_its_default() {
        let text = include_str!("../../../docs/operations.md");
        let (_, text) = text.split_once("### The wrapper server").unwrap();
        for flag in FLAGS.iter().flat_map(|group| group.flags) {
            if ["help", "h", "version"].contains(&flag.name) {
                continue;
            }
            let default = Some(flag.default).filter(|default| !default.is_empty());
            let row = format!("| `--{}` | {} |", flag.name, default.unwrap_or("none"));
            assert!(text.contains(&row), "{row}");
        }
    }
}
