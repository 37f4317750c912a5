//! Functions on small lists run right where their call is served.
//!
//! That takes some microseconds; waking a thread and being woken by it takes more. But a thread
//! that serves calls must stay free: the attempt ends after a moment, and the function begins
//! anew on a thread of its own. The attempt has changed nothing but its own copy of the list.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use functions::{Clock, Ended, Late, catalog::Chosen};
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use super::Panicked;

/// Lists of up to this size are small: the slowest function needs less than a millisecond.
const SMALL: usize = 16 * 1024;
/// How long an attempt may take.
const MOMENT: Duration = Duration::from_millis(2);
/// How long all lists go to threads after a function has used more than half of a moment and
/// was not done. Some work, such as compiling an expression, does not look at the clock: it
/// should not happen often here. On a busy machine an attempt may be late because others ran
/// meanwhile; that says nothing about the next one.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct AtOnce {
    moment: Duration,
    /// The processor time that this thread has used.
    used: fn() -> Duration,
    began: Instant,
    /// Milliseconds after the beginning.
    paused_until: AtomicU64,
}

impl Default for AtOnce {
    fn default() -> Self {
        Self::within(MOMENT)
    }
}

impl AtOnce {
    fn within(moment: Duration) -> Self {
        Self {
            moment,
            used: processor_time,
            began: Instant::now(),
            paused_until: AtomicU64::new(0),
        }
    }

    /// Whether an attempt is worth it.
    pub(super) fn takes(&self, list: &[u8], deadline: Instant) -> bool {
        let now = Instant::now();
        list.len() <= SMALL && now + self.moment <= deadline && !self.is_paused(now)
    }

    /// What the function ends with; `None` if it has to run elsewhere.
    pub(super) fn run(
        &self,
        native: Chosen,
        list: &[u8],
    ) -> Option<Result<Result<Ended, Late>, Panicked>> {
        let begin = Instant::now();
        let used = (self.used)();
        let clock = Clock::until((begin + self.moment).into_std());
        let ended = catch_unwind(AssertUnwindSafe(|| native.run(list, &clock)));
        let is_late = matches!(ended, Ok(Err(Late))) || begin.elapsed() > self.moment;
        if is_late && (self.used)() - used > self.moment / 2 {
            self.pause(Instant::now());
        }
        match ended {
            Ok(Err(Late)) => None,
            Ok(Ok(ended)) => Some(Ok(Ok(ended))),
            Err(_) => Some(Err(Panicked)),
        }
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.since_began(now) < self.paused_until.load(Ordering::Relaxed)
    }

    fn pause(&self, now: Instant) {
        let until = self.since_began(now + PAUSE);
        self.paused_until.fetch_max(until, Ordering::Relaxed);
    }

    fn since_began(&self, now: Instant) -> u64 {
        let since = now.duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime)
        .try_into()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use functions::catalog;

    use super::*;

    const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: \
        v1\n  kind: ConfigMap\n  metadata:\n    name: a\nfunctionConfig:\n  apiVersion: v1\n  kind: \
        ConfigMap\n  metadata:\n    name: c\n  data:\n    namespace: prod\n";

    fn run(at_once: &AtOnce, list: &[u8], time: Duration) -> bool {
        let native = catalog::find("set-namespace").unwrap();
        if !at_once.takes(list, Instant::now() + time) {
            return false;
        }
        let ended = at_once.run(native, list);
        if let Some(ended) = &ended {
            let ended = ended.as_ref().unwrap().as_ref().unwrap();
            assert!(ended.stdout.contains("namespace: prod"), "{ended:?}");
        }
        ended.is_some()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn only_small_lists_run_where_calls_are_served_and_only_with_time_to_spare() {
        let at_once = AtOnce::within(LONG / 2);
        assert!(run(&at_once, LIST.as_bytes(), LONG));
        let large = LIST.replace("name: a", &format!("name: a{}", "b".repeat(SMALL)));
        assert!(!run(&at_once, large.as_bytes(), LONG));
        assert!(!run(&at_once, LIST.as_bytes(), LONG / 3));
    }

    #[tokio::test(start_paused = true)]
    async fn after_one_that_took_too_long_all_lists_go_to_threads_for_a_second() {
        let at_once = AtOnce::within(LONG);
        assert!(run(&at_once, LIST.as_bytes(), LONG));
        at_once.pause(Instant::now());
        assert!(!run(&at_once, LIST.as_bytes(), LONG));
        tokio::time::advance(PAUSE).await;
        assert!(run(&at_once, LIST.as_bytes(), LONG));
    }

    #[test]
    fn one_that_is_not_done_in_a_moment_is_left_to_a_thread() {
        let at_once = AtOnce::within(Duration::ZERO);
        assert!(!run(&at_once, LIST.as_bytes(), LONG));
        assert!(at_once.is_paused(Instant::now()));
    }

    #[test]
    fn one_that_was_late_because_others_ran_sends_nobody_to_threads() {
        let at_once = AtOnce {
            used: || Duration::from_secs(1),
            ..AtOnce::within(Duration::ZERO)
        };
        assert!(!run(&at_once, LIST.as_bytes(), LONG));
        assert!(!at_once.is_paused(Instant::now()));
    }
}
