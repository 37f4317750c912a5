//! Random variation of pauses, so that tasks that failed or began together do not come
//! back together.

use std::time::Duration;

/// Some time below `most`, another one each time.
pub(crate) fn below(most: Duration) -> Duration {
    most.mul_f32(fastrand::f32())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn many_pauses_differ_and_none_is_too_long() {
        let most = Duration::from_secs(10);
        let pauses: HashSet<Duration> = (0..100).map(|_| below(most)).collect();
        assert!(pauses.iter().all(|pause| *pause < most));
        assert!(pauses.len() > 50, "only {} different ones", pauses.len());
        assert_eq!(below(Duration::ZERO), Duration::ZERO);
    }
}
