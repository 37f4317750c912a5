//! The Go functions and our own program for `starlark`, confined as the exec runtime confines
//! executables: on every list of the cases' folders they answer as they do unconfined.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use ::process::{Command, Environment, Exit, Limits, Profile};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use functions::catalog;
use tokio::time::Instant;

use crate::{known, oracle::Oracle};

/// No function takes that long on a case.
const PATIENCE: Duration = Duration::from_secs(300);
const MOST_OUTPUT: usize = 64 << 20;
/// Our only function that is a program of its own; `make build-starlark` leaves it there.
const STARLARK: &str = "target/release/starlark-function";
const CRASH: &[u8] = b"goroutine 1 [running]";

/// Folders are laid out as `FUNCTION[@VERSION]/CASE/input.yaml`. Every release of a function
/// that there is a program of gets all of the function's lists.
pub(crate) fn compare(oracles: &[Oracle], folders: &[PathBuf]) -> Result<ExitCode> {
    if oracles.iter().any(|oracle| ours(oracle).is_some()) && !Path::new(STARLARK).exists() {
        bail!("{STARLARK} is missing: `make build-starlark`");
    }
    // From here on this process starts nothing but functions.
    ::process::adopt_orphans();
    let offered = ::process::confine_beside(&env::temp_dir(), ::process::memory::budget(None))?;
    if let Some(missing) = offered.missing() {
        bail!("nothing can be confined here: this system lacks {missing}");
    }
    println!("{offered}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut lists, mut left_out, mut different) = (0, 0, 0);
    for oracle in oracles {
        let go = Command::new(&oracle.program, Environment::Minimal);
        let programs = [Some(("Go", go)), ours(oracle).map(|ours| ("ours", ours))];
        for input in inputs(folders, &oracle.function)? {
            let list = fs::read_to_string(&input)?;
            if known::excluded(oracle, &list).is_some() {
                left_out += 1;
                continue;
            }
            let list = Bytes::from(list);
            for (whose, plain) in programs.iter().flatten() {
                let confined = plain.clone().confined(Profile::default());
                let [plain, confined] =
                    [plain, &confined].map(|command| runtime.block_on(run(command, list.clone())));
                let (plain, confined) = (plain?, confined?);
                lists += 1;
                if plain != confined {
                    different += 1;
                    println!("{} ({whose}) on {}:", oracle.name, input.display());
                    println!("  unconfined: {plain:?}\n  confined: {confined:?}");
                }
            }
        }
    }
    ::process::remove_temporary_directories();
    println!(
        "{lists} lists for {} Go programs and {} of ours, {different} answered otherwise when \
         confined; {left_out} left out, because the Go program cannot be asked about them",
        oracles.len(),
        oracles.iter().filter_map(ours).count(),
    );
    Ok(match (lists, different) {
        (0, _) => bail!("no lists in {folders:?}"),
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Our own program of the same release, where the function is one.
fn ours(oracle: &Oracle) -> Option<Command> {
    let chosen = catalog::find(&oracle.name)?;
    let command = Command::new(STARLARK, Environment::Minimal);
    let command = command.args([chosen.release.version]);
    chosen.release.is_program().then_some(command)
}

/// How it ended, and what it wrote.
async fn run(command: &Command, list: Bytes) -> Result<(Exit, Bytes, Bytes)> {
    let limits = Limits {
        output: MOST_OUTPUT,
        deadline: Instant::now() + PATIENCE,
    };
    let done = ::process::run(command, list, limits).await?;
    // A Go program reports where it crashed by addresses, which are never the same.
    let crash = done.log.windows(CRASH.len()).position(|at| at == CRASH);
    let log = done.log.slice(..crash.unwrap_or(done.log.len()));
    Ok((done.exit, done.stdout, log))
}

fn inputs(folders: &[PathBuf], function: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        for of in entries(folder)? {
            let name = of.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.split('@').next() == Some(function)) {
                let cases = entries(&of)?.into_iter();
                found.extend(cases.map(|case| case.join("input.yaml")));
            }
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}
