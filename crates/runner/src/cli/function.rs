//! `function-runner fn`: a bundled function on standard input and output, as
//! `kpt fn eval --exec` runs programs.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::ExitCode,
};

use functions::{Clock, Ended, catalog};

use crate::{USAGE, exec::bundled};

const HELP: &str = "\
Usage:
  function-runner fn NAME   run a bundled function: a ResourceList on standard input,
                            the result on standard output
  function-runner fn list   show names, versions and images
  function-runner fn config show the same as a file for --config, to begin one with
";

/// Runs the command with the words after its name.
pub(crate) fn function(words: Vec<OsString>) -> ExitCode {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["list"] => list(),
        ["config"] => config(),
        ["--help" | "-help" | "-h"] => io::stdout()
            .write_all(HELP.as_bytes())
            .map(|()| ExitCode::SUCCESS),
        [name] => run(name),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(USAGE);
        }
    };
    ended.unwrap_or_else(|error| {
        eprintln!("function-runner fn: {error}");
        ExitCode::FAILURE
    })
}

fn list() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    for (name, versions) in bundled::all() {
        let images = catalog::images(name, versions);
        writeln!(
            out,
            "{name:<30} {:<14} {}",
            versions.join(" "),
            images.join(" ")
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn config() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    writeln!(out, "functions:")?;
    for (name, versions) in bundled::all() {
        writeln!(out, "- function: {name}\n  images:")?;
        for image in catalog::images(name, versions) {
            writeln!(out, "  - {image}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run(name: &str) -> io::Result<ExitCode> {
    if let (bundled::STARLARK, Some(program)) = (name, bundled::starlark()) {
        return Err(std::process::Command::new(program.program()).exec());
    }
    let Some(function) = catalog::find(name) else {
        eprintln!(
            "function-runner fn: no bundled function {name:?}; `function-runner fn list` shows them"
        );
        return Ok(ExitCode::from(USAGE));
    };
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let ended = function.run(&input, &Clock::default());
    let Ended {
        exit,
        stdout,
        stderr,
    } = ended.map_err(|_| io::ErrorKind::TimedOut)?;
    io::stdout().lock().write_all(stdout.as_bytes())?;
    io::stderr().lock().write_all(stderr.as_bytes())?;
    Ok(ExitCode::from(exit))
}
