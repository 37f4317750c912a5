//! When to ask again: after transient errors, a few times, with growing pauses.

use std::time::Duration;

use super::FetchError;
use crate::jitter;

/// With two more attempts a registry has about a second to come back; if it needs
/// longer, the next caller asks it again.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A registry that wants a longer pause than this is as good as down.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The pause after the given number of failed attempts; `None`: give up.
pub(super) fn pause(failed: u32, error: &FetchError) -> Option<Duration> {
    if failed >= ATTEMPTS || !error.is_transient() {
        return None;
    }
    let pause = FIRST_PAUSE * 2_u32.pow(failed.saturating_sub(1));
    let wished = error.wished_pause().unwrap_or_default().max(pause);
    // Up to a half more, so that many do not come back as one.
    (wished <= LONGEST_PAUSE).then(|| wished + jitter::below(pause / 2))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::{super::AuthenticateError, *};

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
        let kept = pause(1, &unavailable(Some(2))).unwrap();
        assert!((2000..2100).contains(&kept.as_millis()), "{kept:?}");
        assert_eq!(pause(1, &unavailable(Some(3600))), None);
        let of_its_token_server = FetchError::Authenticate {
            registry: "r".into(),
            source: AuthenticateError::TokenServer(Box::new(unavailable(Some(3600)))),
        };
        assert_eq!(pause(1, &of_its_token_server), None);
    }

    #[test]
    fn what_will_not_change_is_not_asked_again() {
        let missing = FetchError::NoCommand { image: "x".into() };
        assert_eq!(pause(1, &missing), None);
    }
}
