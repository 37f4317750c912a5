//! How many processes to keep waiting, and when to start them: plain data in,
//! numbers out.

use std::time::{Duration, Instant};

/// What may be kept waiting.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most processes, over all programs; none: every call starts its own.
    pub count: usize,
    /// Most memory of their own, over all programs, in bytes.
    pub memory: u64,
    /// How long after a program's last call its processes are kept.
    pub idle: Duration,
    /// How many processors there are: there is no gain in more processes than can run.
    pub processors: usize,
}

/// How far back calls at the same time count.
const WINDOW: Duration = Duration::from_secs(10);

/// How a program is used: its calls under way, and the most of them lately.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    in_flight: usize,
    last_use: Instant,
    window_began: Instant,
    /// The most at the same time in this window and in the one before it.
    peak: usize,
    peak_before: usize,
}

impl Usage {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            in_flight: 0,
            last_use: now,
            window_began: now,
            peak: 0,
            peak_before: 0,
        }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        self.turn(now);
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
        self.last_use = now;
    }

    pub(super) fn end(&mut self, now: Instant) {
        self.turn(now);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last_use = now;
    }

    /// Goes on to the window that `now` is in. Over a longer pause the last peak
    /// stays: it is the best guess for the time until the program counts as idle.
    fn turn(&mut self, now: Instant) {
        if now.saturating_duration_since(self.window_began) >= WINDOW {
            self.peak_before = self.peak;
            self.peak = self.in_flight;
            self.window_began = now;
        }
    }

    fn recent_peak(&self) -> usize {
        self.peak.max(self.peak_before)
    }

    /// When the program counts as idle, if no call of it is under way.
    pub(super) fn idle_from(&self, idle: Duration) -> Option<Instant> {
        (self.in_flight == 0).then(|| self.last_use + idle)
    }
}

/// A program that may be started ahead.
#[derive(Debug)]
pub(super) struct Demand<'a> {
    pub(super) usage: &'a Usage,
    /// What a waiting process of it takes, as far as known.
    pub(super) memory: u64,
    /// It cannot be started ahead.
    pub(super) is_plain: bool,
}

/// How many processes of each program to keep: one for each call that was under
/// way at the same time lately, and one more, because the next call often comes
/// before a new process is ready. What was used last is served first.
pub(super) fn keep(demands: &[Demand<'_>], bounds: &Bounds, now: Instant) -> Vec<usize> {
    let mut latest: Vec<usize> = (0..demands.len()).collect();
    latest.sort_by_key(|n| std::cmp::Reverse(demands[*n].usage.last_use));
    let (mut count, mut memory) = (bounds.count, bounds.memory);
    let mut keep = vec![0; demands.len()];
    for n in latest {
        let demand = &demands[n];
        let is_idle = demand
            .usage
            .idle_from(bounds.idle)
            .is_some_and(|idle| now >= idle);
        if demand.is_plain || is_idle {
            continue;
        }
        let wanted = demand.usage.recent_peak().min(bounds.processors) + 1;
        let affordable = memory / demand.memory.max(1);
        keep[n] = wanted
            .min(count)
            .min(usize::try_from(affordable).unwrap_or(usize::MAX));
        count -= keep[n];
        memory -= demand.memory * keep[n] as u64;
    }
    keep
}

/// How many processes may be started ahead now: they get the processors that no
/// call needs.
pub(super) fn may_start(bounds: &Bounds, in_flight: usize, starting: usize) -> usize {
    bounds.processors.saturating_sub(in_flight + starting)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);

    const BOUNDS: Bounds = Bounds {
        count: 8,
        memory: 1000,
        idle: IDLE,
        processors: 4,
    };

    fn demand(usage: &Usage) -> Demand<'_> {
        Demand {
            usage,
            memory: 10,
            is_plain: false,
        }
    }

    /// A program that had `peak` calls at the same time, which ended at `now`.
    fn used(peak: usize, now: Instant) -> Usage {
        let mut usage = Usage::new(now);
        (0..peak).for_each(|_| usage.begin(now));
        (0..peak).for_each(|_| usage.end(now));
        usage
    }

    fn kept(usage: &Usage, now: Instant) -> usize {
        keep(&[demand(usage)], &BOUNDS, now)[0]
    }

    #[test]
    fn as_many_as_calls_at_the_same_time_and_one_more_but_not_more_than_can_run() {
        let now = Instant::now();
        let kept: Vec<usize> = [1, 2, 4, 30].map(|n| kept(&used(n, now), now)).into();
        assert_eq!(kept, [2, 3, 5, 5]);
    }

    #[test]
    fn none_once_the_program_was_idle_for_long_enough() {
        let now = Instant::now();
        let usage = used(1, now);
        assert_eq!(kept(&usage, now + IDLE - Duration::from_millis(1)), 2);
        assert_eq!(kept(&usage, now + IDLE), 0);
        let mut running = usage.clone();
        running.begin(now);
        assert_eq!(kept(&running, now + 10 * IDLE), 2);
    }

    #[test]
    fn a_peak_is_forgotten_after_two_windows_of_fewer_calls() {
        let mut now = Instant::now();
        let mut usage = used(3, now);
        for expected in [4, 4, 2] {
            assert_eq!(kept(&usage, now), expected);
            now += WINDOW;
            usage.begin(now);
            usage.end(now);
        }
    }

    #[test]
    fn the_program_used_last_is_served_first() {
        let now = Instant::now();
        let earlier = used(4, now);
        let later = used(4, now + Duration::from_secs(1));
        let keep = keep(&[demand(&earlier), demand(&later)], &BOUNDS, now);
        assert_eq!(keep, [3, 5]);
    }

    #[test]
    fn programs_that_cannot_be_started_ahead_get_none() {
        let now = Instant::now();
        let usage = used(1, now);
        let plain = Demand {
            is_plain: true,
            ..demand(&usage)
        };
        assert_eq!(keep(&[plain], &BOUNDS, now), [0]);
    }

    #[test]
    fn starts_leave_the_processors_to_calls() {
        assert_eq!(may_start(&BOUNDS, 0, 0), 4);
        assert_eq!(may_start(&BOUNDS, 1, 2), 1);
        assert_eq!(may_start(&BOUNDS, 16, 0), 0);
    }

    proptest! {
        #[test]
        fn the_bounds_hold_whatever_is_asked_for(
            programs in prop::collection::vec((0..40_usize, 0..200_u64, 0..2000_u64, any::<bool>()), 0..12),
            count in 0..20_usize,
            memory in 0..2000_u64,
            processors in 1..9_usize,
        ) {
            let begin = Instant::now();
            let usages: Vec<Usage> = programs
                .iter()
                .map(|(peak, at, ..)| used(*peak, begin + Duration::from_secs(*at)))
                .collect();
            let demands: Vec<Demand<'_>> = programs
                .iter()
                .zip(&usages)
                .map(|((_, _, memory, is_plain), usage)| Demand { usage, memory: *memory, is_plain: *is_plain })
                .collect();
            let bounds = Bounds { count, memory, processors, idle: IDLE };
            let now = begin + Duration::from_secs(200);
            let keep = keep(&demands, &bounds, now);
            prop_assert!(keep.iter().sum::<usize>() <= count);
            let used: u64 = keep.iter().zip(&demands).map(|(n, demand)| *n as u64 * demand.memory).sum();
            prop_assert!(used <= memory);
            for ((keep, demand), (_, at, ..)) in keep.iter().zip(&demands).zip(&programs) {
                prop_assert!(*keep <= processors + 1);
                prop_assert!(*keep == 0 || (!demand.is_plain && 200 - at < IDLE.as_secs()));
            }
        }
    }
}
