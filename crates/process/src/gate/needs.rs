//! How much memory programs needed, by the size of their input. For an unknown program
//! the guess is rather too large: its first call then runs with few others, and shows
//! how much the next ones need.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::command::Command;

/// Most programs that are remembered; the one used longest ago is forgotten.
const PROGRAMS: usize = 1024;

/// Sizes are grouped by powers of two, from 4 KiB to 2 GiB.
const SMALLEST: u32 = 12;
const SIZES: usize = 20;

/// A process takes something even for an empty list.
const LEAST: u64 = 4 << 20;

/// A guess for what was never seen: Go programs were seen to take 155 times
/// their list.
const GUESS_BASE: u64 = 16 << 20;
const GUESS_PER_BYTE: u64 = 160;

/// How long a program is refused that could not fit: it may have been replaced.
const REFUSED_FOR: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Default)]
pub(super) struct Needs {
    programs: HashMap<Command, Past>,
    uses: u64,
}

#[derive(Debug, Default)]
struct Past {
    /// What was needed for lists of each size; 0: unknown.
    peaks: [u64; SIZES],
    too_large: Option<TooLarge>,
    last_use: u64,
}

/// A call that ran alone and had more than there is.
#[derive(Debug, Clone, Copy)]
struct TooLarge {
    size: usize,
    needed: u64,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    About(u64),
    /// More than there is: it had this much when it was ended.
    TooMuch(u64),
}

impl Needs {
    pub(super) fn of(&mut self, command: &Command, size: usize, now: Instant) -> Need {
        self.uses += 1;
        let uses = self.uses;
        let Some(known) = self.programs.get_mut(command) else {
            return Need::About(guess(size));
        };
        known.last_use = uses;
        match known.too_large {
            Some(large) if size >= large.size && now < large.until => Need::TooMuch(large.needed),
            _ => Need::About(known.expected(size)),
        }
    }

    /// A call had this much at most.
    pub(super) fn learn(&mut self, command: &Command, size: usize, peak: u64) {
        let known = self.known(command);
        let before = &mut known.peaks[place(size)];
        // More is believed at once, less little by little: it may have been luck.
        *before = if peak >= *before {
            peak
        } else {
            *before - (*before - peak) / 4
        };
        if known.too_large.is_some_and(|large| size >= large.size) {
            known.too_large = None;
        }
    }

    /// A call ran alone and had more than there is.
    pub(super) fn outgrew(&mut self, command: &Command, size: usize, needed: u64, now: Instant) {
        let until = now + REFUSED_FOR;
        self.known(command).too_large = Some(TooLarge {
            size,
            needed,
            until,
        });
    }

    fn known(&mut self, command: &Command) -> &mut Past {
        if !self.programs.contains_key(command) {
            if self.programs.len() >= PROGRAMS {
                let oldest = self.programs.iter().min_by_key(|(_, known)| known.last_use);
                if let Some(oldest) = oldest.map(|(command, _)| command.clone()) {
                    self.programs.remove(&oldest);
                }
            }
            self.programs.insert(command.clone(), Past::default());
        }
        let uses = self.uses;
        let known = self.programs.get_mut(command).expect("was just inserted");
        known.last_use = uses;
        known
    }
}

impl Past {
    fn expected(&self, size: usize) -> u64 {
        let place = place(size);
        let known = |n: &usize| self.peaks[*n] > 0;
        let peak = if self.peaks[place] > 0 {
            self.peaks[place]
        } else if let Some(smaller) = (0..place).rev().find(known) {
            // Memory grows with the list, at most as it does.
            let scaled = self.peaks[smaller] << (place - smaller).min(SIZES);
            scaled.min(guess(size).max(self.peaks[smaller]))
        } else if let Some(larger) = (place..SIZES).find(known) {
            self.peaks[larger]
        } else {
            guess(size)
        };
        // No two runs are the same.
        (peak + peak / 8).max(LEAST)
    }
}

fn guess(size: usize) -> u64 {
    GUESS_BASE + GUESS_PER_BYTE * size as u64
}

fn place(size: usize) -> usize {
    let bits = size.max(1).ilog2().saturating_sub(SMALLEST) as usize;
    bits.min(SIZES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Environment;

    const MB: u64 = 1 << 20;
    const LIST: usize = 5 << 20;

    fn command(n: usize) -> Command {
        Command::new(format!("/{n}"), Environment::Minimal)
    }

    fn about(needs: &mut Needs, size: usize) -> u64 {
        match needs.of(&command(0), size, Instant::now()) {
            Need::About(need) => need,
            refused => panic!("{refused:?}"),
        }
    }

    #[test]
    fn the_unknown_is_guessed_by_its_list() {
        let mut needs = Needs::default();
        assert_eq!(about(&mut needs, 0), GUESS_BASE);
        assert_eq!(about(&mut needs, LIST), GUESS_BASE + 800 * MB);
    }

    #[test]
    fn more_is_believed_at_once_and_less_little_by_little() {
        let mut needs = Needs::default();
        for (peak, expected) in [(80, 90), (160, 180), (80, 157), (400, 450)] {
            needs.learn(&command(0), LIST, peak * MB);
            assert_eq!(about(&mut needs, LIST) / MB, expected);
        }
    }

    #[test]
    fn other_sizes_are_judged_by_the_nearest_known_one() {
        let mut needs = Needs::default();
        needs.learn(&command(0), LIST, 80 * MB);
        assert_eq!(about(&mut needs, 2 * LIST) / MB, 180);
        assert_eq!(about(&mut needs, 1000) / MB, 90);
    }

    #[test]
    fn what_could_not_fit_is_refused_for_lists_of_that_size_and_larger_for_a_while() {
        let mut needs = Needs::default();
        let now = Instant::now();
        needs.outgrew(&command(0), LIST, 900 * MB, now);
        for (size, later, refused) in [
            (LIST - 1, Duration::ZERO, false),
            (LIST, Duration::ZERO, true),
            (2 * LIST, Duration::ZERO, true),
            (LIST, REFUSED_FOR, false),
        ] {
            let need = needs.of(&command(0), size, now + later);
            assert_eq!(need == Need::TooMuch(900 * MB), refused, "{size} {later:?}");
        }
    }

    #[test]
    fn the_table_is_bounded_and_forgets_what_was_used_longest_ago() {
        let mut needs = Needs::default();
        for n in 0..PROGRAMS {
            needs.of(&command(n), LIST, Instant::now());
            needs.learn(&command(n), LIST, MB);
        }
        about(&mut needs, LIST);
        needs.learn(&command(PROGRAMS), LIST, MB);
        assert_eq!(needs.programs.len(), PROGRAMS);
        assert!(needs.programs.contains_key(&command(0)));
        assert!(!needs.programs.contains_key(&command(1)));
    }
}
