//! Takes lists one after the other, asks both functions, and reports what differs.
//!
//! A Go function answers many lists in one process. Its libraries may keep something from one list to the next, so
//! a difference counts only if a fresh process shows it, too.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, ExitCode},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use anyhow::Result;

use crate::{
    Wanted, input, known,
    oracle::Oracle,
    process::{Outcome, Repeating, once},
    report::{Report, Verdict},
    shrink,
};

/// How often a Go function is asked again that answered otherwise. Four setters of the same length have 24 orders,
/// and a run in CI has to find ours.
const CHANCES: usize = 200;
/// Of that many equal answers, one is asked for again in a fresh process.
const SAMPLE: u64 = 256;

pub(crate) fn compare(oracles: &[Oracle], wanted: &Wanted) -> Result<ExitCode> {
    println!("seed {}", wanted.seed);
    let until = Instant::now() + wanted.time;
    let (next, report) = (AtomicU64::new(wanted.from), Report::new(wanted.shown));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..wanted.jobs)
            .map(|_| scope.spawn(|| work(oracles, wanted, until, &next, &report)))
            .collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"));
        ended.collect::<Result<()>>()
    })?;
    Ok(if report.finish() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn work(
    oracles: &[Oracle],
    wanted: &Wanted,
    until: Instant,
    next: &AtomicU64,
    report: &Report,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let mut processes = Processes::default();
    while Instant::now() < until {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= wanted.cases {
            break;
        }
        #[allow(clippy::cast_possible_truncation, reason = "the rest is an index")]
        let oracle = &oracles[(number % oracles.len() as u64) as usize];
        let case = wanted.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let input = input(oracle, case);
        let pair = Pair {
            oracle,
            starlark: &wanted.starlark,
            folder,
        };
        let is_sampled = wanted.fresh || (number / oracles.len() as u64).is_multiple_of(SAMPLE);
        let found = if is_sampled {
            pair.confirmed(&input, CHANCES)?
        } else {
            pair.verdict(&input, &mut processes)?
        };
        if let Some(signature) = found.signature()
            && report.is_shown(&oracle.name)
        {
            let same = |input: &str| {
                let found = pair.confirmed(input, 0).ok();
                found.and_then(|found| found.signature()).as_ref() == Some(&signature)
            };
            let small = shrink::shrink(&input, same);
            report.show(oracle, case, &small, &pair.confirmed(&small, 0)?);
        }
        report.count(&oracle.name, &found);
    }
    Ok(())
}

/// A Go function and ours.
struct Pair<'a> {
    oracle: &'a Oracle,
    starlark: &'a Path,
    folder: &'a Path,
}

impl Pair<'_> {
    fn ours(&self, input: &str) -> Result<Result<Outcome, Verdict>> {
        if let Some(why) = known::excluded(self.oracle, input) {
            return Ok(Err(Verdict::Excluded(why)));
        }
        let ours = self.oracle.ours(input, self.starlark, self.folder)?;
        Ok(ours.ok_or(Verdict::Excluded("not reproduced")))
    }

    fn fresh(&self, input: &str) -> Result<Outcome> {
        once(Command::new(&self.oracle.program), input, self.folder)
    }

    /// By a process that has answered others before; what is not the same is confirmed.
    fn verdict(&self, input: &str, processes: &mut Processes) -> Result<Verdict> {
        let ours = match self.ours(input)? {
            Ok(ours) => ours,
            Err(verdict) => return Ok(verdict),
        };
        match processes.ask(self.oracle, input)? {
            Some(go) if go == ours => Ok(Verdict::Same),
            _ => self.confirmed(input, CHANCES),
        }
    }

    /// By a fresh process; asked so many times more if it differs.
    fn confirmed(&self, input: &str, chances: usize) -> Result<Verdict> {
        let ours = match self.ours(input)? {
            Ok(ours) => ours,
            Err(verdict) => return Ok(verdict),
        };
        let found = Verdict::of(self.oracle, &ours, &self.fresh(input)?);
        if let Verdict::Differs { .. } = found {
            // Go walks its maps in an order of chance: ours has to be one of its answers.
            for _ in 0..chances {
                if self.fresh(input)? == ours {
                    return Ok(Verdict::Excused("by chance, in several ways"));
                }
            }
        }
        Ok(found)
    }
}

/// The processes of a worker, each for one Go function.
#[derive(Debug, Default)]
struct Processes(BTreeMap<String, Repeating>);

impl Processes {
    /// `None` if there is no such program.
    fn ask(&mut self, oracle: &Oracle, input: &str) -> Result<Option<Outcome>> {
        let Some(program) = &oracle.repeating else {
            return Ok(None);
        };
        let process = match self.0.remove(&oracle.name) {
            Some(process) => process,
            None => Repeating::start(program)?,
        };
        let (outcome, process) = process.ask(input)?;
        if let Some(process) = process {
            self.0.insert(oracle.name.clone(), process);
        }
        Ok(Some(outcome))
    }
}
