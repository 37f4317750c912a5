//! Running other programs to completion, with errors that carry what they said.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a program and returns its standard output; an error names the command and its complaint.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", describe(command)))?;
    checked(command, &output)
}

/// As [`run`], for a program and its plain arguments.
pub(crate) fn call<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Result<String> {
    run(Command::new(program).args(arguments))
}

fn checked(command: &Command, output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!(
        "{} failed ({}): {}",
        describe(command),
        output.status,
        said.trim()
    );
}

fn describe(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(OsStr::to_string_lossy));
    words.join(" ")
}
