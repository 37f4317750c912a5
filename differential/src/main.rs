//! Compares the bundled functions with the Go functions on generated lists, byte for
//! byte, exit codes and results included.
//!
//! `differential [--seconds N] [--from N] [--cases N] [--seed N] [--only NAME[@VERSION]] [--oracles DIR]
//! [--starlark PROGRAM] [--show N] [--jobs N] [--case SEED]`
//!
//! Ends after that time or that many cases, and with 1 if anything differs that is not
//! known. A difference is printed with the smallest list that shows it and with its
//! seed: `--only NAME@VERSION --case SEED` makes the same list again and prints it.

mod configs;
mod dice;
mod known;
mod lists;
mod objects;
mod oracle;
mod report;
mod scripts;
mod shrink;
mod tree;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};

use dice::Dice;
use oracle::{Oracle, Outcome};
use report::{Report, Verdict};

const USAGE: &str = "usage: differential [--seconds N] [--from N] [--cases N] [--seed N] [--only NAME[@VERSION]] \
                     [--oracles DIR] [--starlark PROGRAM] [--show N] [--jobs N] [--case SEED]";

/// How often a Go function is asked again that answered otherwise.
const CHANCES: usize = 8;

struct Wanted {
    until: Instant,
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
}

fn wanted() -> Result<Wanted> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut wanted = Wanted {
        until: Instant::now() + Duration::from_secs(60),
        from: 0,
        cases: u64::MAX,
        seed: now.as_secs(),
        only: None,
        more: None,
        starlark: "target/release/starlark-function".into(),
        shown: 3,
        jobs: thread::available_parallelism()?.get(),
        case: None,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().context(USAGE);
        match word.as_str() {
            "--seconds" => wanted.until = Instant::now() + Duration::from_secs(value()?.parse()?),
            "--from" => wanted.from = value()?.parse()?,
            "--cases" => wanted.cases = value()?.parse()?,
            "--seed" => wanted.seed = value()?.parse()?,
            "--only" => wanted.only = Some(value()?),
            "--oracles" => wanted.more = Some(value()?.into()),
            "--starlark" => wanted.starlark = value()?.into(),
            "--show" => wanted.shown = value()?.parse()?,
            "--jobs" => wanted.jobs = value()?.parse()?,
            "--case" => wanted.case = Some(value()?.parse()?),
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
    if oracles.iter().any(|oracle| oracle.function == "starlark") && !wanted.starlark.exists() {
        bail!(
            "{} is missing: `make build-starlark`",
            wanted.starlark.display()
        );
    }
    match wanted.case {
        Some(case) => show(&oracles[0], case, &wanted.starlark),
        None => compare(&oracles, &wanted),
    }
}

/// The list of a case.
fn input(oracle: &Oracle, case: u64) -> String {
    lists::generate(&oracle.function, &mut Dice::new(case))
}

fn show(oracle: &Oracle, case: u64, starlark: &Path) -> Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let input = input(oracle, case);
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
    print("Go", Some(&oracle.run(&input, folder.path())?));
    print(
        "ours",
        oracle.ours(&input, starlark, folder.path())?.as_ref(),
    );
    Ok(ExitCode::SUCCESS)
}

fn compare(oracles: &[Oracle], wanted: &Wanted) -> Result<ExitCode> {
    println!("seed {}", wanted.seed);
    let (next, report) = (AtomicU64::new(wanted.from), Report::new(wanted.shown));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..wanted.jobs)
            .map(|_| scope.spawn(|| work(oracles, wanted, &next, &report)))
            .collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"));
        ended.collect::<Result<()>>()
    })?;
    Ok(match report.finish() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn work(oracles: &[Oracle], wanted: &Wanted, next: &AtomicU64, report: &Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    while Instant::now() < wanted.until {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= wanted.cases {
            break;
        }
        #[allow(clippy::cast_possible_truncation, reason = "the rest is an index")]
        let oracle = &oracles[(number % oracles.len() as u64) as usize];
        let case = wanted.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let input = input(oracle, case);
        let verdict = |input: &str, chances: usize| -> Result<Verdict> {
            if let Some(why) = known::excluded(oracle, input) {
                return Ok(Verdict::Known(why));
            }
            let Some(ours) = oracle.ours(input, &wanted.starlark, folder)? else {
                return Ok(Verdict::Known("not reproduced"));
            };
            let found = Verdict::of(&ours, &oracle.run(input, folder)?);
            if let Verdict::Differs { .. } = found {
                // Go walks its maps in an order of chance: ours has to be one of its answers.
                for _ in 0..chances {
                    if oracle.run(input, folder)? == ours {
                        return Ok(Verdict::Known("by chance, in several ways"));
                    }
                }
            }
            Ok(found)
        };
        let found = verdict(&input, CHANCES)?;
        if let Some(signature) = found.signature()
            && report.is_shown(&oracle.name)
        {
            let same = |input: &str| {
                let found = verdict(input, 0).ok().and_then(|found| found.signature());
                found.as_ref() == Some(&signature)
            };
            let small = shrink::shrink(&input, same);
            report.show(oracle, case, &small, &verdict(&small, 0)?);
        }
        report.count(&oracle.name, &found);
    }
    Ok(())
}
