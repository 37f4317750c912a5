//! Times and durations as Go reads and writes them.

/// Days from 1970 to a date.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A moment, in the words of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Calendar {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

/// The calendar's words for so many seconds after 1970.
pub(super) fn calendar(seconds: i64) -> Calendar {
    let (day, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    Calendar {
        year: year + era * 400 + i64::from(month <= 2),
        month,
        day: of_year - (153 * shifted + 2) / 5 + 1,
        hour: rest / 3600,
        minute: rest / 60 % 60,
        second: rest % 60,
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// One of [`PARTS`].
    Field(&'static str),
    /// A fraction of a second: its separator, its digit (`0` or `9`) and how many.
    Fraction(char, char, usize),
}

/// The fields of layouts, the longest of those that begin alike first.
const PARTS: [&str; 32] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "2006",
    "002",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "PM",
    "pm",
    "Z070000",
    "Z07:00:00",
    "Z0700",
    "Z07:00",
    "Z07",
    "-070000",
    "-07:00:00",
    "-0700",
    "-07:00",
    "-07",
    "__2",
    "_2",
    "1",
    "2",
    "3",
    "4",
];

/// The next field of a layout: what is before it, itself, and what is behind.
fn next(layout: &str) -> Option<(&str, Part<'_>, &str)> {
    for (at, c) in layout.char_indices() {
        let rest = &layout[at..];
        let before = &layout[..at];
        if (c == '.' || c == ',') && rest.len() > 1 {
            let digit = char::from(rest.as_bytes()[1]);
            if digit == '0' || digit == '9' {
                let count = rest[1..].chars().take_while(|c| *c == digit).count();
                let follows = rest[1 + count..].chars().next();
                if !follows.is_some_and(|c| c.is_ascii_digit()) {
                    let part = Part::Fraction(c, digit, count);
                    return Some((before, part, &rest[1 + count..]));
                }
            }
        }
        if let Some(after) = rest.strip_prefix("_2006") {
            return Some((&layout[..=at], Part::Field("2006"), after));
        }
        let field = PARTS.iter().copied().chain(["5"]);
        let mut fields = field.filter(|field| rest.starts_with(field));
        let found = fields.find(|field| {
            let follows = rest[field.len()..].chars().next();
            !(*field == "Jan" && follows.is_some_and(|c| c.is_ascii_lowercase()))
        });
        if let Some(field) = found {
            return Some((before, Part::Field(field), &rest[field.len()..]));
        }
    }
    None
}

/// The parts of a layout.
pub(super) fn parts(layout: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = layout;
    while let Some((before, part, behind)) = next(rest) {
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(part);
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// A duration in nanoseconds, as Go writes it.
pub(super) fn write_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let fraction = |unit: u64, name: &str| {
        let rest = format!("{:0width$}", total % unit, width = unit.ilog10() as usize);
        let rest = rest.trim_end_matches('0');
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{}{dot}{rest}{name}", total / unit)
    };
    match total {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{total}ns"),
        1_000..1_000_000 => fraction(1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(1_000_000, "ms"),
        _ => {
            let (hours, minutes) = (total / 3_600_000_000_000, total / 60_000_000_000 % 60);
            let rest = total % 60_000_000_000;
            let fraction = format!("{:09}", rest % 1_000_000_000);
            let fraction = fraction.trim_end_matches('0');
            let dot = if fraction.is_empty() { "" } else { "." };
            let seconds = format!("{}{dot}{fraction}s", rest / 1_000_000_000);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// Reads a duration such as `1h30m`; the error is Go's.
pub(super) fn read_duration(text: &str) -> Result<i64, String> {
    let quoted = crate::lang::show::quoted(text.as_bytes());
    let invalid = || format!("time: invalid duration {quoted}");
    let (is_negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = &rest[..digits(rest)];
        rest = &rest[whole.len()..];
        let fraction = match rest.strip_prefix('.') {
            Some(behind) => &behind[..digits(behind)],
            None => "",
        };
        if rest.starts_with('.') {
            rest = &rest[1 + fraction.len()..];
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let len = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = &rest[..len];
        rest = &rest[len..];
        let scale: u128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => return Err(format!("time: missing unit in duration {quoted}")),
            unit => {
                let unit = crate::lang::show::quoted(unit.as_bytes());
                return Err(format!("time: unknown unit {unit} in duration {quoted}"));
            }
        };
        let whole: u128 = match whole {
            "" => 0,
            whole if whole.len() > 19 => return Err(invalid()),
            whole => whole.parse().map_err(|_| invalid())?,
        };
        total += whole * scale;
        let fraction = &fraction[..fraction.len().min(18)];
        if !fraction.is_empty() {
            let tenths: u128 = fraction.parse().map_err(|_| invalid())?;
            total += tenths * scale / 10_u128.pow(fraction.len() as u32);
        }
        if total > 1 << 63 {
            return Err(invalid());
        }
    }
    let signed = if is_negative {
        -(total as i128)
    } else {
        total as i128
    };
    i64::try_from(signed).map_err(|_| invalid())
}
