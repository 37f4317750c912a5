//! Pauses between attempts to watch. Without a watch the runner does not see that a new
//! pod is ready, so after a short outage of the API server it has to watch again within
//! seconds; but in a long outage many runners must not hammer the API server.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(200);

/// The longest pause of a trouble that has just begun, and how long that counts.
const LONGEST_AT_FIRST: Duration = Duration::from_secs(3);
const AT_FIRST: Duration = Duration::from_secs(60);

/// The longest pause of any trouble: fifty runners with two watches each are some ten
/// requests per second.
const LONGEST: Duration = Duration::from_secs(10);

/// A failure this long after the one before is a trouble of its own. A list that
/// works says nothing: the watch after it may fail each time.
const SUSTAINED: Duration = Duration::from_secs(60);

/// The trouble that lasts, if there is one.
#[derive(Debug, Default)]
pub(super) struct Pauses(Option<Trouble>);

#[derive(Debug, Clone, Copy)]
struct Trouble {
    began: Instant,
    last: Instant,
    pause: Duration,
}

impl Pauses {
    /// How long to wait after a failure: each time twice as long, up to the longest.
    pub(super) fn after_failure(&mut self, now: Instant) -> Duration {
        let lasting = self.0.filter(|trouble| now - trouble.last < SUSTAINED);
        let trouble = match lasting {
            None => Trouble {
                began: now,
                last: now,
                pause: FIRST,
            },
            Some(Trouble { began, pause, .. }) => {
                let is_new = now - began < AT_FIRST;
                let longest = if is_new { LONGEST_AT_FIRST } else { LONGEST };
                Trouble {
                    began,
                    last: now,
                    pause: (pause * 2).min(longest),
                }
            }
        };
        self.0 = Some(trouble);
        trouble.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_slowly_at_first_and_begin_anew_after_a_sustained_watch() {
        let mut pauses = Pauses::default();
        let begin = Instant::now();
        let mut now = begin;
        let (mut early, mut late) = (Duration::ZERO, Duration::ZERO);
        while now - begin < 4 * AT_FIRST {
            let pause = pauses.after_failure(now);
            let longest = if now - begin < AT_FIRST {
                &mut early
            } else {
                &mut late
            };
            *longest = pause.max(*longest);
            now += pause;
        }
        assert_eq!((early, late), (LONGEST_AT_FIRST, LONGEST));
        assert_eq!(pauses.after_failure(now + SUSTAINED / 2), LONGEST, "flaps");
        assert_eq!(pauses.after_failure(now + 2 * SUSTAINED), FIRST);
    }
}
