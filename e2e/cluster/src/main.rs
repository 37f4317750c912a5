//! The `cluster` command: one verb per call.

use std::process::ExitCode;

use anyhow::{Result, bail};
use cluster::binaries::{self, Binaries, Missing};
use cluster::peer::Peer;
use cluster::{down, exec, layout, status, up};

const HELP: &str = "\
cluster up [--cached]    bring the node up; --cached: refuse to build or install anything
cluster down             remove every trace of it
cluster status           what runs
cluster exec -- CMD …    run a command inside, with kubectl and its configuration
cluster shell            the same, with your shell
cluster peer             build Porch's own function runner, for tests and measurements beside it
cluster registry         build distribution v3, a registry that sends lists in pages, for tests
cluster kwok             build kwok, which simulates nodes, for the test of scale
cluster clean            down, and remove the built programs too

FUNCTION_RUNNER_NODE=NAME  another node, beside the usual one";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cluster: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<ExitCode> {
    layout::check_name()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["up"] => up::up(Missing::Build)?,
        ["up", "--cached"] => up::up(Missing::Refuse)?,
        ["down"] => down::down()?,
        ["status"] => status::print()?,
        ["peer"] => println!("{}", Peer::obtain(Missing::Build)?.server.display()),
        ["registry"] => println!("{}", Binaries::registry(Missing::Build)?.display()),
        ["kwok"] => println!("{}", Binaries::kwok(Missing::Build)?.display()),
        ["clean"] => {
            down::down()?;
            binaries::clean()?;
        }
        ["exec", "--", ref command @ ..] => return run_inside(command),
        ["shell"] => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            return run_inside(&[&shell]);
        }
        [up::INSIDE] => up::start_inside()?,
        ["help" | "--help" | "-h"] => println!("{HELP}"),
        _ => bail!("expected one of these:\n{HELP}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The command's own exit code is passed on; one that a signal ended counts as failed.
fn run_inside(command: &[&str]) -> Result<ExitCode> {
    let code = exec::exec(command)?
        .code()
        .and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}
