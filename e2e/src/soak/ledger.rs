//! The outcome of every call, and the faults during it. Shared by all callers and by the thread that
//! causes the faults.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::call::{Call, Patience};
use super::fault::{Fault, Time};
use super::verdict::{Felt, Heard, Verdict, judge};

/// Lost calls whose words are kept; the others are counted.
const KEPT: usize = 200;

#[derive(Debug)]
pub(crate) struct Ledger {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<String, Counts>,
    allowed: BTreeMap<&'static str, u64>,
    lost: Vec<String>,
    faults: Vec<Felt>,
    /// Unknown at the beginning of a round.
    last_answer: Option<Duration>,
    /// The longest time without an answer, and its end.
    silence: (Duration, Duration),
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    answered: u64,
    given_up: u64,
    allowed: u64,
    lost: u64,
    slowest: Duration,
}

impl Ledger {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// The soak's own clock.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A fault begins; its number.
    pub(crate) fn begins(&self, fault: Fault) -> usize {
        let mut state = self.state();
        state.faults.push(Felt {
            fault,
            from: self.now(),
            until: None,
        });
        state.faults.len() - 1
    }

    pub(crate) fn ends(&self, fault: usize) {
        let now = self.now();
        if let Some(felt) = self.state().faults.get_mut(fault) {
            felt.until = Some(now);
        }
    }

    /// Callers begin: the time before was nobody's silence.
    pub(crate) fn round_begins(&self) {
        self.state().last_answer = Some(self.now());
    }

    /// Judges and counts a call that began at `from`; true if it was lost.
    pub(crate) fn record(&self, call: &Call, mark: &str, heard: &Heard, from: Duration) -> bool {
        let mut state = self.state();
        let now = self.now();
        let verdict = judge(call, mark, heard, (from, now), &state.faults);
        if !matches!(heard, Heard::Nothing | Heard::Silence) {
            let silence = now - state.last_answer.unwrap_or(now);
            state.silence = state.silence.max((silence, now));
            state.last_answer = Some(now);
        }
        let counts = state.counts.entry(call.function.to_string()).or_default();
        if call.patience == Patience::Full {
            counts.slowest = counts.slowest.max(now - from);
        }
        match verdict {
            Verdict::Answered => counts.answered += 1,
            Verdict::GivenUp => counts.given_up += 1,
            Verdict::Allowed(why) => {
                counts.allowed += 1;
                *state.allowed.entry(why).or_default() += 1;
            }
            Verdict::Lost(words) => {
                counts.lost += 1;
                let told = loss(call, mark, &words, (from, now), &state.faults);
                eprintln!("LOST {told}");
                if state.lost.len() < KEPT {
                    state.lost.push(told);
                }
                return true;
            }
        }
        false
    }

    /// What is wrong, in words; nothing if no call was lost.
    pub(crate) fn losses(&self) -> Vec<String> {
        let state = self.state();
        let count: u64 = state.counts.values().map(|counts| counts.lost).sum();
        let mut told = state.lost.clone();
        let kept = told.len() as u64;
        if count > kept {
            told.push(format!("and {} more", count - kept));
        }
        told
    }
}

/// A lost call with its time, its function, its words and what went on.
fn loss(
    call: &Call,
    mark: &str,
    words: &str,
    (from, until): (Duration, Duration),
    faults: &[Felt],
) -> String {
    let during = faults.iter().filter(|felt| felt.overlaps(from, until));
    let mut causes: Vec<String> = during.map(felt_at).collect();
    if causes.is_empty() {
        let last = faults.iter().rfind(|felt| felt.from <= from);
        causes.push(match last {
            Some(felt) => format!("nothing; the last fault was: {}", felt_at(felt)),
            None => "nothing".to_owned(),
        });
    }
    format!(
        "{} {mark} ({:?}, {} items), sent at {}, after {}: {words}\n    going on: {}",
        call.function,
        call.patience,
        call.items,
        Time(from),
        Time(until - from),
        causes.join("; ")
    )
}

fn felt_at(felt: &Felt) -> String {
    match felt.until {
        Some(until) => format!(
            "{} (from {} to {})",
            felt.fault,
            Time(felt.from),
            Time(until)
        ),
        None => format!("{} (since {})", felt.fault, Time(felt.from)),
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        writeln!(
            formatter,
            "| calls of | answered | given up | failed as they may | lost | slowest |"
        )?;
        writeln!(formatter, "|---|---|---|---|---|---|")?;
        for (function, it) in &state.counts {
            writeln!(
                formatter,
                "| {function} | {} | {} | {} | {} | {} |",
                it.answered,
                it.given_up,
                it.allowed,
                it.lost,
                Time(it.slowest)
            )?;
        }
        for (why, count) in &state.allowed {
            writeln!(formatter, "failed as they may: {count} times {why}")?;
        }
        let (silence, end) = state.silence;
        writeln!(
            formatter,
            "longest time without an answer: {}, until {}\n",
            Time(silence),
            Time(end)
        )?;
        let mut kinds: BTreeMap<String, (u64, Duration)> = BTreeMap::new();
        for felt in &state.faults {
            let kind = kinds.entry(kind(felt.fault)).or_default();
            kind.0 += 1;
            kind.1 += felt.until.map_or(Duration::ZERO, |until| until - felt.from);
        }
        writeln!(formatter, "| fault | times | in all |")?;
        writeln!(formatter, "|---|---|---|")?;
        for (kind, (times, lasted)) in kinds {
            writeln!(formatter, "| {kind} | {times} | {} |", Time(lasted))?;
        }
        Ok(())
    }
}

/// The fault without its numbers.
fn kind(fault: Fault) -> String {
    let told = fault.to_string();
    let (kind, _) = told.split_once(" by ").unwrap_or((&told, ""));
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::soak::call::{Function, Script};
    use crate::soak::fault::{Aim, Blow};

    #[test]
    fn a_lost_call_is_told_with_its_function_its_words_and_the_fault_that_went_on() {
        let ledger = Ledger::begin();
        let call = Call {
            function: Function::Pod(Script::Slow),
            items: 1,
            filler: 1,
            patience: Patience::Full,
            is_stranger: false,
            pause: Duration::ZERO,
        };
        ledger.round_begins();
        let fault = ledger.begins(Fault::Pods(Blow::Kill, Aim::All));
        let heard = Heard::Failure(Code::Unavailable, "its pod was lost".to_owned());
        assert!(ledger.record(&call, "m4-1", &heard, ledger.now()));
        ledger.ends(fault);
        let told = ledger.losses().join("\n");
        for words in [
            "pod slow",
            "m4-1",
            "Unavailable: its pod was lost",
            "container killed",
        ] {
            assert!(told.contains(words), "{words} is not in: {told}");
        }
        let report = ledger.to_string();
        assert!(report.contains("| pod slow | 0 | 0 | 0 | 1 |"), "{report}");
        assert!(
            report.contains("| every pod has its container killed | 1 |"),
            "{report}"
        );
    }
}
