//! A bit of chance in pauses, so that those who failed together, or began
//! together, do not come back together.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

/// Some time below `most`, another one each time.
pub(crate) fn below(most: Duration) -> Duration {
    let thousandths = u32::try_from(RandomState::new().hash_one(()) % 1000).unwrap_or(0);
    most * thousandths / 1000
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
