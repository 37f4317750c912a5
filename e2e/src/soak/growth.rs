//! Did anything grow? What is left at rest, early and late, compared.
//!
//! Numbers under load say little: they follow the calls and faults of the moment. So each round
//! ends with a rest without callers, in which pods have gone after their time; what is there then
//! is what is kept for good. Of the rests since the warm-up the first third and the last third are
//! compared, by their medians: one odd rest decides nothing.

use std::fmt;
use std::time::Duration;

/// Growth that is allowed.
const PERCENT: u64 = 5;

/// A warm-up that leaves nothing to grow into: ten minutes, as in an hour's soak.
pub(crate) const FULL_WARM_UP: Duration = Duration::from_secs(600);

/// What is counted, in the order of a sample.
pub(crate) const MEASURES: [Measure; 6] = [
    // The allocator keeps some of what the last large list needed, for each thread.
    Measure::new("resident memory of its own, kB", 1024, 3072),
    // A connection to the API server or a registry that idles still, or no longer.
    Measure::new("descriptors", 3, 8),
    // One for each directory of a confined function that is used again, as many as ran at a time,
    // and at most 32; and those for blocking work.
    Measure::new("threads", 3, 12),
    Measure::new("pods", 0, 0),
    Measure::new("services", 0, 0),
    Measure::new("leases", 0, 0),
];

/// Something that may not grow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    /// By so much it may differ from one rest to another without having grown.
    slack: u64,
    /// The same after a shorter warm-up: what happens for the first time leaves something.
    early_slack: u64,
}

impl Measure {
    const fn new(name: &'static str, slack: u64, early_slack: u64) -> Self {
        Self {
            name,
            slack,
            early_slack,
        }
    }

    fn most(self, early: u64, is_warm: bool) -> u64 {
        let slack = if is_warm {
            self.slack
        } else {
            self.early_slack
        };
        early + (early * PERCENT / 100).max(slack)
    }
}

/// What was there at one rest.
pub(crate) type Sample = [u64; MEASURES.len()];

/// The rests since the warm-up, in order.
#[derive(Debug, Clone)]
pub(crate) struct Growth {
    is_warm: bool,
    samples: Vec<Sample>,
}

impl Growth {
    /// Of a soak with this warm-up.
    pub(crate) fn after(warm_up: Duration) -> Self {
        Self {
            is_warm: warm_up >= FULL_WARM_UP,
            samples: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Early and late, of each measure.
    fn compared(&self) -> impl Iterator<Item = (Measure, u64, u64)> {
        let third = (self.samples.len() / 3).max(1).min(self.samples.len());
        let (early, late) = (
            &self.samples[..third],
            &self.samples[self.samples.len() - third..],
        );
        MEASURES
            .into_iter()
            .enumerate()
            .map(move |(index, measure)| {
                let of = |samples: &[Sample]| median(samples.iter().map(|sample| sample[index]));
                (measure, of(early), of(late))
            })
    }

    /// What has grown, in words.
    pub(crate) fn grown(&self) -> Vec<String> {
        let has_grown = |(measure, early, late): &(Measure, u64, u64)| {
            *late > measure.most(*early, self.is_warm)
        };
        let told = |(measure, early, late): (Measure, u64, u64)| {
            let most = measure.most(early, self.is_warm);
            format!(
                "{}: from {early} to {late}, and {most} is the most",
                measure.name
            )
        };
        self.compared().filter(has_grown).map(told).collect()
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| at rest | early | late | at most | each rest |"
        )?;
        writeln!(formatter, "|---|---|---|---|---|")?;
        for (index, (measure, early, late)) in self.compared().enumerate() {
            let all: Vec<String> = self
                .samples
                .iter()
                .map(|it| it[index].to_string())
                .collect();
            let (name, most) = (measure.name, measure.most(early, self.is_warm));
            writeln!(
                formatter,
                "| {name} | {early} | {late} | {most} | {} |",
                all.join(" ")
            )?;
        }
        Ok(())
    }
}

/// The lower one of the two in the middle; 0 of nothing.
pub(crate) fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    let middle = sorted.len().saturating_sub(1) / 2;
    sorted.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(memory: &[u64], pods: &[u64]) -> Growth {
        let sample = |(memory, pods): (&u64, &u64)| [*memory, 40, 10, *pods, *pods, 2];
        Growth {
            is_warm: true,
            samples: memory.iter().zip(pods).map(sample).collect(),
        }
    }

    #[test]
    fn five_percent_more_is_no_growth_and_six_are() {
        let none = [0; 6];
        let steady = growth(
            &[100_000, 100_000, 99_000, 102_000, 105_000, 105_000],
            &none,
        );
        assert_eq!(steady.grown(), Vec::<String>::new());
        let leaking = growth(
            &[100_000, 100_000, 101_000, 104_000, 106_000, 106_000],
            &none,
        );
        let told = leaking.grown().join("\n");
        assert!(told.contains("memory"), "{told}");
        assert!(told.contains("from 100000 to 106000"), "{told}");
    }

    #[test]
    fn one_odd_rest_among_several_decides_nothing() {
        let memory = [
            30_000, 30_100, 30_050, 30_000, 30_000, 30_000, 30_100, 60_000, 30_000,
        ];
        assert_eq!(growth(&memory, &[0; 9]).grown(), Vec::<String>::new());
    }

    #[test]
    fn one_pod_that_stays_at_rest_is_growth() {
        let told = growth(&[30_000; 3], &[0, 0, 1]).grown().join("\n");
        assert!(told.contains("pods: from 0 to 1"), "{told}");
        assert!(told.contains("services"), "{told}");
    }

    #[test]
    fn a_thread_more_or_less_is_not_growth() {
        let mut growth = growth(&[30_000; 3], &[0; 3]);
        growth.samples[2][2] += 3;
        assert_eq!(growth.grown(), Vec::<String>::new());
        growth.samples[2][2] += 1;
        assert_eq!(growth.grown().len(), 1);
        // What happened for the first time after a short warm-up may have left it.
        growth.is_warm = false;
        assert_eq!(growth.grown(), Vec::<String>::new());
    }
}
