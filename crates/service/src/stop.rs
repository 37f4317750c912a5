//! How long a stop may take, stage by stage. A supervisor that
//! kills the process after some time, as Kubernetes does, has to wait for longer than the sum.

use std::time::Duration;

/// How long connections may take to end once the last answer has left: those
/// with an endless stream on them (a health watch) never close by themselves.
/// Part of the drain.
pub(crate) const CONNECTIONS_END_WITHIN: Duration = Duration::from_secs(2);

/// How long functions that were killed at the end get to be gone.
const FUNCTIONS_GONE_WITHIN: Duration = Duration::from_secs(1);

/// The stages of a server's stop, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stages {
    /// After SIGTERM: health says "not serving", but new calls are still served.
    pub lame_duck: Duration,
    /// No new connections; calls in flight finish and their answers leave.
    pub drain: Duration,
    /// Functions that still run are killed.
    pub functions_gone: Duration,
}

impl Stages {
    /// Calls get `drain_timeout` in all, counted from the signal: being a lame
    /// duck is a part of that, at its beginning.
    pub fn new(lame_duck: Duration, drain_timeout: Duration) -> Self {
        let lame_duck = lame_duck.min(drain_timeout);
        Self {
            lame_duck,
            drain: drain_timeout - lame_duck,
            functions_gone: FUNCTIONS_GONE_WITHIN,
        }
    }

    /// Nobody is waiting for news of our end: after SIGINT, somebody at a
    /// terminal does.
    #[must_use]
    pub(crate) fn without_lame_duck(self) -> Self {
        Self {
            lame_duck: Duration::ZERO,
            drain: self.drain + self.lame_duck,
            ..self
        }
    }

    /// The longest that all of it may take.
    pub fn sum(&self) -> Duration {
        self.lame_duck + self.drain + self.functions_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_lame_duck_is_a_part_of_the_drain() {
        let stages = Stages::new(3 * SECOND, 25 * SECOND);
        assert_eq!((stages.lame_duck, stages.drain), (3 * SECOND, 22 * SECOND));
        assert_eq!(stages.sum(), 26 * SECOND);
        let interrupted = stages.without_lame_duck();
        assert_eq!(interrupted.drain, 25 * SECOND);
        assert_eq!(interrupted.sum(), stages.sum());
        assert_eq!(Stages::new(9 * SECOND, SECOND).sum(), 2 * SECOND);
    }
}
