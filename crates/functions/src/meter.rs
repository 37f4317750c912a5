//! What a run may use: time until its deadline, and a budget of bytes.
//!
//! Both reach every loop. The tree's own code charges the meter of the run on
//! this thread wherever nodes or text are made: parsing, copying, writing.
//! Code that makes text by other means charges it, too ([`charge`], [`replaced`]), and so
//! do regular expressions ([`crate::expression`]), which also read the clock ([`look`]).
//! Once a run is over it stays over: deep code may return early with an incomplete
//! result, because [`crate::function::run`] asks the meter before it uses a result.

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::function::Stop;

/// Every run may use this much, and [`BYTES_PER_BYTE`] times its list.
const BYTES: usize = 60 << 20;
const BYTES_PER_BYTE: usize = 18;
/// How much may be charged before the clock is read again: some microseconds of
/// work.
const BYTES_PER_LOOK: usize = 64 << 10;
/// What a node costs: itself, and its part of what its parent has in reserve.
pub(crate) const NODE: usize = 96;

/// When a run has to end.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
    is_bounded_elsewhere: bool,
}

impl Clock {
    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..Self::default()
        }
    }

    /// For a run whose process has limits of its own: no budget of bytes.
    pub fn of_a_bounded_process() -> Self {
        Self {
            is_bounded_elsewhere: true,
            ..Self::default()
        }
    }

    /// Ends the run now, from whichever thread.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// `Err` if the run has to end, for whichever reason. For loops that may go
    /// on for long without making anything.
    pub fn check(&self) -> Result<(), Stop> {
        check()?;
        if self.is_late() {
            return Err(Stop::Late);
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

thread_local! {
    static METER: Meter = const {
        Meter {
            left: Cell::new(usize::MAX),
            next_look: Cell::new(0),
            over: Cell::new(None),
        }
    };
    static CLOCK: RefCell<Clock> = RefCell::default();
}

/// In one piece: it is asked for at every node.
struct Meter {
    left: Cell<usize>,
    /// What of `left` is left when the clock is read next.
    next_look: Cell<usize>,
    over: Cell<Option<Over>>,
}

#[derive(Clone, Copy)]
enum Over {
    Late,
    Spent,
}

/// Meters what `run` does on this thread, for a list of so many bytes. Runs do not
/// nest.
pub(crate) fn metered<T>(clock: &Clock, list: usize, run: impl FnOnce() -> T) -> T {
    /// Lifts the limits, also if the function panics.
    struct Unmetered;
    impl Drop for Unmetered {
        fn drop(&mut self) {
            METER.with(|meter| meter.set(usize::MAX, 0));
            CLOCK.take();
        }
    }
    let budget = if clock.is_bounded_elsewhere {
        usize::MAX
    } else {
        BYTES.saturating_add(list.saturating_mul(BYTES_PER_BYTE))
    };
    METER.with(|meter| meter.set(budget, budget));
    CLOCK.replace(clock.clone());
    let _unmetered = Unmetered;
    run()
}

/// Counts bytes that are being made. Returns whether the run may go on.
#[inline]
pub(crate) fn charge(bytes: usize) -> bool {
    METER.with(|meter| meter.charge(bytes))
}

/// Reads the clock, where something takes long and makes nothing. Returns whether the run
/// may go on.
pub(crate) fn look() -> bool {
    METER.with(|meter| meter.look(meter.left.get()))
}

impl Meter {
    fn set(&self, left: usize, next_look: usize) {
        self.left.set(left);
        self.next_look.set(next_look);
        self.over.set(None);
    }

    #[inline]
    fn charge(&self, bytes: usize) -> bool {
        let Some(rest) = self.left.get().checked_sub(bytes) else {
            return self.spent();
        };
        self.left.set(rest);
        if rest < self.next_look.get() {
            return self.look(rest);
        }
        self.over.get().is_none()
    }

    #[cold]
    fn spent(&self) -> bool {
        if self.over.get().is_none() {
            self.over.set(Some(Over::Spent));
        }
        false
    }

    #[cold]
    fn look(&self, rest: usize) -> bool {
        self.next_look.set(rest.saturating_sub(BYTES_PER_LOOK));
        if self.over.get().is_none() && CLOCK.with_borrow(Clock::is_late) {
            self.over.set(Some(Over::Late));
        }
        self.over.get().is_none()
    }
}

/// `Err` once the run is over: too much was charged, or the clock was found late.
pub(crate) fn check() -> Result<(), Stop> {
    match METER.with(|meter| meter.over.get()) {
        None => Ok(()),
        Some(Over::Late) => Err(Stop::Late),
        Some(Over::Spent) => Err(Stop::Spent),
    }
}

/// `text` with every `from` replaced, unless that is more than may be made.
pub(crate) fn replaced(text: &str, from: &str, to: &str) -> Result<String, Stop> {
    if !text.contains(from) {
        return Ok(text.to_owned());
    }
    let count = text.matches(from).count();
    charge((text.len() + count * to.len()).saturating_sub(count * from.len()));
    check()?;
    Ok(text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_has_used_its_bytes_is_over_for_good() {
        metered(&Clock::default(), 1, || {
            assert!(charge(BYTES));
            assert!(!charge(BYTES_PER_BYTE + 1));
            assert!(!charge(0));
            assert_eq!(check(), Err(Stop::Spent));
        });
        assert!(charge(usize::MAX >> 1), "limits end with the run");
    }

    #[test]
    fn a_cancelled_run_ends_when_it_makes_something() {
        let clock = Clock::default();
        metered(&clock, 0, || {
            assert!(charge(1));
            clock.cancel();
            charge(BYTES_PER_LOOK + 1);
            assert_eq!(check(), Err(Stop::Late));
        });
    }

    #[test]
    fn replaced_text_is_refused_before_it_is_made() {
        let text = "x".repeat(1 << 20);
        let told = metered(&Clock::default(), 0, || replaced(&text, "x", &text));
        assert_eq!(told, Err(Stop::Spent));
        assert_eq!(replaced("a-a", "a", "bc"), Ok("bc-bc".into()));
    }
}
