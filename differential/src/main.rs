//! Compares the bundled functions with the Go functions on generated lists, byte for
//! byte, exit codes and results included.
//!
//! `differential [--seconds N] [--from N] [--cases N] [--seed N] [--only NAME[@VERSION]] [--oracles DIR]
//! [--starlark PROGRAM] [--show N] [--jobs N] [--case SEED] [--list FILE] [--fresh] [--confined DIR]`
//!
//! Ends after that time or that many cases, and with 1 if anything differs that is not
//! known. A difference is printed with the smallest list that shows it and with its
//! seed: `--only NAME@VERSION --case SEED` makes the same list again and prints it.
//! `--list FILE` does that with a list of yours.
//! `--fresh` gives every list a Go process of its own, also where nothing differs.
//! `--confined DIR`, as often as wanted, compares the Go functions with themselves, confined,
//! on the lists of `DIR/FUNCTION[@VERSION]/CASE/input.yaml`.

mod compare;
mod configs;
mod confined;
mod dice;
mod known;
mod lists;
mod modules;
mod objects;
mod oracle;
mod process;
mod report;
mod scripts;
mod shrink;
mod tree;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};

use dice::Dice;
use oracle::Oracle;
use process::{Outcome, once};

const USAGE: &str = "usage: differential [--seconds N] [--from N] [--cases N] [--seed N] [--only NAME[@VERSION]] \
                     [--oracles DIR] [--starlark PROGRAM] [--show N] [--jobs N] [--case SEED] [--list FILE] [--fresh] \
                     [--confined DIR]";

struct Wanted {
    time: Duration,
    /// The first case and the one at which it ends.
    from: u64,
    cases: u64,
    seed: u64,
    only: Option<String>,
    more: Option<PathBuf>,
    starlark: PathBuf,
    shown: usize,
    jobs: usize,
    case: Option<u64>,
    list: Option<PathBuf>,
    /// A Go process for each list.
    fresh: bool,
    /// Folders of cases.
    confined: Vec<PathBuf>,
}

fn wanted() -> Result<Wanted> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut wanted = Wanted {
        time: Duration::from_secs(60),
        from: 0,
        cases: u64::MAX,
        seed: now.as_secs(),
        only: None,
        more: None,
        starlark: "target/release/starlark-function".into(),
        shown: 3,
        jobs: thread::available_parallelism()?.get(),
        case: None,
        list: None,
        fresh: false,
        confined: Vec::new(),
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().context(USAGE);
        match word.as_str() {
            "--seconds" => wanted.time = Duration::from_secs(value()?.parse()?),
            "--from" => wanted.from = value()?.parse()?,
            "--cases" => wanted.cases = value()?.parse()?,
            "--seed" => wanted.seed = value()?.parse()?,
            "--only" => wanted.only = Some(value()?),
            "--oracles" => wanted.more = Some(value()?.into()),
            "--starlark" => wanted.starlark = value()?.into(),
            "--show" => wanted.shown = value()?.parse()?,
            "--jobs" => wanted.jobs = value()?.parse()?,
            "--case" => wanted.case = Some(value()?.parse()?),
            "--list" => wanted.list = Some(value()?.into()),
            "--fresh" => wanted.fresh = true,
            "--confined" => wanted.confined.push(value()?.into()),
            _ => bail!(USAGE),
        }
    }
    Ok(wanted)
}

fn main() -> Result<ExitCode> {
    let wanted = wanted()?;
    let mut oracles = oracle::built()?;
    if let Some(folder) = &wanted.more {
        oracles.extend(oracle::in_folder(folder)?);
    }
    let is_wanted = |oracle: &Oracle| {
        let only = wanted.only.as_ref();
        only.is_none_or(|only| oracle.name == *only || oracle.function == *only)
    };
    oracles.retain(is_wanted);
    if oracles.is_empty() {
        bail!("no oracle has that name");
    }
    if !wanted.confined.is_empty() {
        return confined::compare(&oracles, &wanted.confined);
    }
    if oracles.iter().any(|oracle| oracle.function == "starlark") && !wanted.starlark.exists() {
        bail!(
            "{} is missing: `make build-starlark`",
            wanted.starlark.display()
        );
    }
    let shown = match (&wanted.list, wanted.case) {
        (Some(file), _) => fs::read_to_string(file).with_context(|| file.display().to_string())?,
        (None, Some(case)) => input(&oracles[0], case),
        (None, None) => return compare::compare(&oracles, &wanted),
    };
    show(&oracles[0], &shown, &wanted.starlark)
}

/// The list of a case.
fn input(oracle: &Oracle, case: u64) -> String {
    lists::generate(&oracle.function, &mut Dice::new(case))
}

fn show(oracle: &Oracle, input: &str, starlark: &Path) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let print = |who: &str, outcome: Option<&Outcome>| match outcome {
        Some(Outcome { exit, stdout }) => {
            println!(
                "=== {who}: exit {exit:?}\n{}",
                String::from_utf8_lossy(stdout)
            );
        }
        None => println!("=== {who}: not reproduced"),
    };
    println!("{input}");
    let go = once(Command::new(&oracle.program), input, folder.path())?;
    print("Go", Some(&go));
    print(
        "ours",
        oracle.ours(input, starlark, folder.path())?.as_ref(),
    );
    Ok(ExitCode::SUCCESS)
}
