//! How large everything is, and which runner serves which functions.

use std::time::Duration;

use anyhow::{Result, ensure};

/// How many of everything, and how long things last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub runners: usize,
    pub functions: usize,
    /// Of all runners together, one for each function that a runner serves.
    pub pods: usize,
    pub outage: Duration,
    /// For how long nobody calls while requests are counted. Watches are renewed every 30 s.
    pub rest: Duration,
    /// For how long everybody calls.
    pub load: Duration,
    /// How long each kind of trouble lasts.
    pub trouble: Duration,
    /// Calls, and events, of which the mean is taken.
    pub samples: usize,
    /// Whether calls, events and troubles are measured, besides what happens to pods.
    pub has_costs: bool,
}

impl Size {
    /// What the figures of docs/scale.md were measured with.
    pub const FULL: Self = Self {
        runners: 20,
        functions: 1_000,
        pods: 5_000,
        outage: Duration::from_secs(120),
        rest: Duration::from_secs(60),
        load: Duration::from_secs(60),
        trouble: Duration::from_secs(10),
        samples: 400,
        has_costs: true,
    };

    /// Every chapter, as short as it still says something.
    pub const SMALL: Self = Self {
        runners: 4,
        functions: 40,
        pods: 80,
        outage: Duration::from_secs(10),
        rest: Duration::from_secs(30),
        load: Duration::from_secs(5),
        trouble: Duration::from_secs(4),
        samples: 100,
        has_costs: true,
    };

    pub fn check(&self) -> Result<()> {
        ensure!(self.runners >= 3, "--runners: at least 3 share pods out");
        let share = self.share();
        ensure!(
            share * self.runners == self.pods && (4..=self.functions).contains(&share),
            "--pods has to be a multiple of --runners, and each runner serves between 4 and all \
             functions: {} pods of {} runners and {} functions do not fit",
            self.pods,
            self.runners,
            self.functions
        );
        Ok(())
    }

    /// How many functions each runner serves.
    pub(super) fn share(&self) -> usize {
        self.pods / self.runners.max(1)
    }

    /// The functions of a runner, by their numbers. Neighbours begin where the one before ends, so
    /// every function is served by about as many runners as any other.
    pub(super) fn functions_of(&self, runner: usize) -> Vec<usize> {
        let first = runner * self.share();
        let numbers = first..first + self.share();
        numbers.map(|number| number % self.functions).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_served_by_as_many_runners_as_any_other() {
        for size in [Size::FULL, Size::SMALL] {
            size.check().unwrap();
            let mut served = vec![0; size.functions];
            for runner in 0..size.runners {
                for function in size.functions_of(runner) {
                    served[function] += 1;
                }
            }
            assert!(
                served
                    .iter()
                    .all(|count| *count == size.pods / size.functions)
            );
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let uneven = Size {
            pods: 81,
            ..Size::SMALL
        };
        assert!(uneven.check().is_err());
        let crowded = Size {
            pods: 4 * 41,
            ..Size::SMALL
        };
        assert!(
            crowded.check().is_err(),
            "more than one pod for a function of a runner"
        );
    }
}
