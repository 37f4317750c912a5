//! `function-runner fn`: a bundled function on standard input and output, as
//! `kpt fn eval --exec` runs programs.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::ExitCode,
};

use functions::{Clock, Ended, catalog, reference};

use crate::{
    USAGE,
    exec::{bundled, program::Program},
};

const HELP: &str = "\
Usage:
  function-runner fn NAME           run the newest release of a bundled function: a
                                    ResourceList on standard input, the result on
                                    standard output
  function-runner fn NAME@VERSION   run that release
  function-runner fn list           show names and releases
  function-runner fn config         show releases and their images as a file for --config,
                                    to begin one with
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

/// Names, and the releases of each: as many to a line as fit a terminal.
fn list() -> io::Result<ExitCode> {
    const WIDTH: usize = 80;
    const NAME: usize = 30;
    let mut out = io::stdout().lock();
    for function in catalog::FUNCTIONS {
        let releases = bundled::all().filter(|chosen| chosen.function.name == function.name);
        let mut line = format!("{:<NAME$}", function.name);
        let mut any = false;
        for chosen in releases {
            let version = chosen.release.version;
            if line.len() + 1 + version.len() > WIDTH {
                writeln!(out, "{line}")?;
                line = " ".repeat(NAME);
            }
            line = format!("{line} {version}");
            any = true;
        }
        if any {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn config() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    writeln!(out, "functions:")?;
    for chosen in bundled::all().filter(|chosen| chosen.release.is_released()) {
        writeln!(out, "- function: {chosen}\n  images:")?;
        for image in reference::images(chosen) {
            writeln!(out, "  - {image}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run(name: &str) -> io::Result<ExitCode> {
    let Some(chosen) = catalog::find(name).filter(|chosen| bundled::all().any(|it| it == *chosen))
    else {
        eprintln!(
            "function-runner fn: no bundled function {name:?}; `function-runner fn list` shows \
             names and releases"
        );
        return Ok(ExitCode::from(USAGE));
    };
    if let Some(Program::Beside(_, program)) = bundled::program(chosen) {
        let mut command = std::process::Command::new(program.program());
        return Err(command.arg(chosen.release.version).exec());
    }
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let ended = chosen.run(input, &Clock::default());
    let Ended {
        exit,
        stdout,
        stderr,
    } = ended.map_err(|_| io::ErrorKind::TimedOut)?;
    io::stdout().lock().write_all(stdout.as_bytes())?;
    io::stderr().lock().write_all(stderr.as_bytes())?;
    Ok(ExitCode::from(exit))
}
