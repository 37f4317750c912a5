//! When to ask again: after what may pass, a few times, with growing pauses.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use super::FetchError;

/// With two more attempts a registry has about a second to come back; who needs
/// longer is asked by the next caller.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A registry that wants a longer pause than this is as good as down.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The pause after the given number of failed attempts; `None`: give up.
pub(super) fn pause(failed: u32, error: &FetchError) -> Option<Duration> {
    if failed >= ATTEMPTS || !error.is_transient() {
        return None;
    }
    let wished = match error {
        FetchError::Unavailable { retry_after, .. } => *retry_after,
        _ => None,
    };
    let pause = FIRST_PAUSE * 2_u32.pow(failed.saturating_sub(1));
    // Up to a half more, so that many runners do not come back as one.
    let percent = u32::try_from(RandomState::new().hash_one(failed) % 50).unwrap_or(0);
    let pause = pause + pause * percent / 100;
    Some(wished.map_or(pause, |wished| wished.max(pause))).filter(|pause| *pause <= LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn unavailable(retry_after: Option<u64>) -> FetchError {
        FetchError::Unavailable {
            url: "u".into(),
            status: StatusCode::TOO_MANY_REQUESTS,
            told: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn pauses_grow_and_end() {
        let pause = |failed| pause(failed, &unavailable(None)).map(|pause| pause.as_millis());
        assert!((200..300).contains(&pause(1).unwrap()));
        assert!((400..600).contains(&pause(2).unwrap()));
        assert_eq!(pause(3), None);
    }

    #[test]
    fn a_registrys_wish_is_respected_within_reason() {
        assert_eq!(
            pause(1, &unavailable(Some(2))),
            Some(Duration::from_secs(2))
        );
        assert_eq!(pause(1, &unavailable(Some(3600))), None);
    }

    #[test]
    fn what_will_not_change_is_not_asked_again() {
        let missing = FetchError::NoCommand { image: "x".into() };
        assert_eq!(pause(1, &missing), None);
    }
}
