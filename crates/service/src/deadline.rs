//! When a call has to be answered.

use std::time::Duration;

use tokio::time::Instant;
use tonic::metadata::MetadataMap;

/// The part of the caller's time that is kept for the answer's way back, so that
/// it hears what happened instead of only seeing its time run out.
const SHARE_FOR_THE_ANSWER: u32 = 20;
const MOST_FOR_THE_ANSWER: Duration = Duration::from_millis(100);

/// The deadline that the caller sent, less the time for the answer, or `default`
/// from now. A header that cannot be read counts as none.
pub(crate) fn deadline(metadata: &MetadataMap, default: Duration) -> Instant {
    let sent = metadata
        .get("grpc-timeout")
        .and_then(|value| timeout(value.to_str().ok()?));
    let time = sent.map_or(default, |sent| {
        sent - (sent / SHARE_FOR_THE_ANSWER).min(MOST_FOR_THE_ANSWER)
    });
    let now = Instant::now();
    // The protocol can say 11,000 years; a clock cannot always count that far.
    now.checked_add(time)
        .unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}

/// Reads a `grpc-timeout`: up to eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(header: Option<&str>) -> Duration {
        let mut metadata = MetadataMap::new();
        if let Some(header) = header {
            metadata.insert("grpc-timeout", header.parse().unwrap());
        }
        deadline(&metadata, Duration::from_secs(300)) - Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_is_due_shortly_before_the_callers_time_is_up() {
        assert_eq!(left(Some("10S")), Duration::from_millis(9900));
        assert_eq!(left(Some("1000m")), Duration::from_millis(950));
        assert_eq!(left(Some("1H")), Duration::from_millis(3_599_900));
        assert_eq!(left(Some("100000u")), Duration::from_millis(95));
        assert!(left(Some("99999999H")) > Duration::from_secs(3600));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_readable_deadline_the_default_holds() {
        for header in [
            None,
            Some(""),
            Some("S"),
            Some("123456789S"),
            Some("1x"),
            Some("-1S"),
        ] {
            assert_eq!(left(header), Duration::from_secs(300), "{header:?}");
        }
    }
}
