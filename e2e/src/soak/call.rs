//! One call of a soak as plain data: which function, how large a list, how patient a caller. The
//! same seed, caller and number are the same call, in every run.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;

/// What a caller that waits gives a call: pods that start, two lost pods and an API server that is
/// away for a while fit in.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Function {
    /// Bundled, native: rewrites a field of each item.
    SetNamespace,
    /// Bundled, native: adds a field to each item.
    SetLabels,
    /// Bundled, native, with a configuration that it refuses.
    Misconfigured,
    /// Bundled, a program of its own beside the runner.
    Starlark,
    Executable(Script),
    Pod(Script),
}

/// What the soak's own functions do; each is an executable and an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Script {
    Quick,
    Slow,
    Failing,
    /// Like `Quick`, but called so seldom that its pod is often gone when it is called.
    Rare,
}

impl Script {
    pub(crate) const ALL: [Self; 4] = [Self::Quick, Self::Slow, Self::Failing, Self::Rare];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Slow => "slow",
            Self::Failing => "failing",
            Self::Rare => "rare",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::SetNamespace => "native set-namespace",
            Self::SetLabels => "native set-labels",
            Self::Misconfigured => "native misconfigured",
            Self::Starlark => "native starlark",
            Self::Executable(script) => return write!(formatter, "exec {}", script.name()),
            Self::Pod(script) => return write!(formatter, "pod {}", script.name()),
        };
        formatter.write_str(name)
    }
}

/// How long a caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until [`DEADLINE`], and an answer has to come.
    Full,
    /// Until a deadline that may be too short for this function.
    Short(Duration),
    /// Goes away without a word after this time.
    GivesUp(Duration),
}

/// A call, and the pause after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) function: Function,
    /// Items of the list, and bytes that fill each of them.
    pub(crate) items: usize,
    pub(crate) filler: usize,
    pub(crate) patience: Patience,
    /// Over a connection of its own.
    pub(crate) is_stranger: bool,
    pub(crate) pause: Duration,
}

/// The callers of a soak. Each has its own group of functions: one that waits for pods holds up
/// no native function.
pub(crate) const CALLERS: usize = 9;

impl Call {
    /// The call with this number of this caller.
    pub(crate) fn draw(seed: u64, caller: usize, number: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Generators with neighbouring seeds begin alike.
        let caller_seed = rng.u64(..) ^ Rng::with_seed(caller as u64).u64(..).rotate_left(17);
        let mut rng = Rng::with_seed(caller_seed ^ Rng::with_seed(number).u64(..).rotate_left(31));
        let function = function(&mut rng, caller);
        let (items, filler) = size(&mut rng);
        let patience = match rng.u32(..100) {
            0..84 => Patience::Full,
            84..92 => Patience::Short(Duration::from_millis(rng.u64(20..1500))),
            _ => Patience::GivesUp(Duration::from_millis(rng.u64(1..1500))),
        };
        Self {
            function,
            items,
            filler,
            patience,
            is_stranger: rng.u32(..100) < 10,
            pause: Duration::from_millis(rng.u64(20..300)),
        }
    }
}

fn function(rng: &mut Rng, caller: usize) -> Function {
    use Function::{Executable, Misconfigured, Pod, SetLabels, SetNamespace, Starlark};
    let chance = rng.u32(..100);
    match caller {
        0 | 1 => match chance {
            0..50 => SetNamespace,
            50..80 => SetLabels,
            80..90 => Misconfigured,
            _ => Starlark,
        },
        2 | 3 => match chance {
            0..65 => Executable(Script::Quick),
            65..80 => Executable(Script::Slow),
            80..97 => Executable(Script::Failing),
            _ => Executable(Script::Rare),
        },
        // Always under way: whatever happens to pods happens to this one.
        4 | 5 => Pod(Script::Slow),
        _ => match chance {
            0..70 => Pod(Script::Quick),
            70..82 => Pod(Script::Slow),
            82..98 => Pod(Script::Failing),
            _ => Pod(Script::Rare),
        },
    }
}

/// Mostly small, seldom of several megabytes, as packages are.
fn size(rng: &mut Rng) -> (usize, usize) {
    match rng.u32(..100) {
        0..80 => (rng.usize(1..4), rng.usize(1..100)),
        80..95 => (rng.usize(10..100), rng.usize(100..500)),
        95..99 => (300, 3000),
        _ => (900, 4000),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_seed_caller_and_number_are_the_same_call() {
        for (caller, number) in [(0, 0), (3, 17), (8, 4_000_001)] {
            assert_eq!(Call::draw(7, caller, number), Call::draw(7, caller, number));
        }
        let calls = |seed, caller| {
            let draw = |number| format!("{:?}", Call::draw(seed, caller, number));
            (0..50).map(draw).collect::<Vec<_>>()
        };
        assert_ne!(calls(7, 6), calls(8, 6), "another seed");
        assert_ne!(calls(7, 6), calls(7, 7), "another caller");
    }

    #[test]
    fn a_few_hundred_calls_are_of_every_kind() {
        let mut functions = HashSet::new();
        let mut kinds = HashSet::new();
        for caller in 0..CALLERS {
            for number in 0..300 {
                let call = Call::draw(1, caller, number);
                functions.insert(call.function);
                kinds.insert(std::mem::discriminant(&call.patience));
                assert!(call.items * call.filler < 5_000_000, "it fits a message");
            }
        }
        assert_eq!(functions.len(), 4 + 2 * Script::ALL.len(), "{functions:?}");
        assert_eq!(kinds.len(), 3);
    }
}
