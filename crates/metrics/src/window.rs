//! The last five minutes of a function: how many calls, how many errors, how long.
//!
//! A ring of slots, each with its own fine histogram. The oldest slot is reused for the
//! current time, so a window never grows, and without calls it becomes empty by itself.

use std::{array, time::Duration};

use parking_lot::Mutex;

/// How many slots there are, and how long each of them is.
pub(crate) const SLOTS: usize = 20;
pub(crate) const SLOT: Duration = Duration::from_secs(15);

/// Buckets per doubling: the middle of one is less than 12 % off.
const FINE: u32 = 4;
/// The first bucket's upper bound is 2 to this power, in nanoseconds: 66 microseconds.
const FIRST: u32 = 16;
/// The last bounded bucket ends at 2 to this power: nine minutes.
const LAST: u32 = 39;
const BUCKETS: usize = ((LAST - FIRST) * FINE + 2) as usize;

/// What happened lately.
#[derive(Debug, Default)]
pub(crate) struct Window(Mutex<Option<Box<[Slot; SLOTS]>>>);

#[derive(Debug, Clone)]
struct Slot {
    /// Which of all slots since the beginning it is.
    number: u64,
    errors: u32,
    counts: [u32; BUCKETS],
}

/// A window, summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    pub calls: u64,
    pub errors: u64,
    /// `None` if there were no calls.
    pub p50: Option<Duration>,
    pub p95: Option<Duration>,
    pub p99: Option<Duration>,
    /// Calls and errors in each slot, the oldest first.
    pub chart: [(u64, u64); SLOTS],
}

impl Window {
    /// A call has ended, at this time since the beginning.
    pub(crate) fn add(&self, now: Duration, took: Duration, is_error: bool) {
        let number = number(now);
        let mut ring = self.0.lock();
        // Only functions that are called take the memory.
        let ring = ring.get_or_insert_with(|| Box::new(array::from_fn(|_| Slot::new(0))));
        let slot = &mut ring[at(number)];
        if slot.number != number {
            *slot = Slot::new(number);
        }
        slot.errors = slot.errors.saturating_add(is_error.into());
        let count = &mut slot.counts[bucket(took)];
        *count = count.saturating_add(1);
    }

    pub(crate) fn glance(&self, now: Duration) -> Glance {
        let newest = number(now);
        let oldest = newest.saturating_sub(SLOTS as u64 - 1);
        let mut counts = [0_u64; BUCKETS];
        let mut chart = [(0, 0); SLOTS];
        let ring = self.0.lock();
        let slots = ring.iter().flat_map(|ring| ring.iter());
        for slot in slots.filter(|slot| (oldest..=newest).contains(&slot.number)) {
            let mut calls = 0;
            for (sum, count) in counts.iter_mut().zip(slot.counts) {
                *sum += u64::from(count);
                calls += u64::from(count);
            }
            let age = usize::try_from(newest - slot.number).unwrap_or(0);
            chart[SLOTS - 1 - age] = (calls, slot.errors.into());
        }
        drop(ring);
        Glance {
            calls: chart.iter().map(|(calls, _)| calls).sum(),
            errors: chart.iter().map(|(_, errors)| errors).sum(),
            p50: quantile(&counts, 50),
            p95: quantile(&counts, 95),
            p99: quantile(&counts, 99),
            chart,
        }
    }
}

impl Slot {
    fn new(number: u64) -> Self {
        Self {
            number,
            errors: 0,
            counts: [0; BUCKETS],
        }
    }
}

/// The slots count from one, so that an empty one is never mistaken for the first.
fn number(now: Duration) -> u64 {
    now.as_secs() / SLOT.as_secs() + 1
}

fn at(number: u64) -> usize {
    usize::try_from(number % SLOTS as u64).unwrap_or(0)
}

/// By the highest bit, and the two bits below it.
fn bucket(took: Duration) -> usize {
    let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    if nanos < 1 << FIRST {
        return 0;
    }
    let power = nanos.ilog2();
    let part = (nanos >> (power - FINE.ilog2())) & u64::from(FINE - 1);
    let index = (power - FIRST) * FINE + u32::try_from(part).unwrap_or(0) + 1;
    (index as usize).min(BUCKETS - 1)
}

/// Where a bucket begins, in nanoseconds.
fn begin(bucket: usize) -> u64 {
    let Some(index) = bucket.checked_sub(1) else {
        return 0;
    };
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let base = 1_u64 << (FIRST + index / FINE);
    base + base / u64::from(FINE) * u64::from(index % FINE)
}

/// The time within which this percentage of calls have ended.
fn quantile(counts: &[u64; BUCKETS], percent: u64) -> Option<Duration> {
    let calls: u64 = counts.iter().sum();
    let rank = (calls * percent).div_ceil(100).max(1);
    let mut before = 0;
    for (bucket, count) in counts.iter().enumerate() {
        if before + count >= rank {
            // As if the bucket's calls lay evenly between its ends.
            let (from, to) = (begin(bucket), begin(bucket + 1));
            let nanos = from + (to - from) * (rank - before) / (count + 1);
            return Some(Duration::from_nanos(nanos));
        }
        before += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn minutes(count: u64) -> Duration {
        Duration::from_secs(60 * count)
    }

    #[test]
    fn every_time_lies_between_the_ends_of_its_bucket() {
        for nanos in (0..40).map(|power| 3_u64 << power) {
            let bucket = bucket(Duration::from_nanos(nanos));
            assert!(begin(bucket) <= nanos, "{nanos}");
            assert!(
                bucket == BUCKETS - 1 || nanos < begin(bucket + 1),
                "{nanos}"
            );
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_right_within_a_tenth() {
        let window = Window::default();
        for count in 1..=1000 {
            window.add(minutes(1), ms(count), count > 990);
        }
        let glance = window.glance(minutes(1));
        assert_eq!((glance.calls, glance.errors), (1000, 10));
        for (found, expected) in [(glance.p50, 500), (glance.p95, 950), (glance.p99, 990)] {
            let found = found.unwrap();
            let off = found.abs_diff(ms(expected));
            assert!(
                off < ms(expected) / 10,
                "{found:?} instead of {expected} ms"
            );
        }
    }

    #[test]
    fn what_is_older_than_five_minutes_is_forgotten() {
        let window = Window::default();
        window.add(minutes(0), ms(1), true);
        window.add(minutes(4), ms(100), false);
        assert_eq!(window.glance(minutes(4)).calls, 2);
        let later = window.glance(minutes(6));
        assert_eq!((later.calls, later.errors), (1, 0));
        assert_eq!(
            later.chart.iter().filter(|(calls, _)| *calls > 0).count(),
            1
        );
        let gone = window.glance(minutes(60));
        assert_eq!((gone.calls, gone.p50), (0, None));
    }
}
