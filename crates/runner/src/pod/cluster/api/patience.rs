//! How long a request waits for its answer. An API server that has much to do answers late, and works
//! off what was given up as well, so giving up early doubles its work. What one request has learned
//! holds for all.

use std::time::Duration;

use tokio::time::Instant;

/// While nothing is known to be late: after this time another attempt is better, because the connection
/// may be dead.
const USUAL: Duration = Duration::from_secs(10);

/// The API server's own limit for such requests.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a late answer, or one that did not come, is remembered.
const MEMORY: Duration = Duration::from_secs(60);

/// Twice the longest wait that is remembered.
#[derive(Debug)]
pub(super) struct Patience {
    longest: Duration,
    at: Instant,
}

impl Patience {
    pub(super) fn new(now: Instant) -> Self {
        let longest = Duration::ZERO;
        Self { longest, at: now }
    }

    /// A request has waited for so long, in vain or not.
    pub(super) fn hear(&mut self, waited: Duration, now: Instant) {
        if waited >= self.longest || self.is_over(now) {
            (self.longest, self.at) = (waited, now);
        }
    }

    pub(super) fn now(&self, now: Instant) -> Duration {
        if self.is_over(now) {
            return USUAL;
        }
        (self.longest * 2).clamp(USUAL, LONGEST)
    }

    fn is_over(&self, now: Instant) -> bool {
        now - self.at >= MEMORY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_comes_after_a_late_answer_waits_for_longer_until_that_is_a_minute_ago() {
        let begin = Instant::now();
        let mut patience = Patience::new(begin);
        assert_eq!(patience.now(begin), USUAL);
        patience.hear(3 * SECOND, begin);
        assert_eq!(patience.now(begin), USUAL);
        for (waited, next) in [(10, 20), (20, 40), (40, 60), (60, 60)] {
            patience.hear(waited * SECOND, begin);
            assert_eq!(patience.now(begin), next * SECOND);
        }
        let later = begin + MEMORY / 2;
        patience.hear(12 * SECOND, later);
        assert_eq!(patience.now(later), LONGEST, "the longest counts");
        let much_later = begin + MEMORY;
        assert_eq!(patience.now(much_later), USUAL);
        patience.hear(12 * SECOND, much_later);
        assert_eq!(patience.now(much_later), 24 * SECOND);
    }
}
