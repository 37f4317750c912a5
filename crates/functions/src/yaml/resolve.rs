//! What a plain scalar means: text, number, boolean, nothing, or a time.

use super::node::Tag;

/// The tag that a plain scalar has by its looks, as yaml.v3 decides.
pub fn resolve(value: &str) -> Tag {
    let Some(first) = value.bytes().next() else {
        return Tag::Null;
    };
    if !matches!(
        first,
        b'0'..=b'9' | b'+' | b'-' | b'.' | b'<' | b'~' | b'f' | b'F' | b'n' | b'N' | b't' | b'T'
    ) {
        return Tag::Str;
    }
    match value {
        "~" | "null" | "Null" | "NULL" => return Tag::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => return Tag::Bool,
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Tag::Float,
        "<<" => return Tag::Merge,
        _ => {}
    }
    match first {
        b'.' if is_go_float(value) => Tag::Float,
        b'0'..=b'9' | b'+' | b'-' => number_or_time(value),
        _ => Tag::Str,
    }
}

/// Whether YAML 1.1, which Kubernetes' own tools may read, takes the word for
/// something else than text although [`resolve`] does not.
pub fn is_old_boolean(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "y" | "yes" | "on" | "n" | "no" | "off"
    ) && matches!(
        value,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}

fn number_or_time(value: &str) -> Tag {
    if is_timestamp(value) {
        return Tag::Timestamp;
    }
    let plain = value.replace('_', "");
    if is_integer(&plain) {
        Tag::Int
    } else if is_yaml_float(&plain) {
        Tag::Float
    } else {
        Tag::Str
    }
}

/// A number of Go's base-0 syntax that fits 64 bits.
fn is_integer(text: &str) -> bool {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = digits.len() < text.len();
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return false;
    }
    match u64::from_str_radix(digits, radix) {
        Ok(number) if negative => number <= 1 << 63,
        Ok(number) => !signed || i64::try_from(number).is_ok(),
        Err(_) => false,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_yaml_float(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => (0, rest),
    };
    if whole + fraction == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            matches!(digits(exponent), (1.., ""))
        }
    }
}

/// A float that begins with a dot.
fn is_go_float(text: &str) -> bool {
    is_yaml_float(text)
}

fn digits(text: &str) -> (usize, &str) {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (count, &text[count..])
}

/// `2006-1-2`, alone or with a time of day.
fn is_timestamp(text: &str) -> bool {
    let number = |text: &mut &str, most: usize, range: std::ops::RangeInclusive<u32>| {
        let (count, rest) = digits(text);
        let value = text[..count].parse::<u32>();
        *text = rest;
        (1..=most).contains(&count) && value.is_ok_and(|value| range.contains(&value))
    };
    let expect = |text: &mut &str, what: &[char]| match text.strip_prefix(what) {
        Some(rest) => {
            *text = rest;
            true
        }
        None => false,
    };
    let rest = &mut &*text;
    let date = digits(rest).0 == 4
        && number(rest, 4, 0..=9999)
        && expect(rest, &['-'])
        && number(rest, 2, 1..=12)
        && expect(rest, &['-'])
        && number(rest, 2, 1..=31);
    if !date {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let with_zone = rest.starts_with(['T', 't']);
    let time = expect(rest, &['T', 't', ' '])
        && number(rest, 2, 0..=23)
        && expect(rest, &[':'])
        && number(rest, 2, 0..=59)
        && expect(rest, &[':'])
        && number(rest, 2, 0..=59);
    if !time {
        return false;
    }
    if rest.starts_with('.') {
        expect(rest, &['.']);
        if !number(rest, 9, 0..=u32::MAX) {
            return false;
        }
    }
    match (with_zone, *rest) {
        (false, rest) => rest.is_empty(),
        (true, "Z") => true,
        (true, _) => {
            expect(rest, &['+', '-'])
                && rest.len() == 5
                && number(rest, 2, 0..=24)
                && expect(rest, &[':'])
                && number(rest, 2, 0..=60)
                && rest.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_yaml_v3_says() {
        for (tag, values) in [
            (Tag::Null, &["", "~", "null", "NULL"][..]),
            (Tag::Bool, &["true", "FALSE", "True"]),
            (
                Tag::Int,
                &[
                    "0",
                    "-1",
                    "+12",
                    "0x1F",
                    "0b11",
                    "0o17",
                    "017",
                    "1_000",
                    "18446744073709551615",
                    "-9223372036854775808",
                ],
            ),
            (
                Tag::Float,
                &[
                    "1.",
                    ".5",
                    "-1e3",
                    "1.5E-7",
                    ".inf",
                    "18446744073709551616",
                    "09",
                    "-.5",
                ],
            ),
            (
                Tag::Timestamp,
                &[
                    "2020-01-02",
                    "2020-1-2T3:4:5Z",
                    "2020-01-02 03:04:05.5",
                    "2020-01-02t03:04:05+01:00",
                ],
            ),
            (
                Tag::Str,
                &[
                    "yes",
                    "no",
                    "a",
                    "1.2.3",
                    "0x",
                    "1e",
                    ".",
                    "-",
                    "+",
                    "2020-13-01",
                    "2020-01-02T03:04:05",
                    "1:2",
                    "0b12",
                    "NaN",
                    "nan",
                    "tRue",
                    "08a",
                ],
            ),
        ] {
            for value in values {
                assert_eq!(resolve(value), tag, "{value:?}");
            }
        }
    }
}
