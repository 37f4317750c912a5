//! Numbers as people read them.

use std::time::Duration;

/// With two or three digits and a unit.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0 if seconds < 0.001 => format!("{:.0} µs", seconds * 1e6),
        0 if seconds < 0.01 => format!("{:.1} ms", seconds * 1e3),
        0 => format!("{:.0} ms", seconds * 1e3),
        1..10 => format!("{seconds:.1} s"),
        10..120 => format!("{seconds:.0} s"),
        120..7200 => format!("{} min", time.as_secs() / 60),
        7200..172_800 => format!("{} h", time.as_secs() / 3600),
        _ => format!("{} days", time.as_secs() / 86_400),
    }
}

/// Whole seconds.
pub(crate) fn whole(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => duration(Duration::from_secs(seconds)),
    }
}

/// How long ago something was.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0 => "just now".to_owned(),
        _ => format!("{} ago", whole(seconds)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with three digits")]
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{count} B"),
        _ if value < 10.0 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// A part of a whole, in percent.
#[expect(clippy::cast_precision_loss, reason = "it is shown with three digits")]
pub(crate) fn percent(part: u64, of: u64) -> String {
    if part == 0 || of == 0 {
        return "0 %".to_owned();
    }
    let percent = part as f64 * 100.0 / of as f64;
    match percent {
        _ if percent < 0.1 => "< 0.1 %".to_owned(),
        _ if percent < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_a_unit() {
        for (nanos, expected) in [
            (85_000, "85 µs"),
            (1_240_000, "1.2 ms"),
            (345_600_000, "346 ms"),
            (2_500_000_000, "2.5 s"),
            (300_000_000_000, "5 min"),
            (90_000_000_000_000, "25 h"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanos)), expected);
        }
        for (count, expected) in [(0, "0 B"), (1536, "1.5 KiB"), (64 << 20, "64 MiB")] {
            assert_eq!(bytes(count), expected);
        }
        for (part, of, expected) in [
            (0, 0, "0 %"),
            (1, 100_000, "< 0.1 %"),
            (1, 40, "2.5 %"),
            (1, 1, "100 %"),
        ] {
            assert_eq!(percent(part, of), expected);
        }
    }
}
