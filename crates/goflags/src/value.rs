//! Values as Go writes them. Each function fails with what it would have accepted.

use std::{str::FromStr, time::Duration};

/// Go's spellings of a boolean.
pub fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("true or false (or 1, t, T, TRUE, True, 0, f, F, FALSE, False)"),
    }
}

/// A decimal number of the type asked for.
pub fn number<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "a whole number within range")
}

/// 0 lets the system choose.
pub fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "a port from 0 to 65535")
}

/// How large a gRPC message may be. A limit of nothing would refuse every call.
pub fn message_size(text: &str) -> Result<usize, &'static str> {
    match text.parse::<u32>() {
        Ok(bytes) if bytes > 0 && bytes <= i32::MAX as u32 => Ok(bytes as usize),
        _ => Err("a number of bytes from 1 to 2147483647"),
    }
}

const QUANTITY: &str = "a number of bytes, or a Kubernetes quantity such as 512Mi, 2Gi or 1.5G";

/// A number of bytes as Kubernetes writes it. Fractions of a byte are cut.
pub fn quantity(text: &str) -> Result<u64, &'static str> {
    let end = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let unit = unit_bytes(suffix).ok_or(QUANTITY)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_number(fraction) {
        return Err(QUANTITY);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let whole: u64 = whole.parse().map_err(|_| QUANTITY)?;
    whole
        .checked_mul(unit)
        .and_then(|bytes| bytes.checked_add(fraction_of(fraction, unit)))
        .ok_or(QUANTITY)
}

fn unit_bytes(suffix: &str) -> Option<u64> {
    const BINARY: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: &[&str] = &["", "k", "M", "G", "T", "P", "E"];
    let power = |suffixes: &[&str], base: u64| {
        let exponent = suffixes.iter().position(|s| *s == suffix)?;
        base.checked_pow(u32::try_from(exponent).ok()?)
    };
    power(BINARY, 1024).or_else(|| power(DECIMAL, 1000))
}

const DURATION: &str = "a duration such as 30m, 1h30m, 1.5h or 90s, not negative";

/// A Go duration. Go's may be negative; none of ours means anything then.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    nanoseconds(text).map(Duration::from_nanos).ok_or(DURATION)
}

/// A Go duration that is longer than nothing.
pub fn positive_duration(text: &str) -> Result<Duration, &'static str> {
    match duration(text)? {
        Duration::ZERO => Err("a duration such as 30m, 1h30m, 1.5h or 90s, longer than 0"),
        duration => Ok(duration),
    }
}

/// What Go's `time.ParseDuration` makes of `text`, unless it is negative.
fn nanoseconds(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" || text == "-0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = unit_nanoseconds(unit)?;
        let whole = if whole.is_empty() {
            0
        } else {
            whole.parse::<u64>().ok()?
        };
        let part = whole
            .checked_mul(unit)?
            .checked_add(fraction_of(fraction, unit))?;
        total = total.checked_add(part)?;
        rest = after;
    }
    // Go counts in a signed number.
    i64::try_from(total).ok().map(|_| total)
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn unit_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3600 * 1_000_000_000,
        _ => return None,
    })
}

/// `0.fraction` of `unit`, rounded down. Digits beyond what a nanosecond can
/// show are ignored, as they are in Go.
fn fraction_of(fraction: &str, unit: u64) -> u64 {
    let shown = &fraction[..fraction.len().min(18)];
    let scale = 10_u128.pow(u32::try_from(shown.len()).unwrap_or(0));
    let value: u128 = shown.parse().unwrap_or(0);
    u64::try_from(value * u128::from(unit) / scale).unwrap_or(0)
}
