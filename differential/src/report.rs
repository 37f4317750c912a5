//! What was compared, counted by function, and the first differences of each.

use std::{collections::BTreeMap, sync::Mutex, time::Instant};

use crate::{known, oracle::Oracle, process::Outcome};

/// How one case ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    Same,
    /// Not compared, and why.
    Excluded(&'static str),
    /// Compared, and different for a known reason.
    Excused(&'static str),
    Differs {
        exits: [Option<i32>; 2],
        ours: String,
        go: String,
    },
}

impl Verdict {
    pub(crate) fn of(oracle: &Oracle, ours: &Outcome, go: &Outcome) -> Self {
        if ours == go {
            return Self::Same;
        }
        if let Some(why) = known::excused(oracle, ours, go) {
            return Self::Excused(why);
        }
        let text = |outcome: &Outcome| String::from_utf8_lossy(&outcome.stdout).into_owned();
        Self::Differs {
            exits: [ours.exit, go.exit],
            ours: text(ours),
            go: text(go),
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    differ: u64,
    shown: usize,
    excluded: BTreeMap<&'static str, u64>,
    excused: BTreeMap<&'static str, u64>,
}

impl Tally {
    fn reasons(&self) -> String {
        let excluded = self
            .excluded
            .iter()
            .map(|(why, count)| format!("{count} not asked: {why}"));
        let excused = self
            .excused
            .iter()
            .map(|(why, count)| format!("{count} excused: {why}"));
        excluded.chain(excused).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug)]
pub(crate) struct Report {
    began: Instant,
    shown: usize,
    tallies: Mutex<BTreeMap<String, Tally>>,
}

impl Report {
    /// Shows so many differences of each function.
    pub(crate) fn new(shown: usize) -> Self {
        Self {
            began: Instant::now(),
            shown,
            tallies: Mutex::default(),
        }
    }

    fn with<T>(&self, name: &str, does: impl FnOnce(&mut Tally) -> T) -> T {
        let mut tallies = self.tallies.lock().expect("no panic");
        does(tallies.entry(name.to_owned()).or_default())
    }

    /// Whether a difference of this function is still to be shown.
    pub(crate) fn is_shown(&self, name: &str) -> bool {
        self.with(name, |tally| {
            tally.shown += 1;
            tally.shown <= self.shown
        })
    }

    pub(crate) fn count(&self, name: &str, verdict: &Verdict) {
        self.with(name, |tally| {
            tally.cases += 1;
            match verdict {
                Verdict::Same => {}
                Verdict::Excluded(why) => *tally.excluded.entry(why).or_default() += 1,
                Verdict::Excused(why) => *tally.excused.entry(why).or_default() += 1,
                Verdict::Differs { .. } => tally.differ += 1,
            }
        });
    }

    pub(crate) fn show(&self, oracle: &Oracle, case: u64, input: &str, verdict: &Verdict) {
        let Verdict::Differs { exits, ours, go } = verdict else {
            return;
        };
        let _whole = self.tallies.lock().expect("no panic");
        println!("--- {} --case {case}: smallest list\n{input}", oracle.name);
        if exits[0] != exits[1] {
            println!("    exit: ours {:?}, Go {:?}", exits[0], exits[1]);
        }
        let (from, until) = differing(ours, go);
        for (who, text) in [("ours", ours), ("Go", go)] {
            let lines: Vec<&str> = text.lines().collect();
            let end = lines.len().saturating_sub(until).max(from);
            println!("    {who}, from line {}:", from + 1);
            for line in lines.get(from..end).unwrap_or(&[]).iter().take(25) {
                println!("      {line}");
            }
        }
    }

    /// Prints the table; whether there was no difference.
    pub(crate) fn finish(&self) -> bool {
        let tallies = self.tallies.lock().expect("no panic");
        println!("{:<32}{:>9}{:>9}  known", "function", "lists", "differ");
        for (name, tally) in tallies.iter() {
            println!(
                "{name:<32}{:>9}{:>9}  {}",
                tally.cases,
                tally.differ,
                tally.reasons()
            );
        }
        let sum = |of: fn(&Tally) -> u64| tallies.values().map(of).sum::<u64>();
        let differ = sum(|tally| tally.differ);
        println!(
            "{} lists in {:.0} s, {differ} differences, {} excused, {} not asked",
            sum(|tally| tally.cases),
            self.began.elapsed().as_secs_f64(),
            sum(|tally| tally.excused.values().sum()),
            sum(|tally| tally.excluded.values().sum()),
        );
        differ == 0
    }
}

impl Verdict {
    /// What two lists have in common that show the same difference: exit codes, and
    /// the first lines that are not the same.
    pub(crate) fn signature(&self) -> Option<String> {
        let Self::Differs { exits, ours, go } = self else {
            return None;
        };
        let (from, _) = differing(ours, go);
        let line = |text: &str| text.lines().nth(from).map(|line| line.trim().to_owned());
        Some(format!("{exits:?} {:?} {:?}", line(ours), line(go)))
    }
}

/// How many lines are the same at the beginning and at the end.
fn differing(ours: &str, go: &str) -> (usize, usize) {
    let from = ours
        .lines()
        .zip(go.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let (rest, other) = (ours.lines().skip(from), go.lines().skip(from));
    let (rest, other): (Vec<_>, Vec<_>) = (rest.collect(), other.collect());
    let ends = rest.iter().rev().zip(other.iter().rev());
    (from, ends.take_while(|(a, b)| a == b).count())
}
