//! Details of Go's library that show in what the Go functions write.

mod sort;

use std::cmp::Ordering;

pub(crate) use sort::{arranged, order};

/// A string as `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\0'..='\u{1f}' | '\u{7f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            // Spaces other than the usual one are not printable to Go.
            '\u{80}'..='\u{a0}'
            | '\u{ad}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{3000}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A list of words as `%v` prints it.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    format!("[{}]", words.join(" "))
}

/// The order in which yaml.v3 writes the keys of a Go map: numbers in them count
/// as numbers. Not always an order: of some keys each is before the next, and the last
/// before the first. Go's sort takes that, and Rust's does not.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut after_digit = false;
    for at in 0..a.len().min(b.len()) {
        if a[at] == b[at] {
            after_digit = a[at].is_numeric();
            continue;
        }
        match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
            (true, true) => return a[at].cmp(&b[at]),
            (true, false) if after_digit => return Ordering::Less,
            (true, false) => return Ordering::Greater,
            (false, true) if after_digit => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        let digits_before = || a[..at].iter().rev().take_while(|c| c.is_ascii_digit());
        let zeros = a[at] == '0' || b[at] == '0';
        let start = u64::from(zeros && digits_before().any(|c| *c != '0'));
        let (a_number, a_end) = number(&a, at, start);
        let (b_number, b_end) = number(&b, at, start);
        let by_number = a_number.cmp(&b_number).then(a_end.cmp(&b_end));
        return by_number.then(a[at].cmp(&b[at]));
    }
    a.len().cmp(&b.len())
}

fn number(text: &[char], from: usize, start: u64) -> (u64, usize) {
    let mut number = start;
    let mut at = from;
    while let Some(digit) = text.get(at).and_then(|c| c.to_digit(10)) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (number, at)
}

/// A JSON number, which Go keeps as a float, as yaml.v3 writes it.
pub(crate) fn float(number: f64) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() {
            "-0".into()
        } else {
            "0".into()
        };
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) && !(6..21).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A number as `encoding/json` writes it: without an exponent, unless it is very
/// large or very small.
pub(crate) fn json_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = float(number);
        // e-09 is written e-9.
        return text.replace("e-0", "e-");
    }
    format!("{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_does() {
        assert_eq!(quote("a\"b\\c\nd\u{1}é"), r#""a\"b\\c\nd\x01é""#);
    }

    #[test]
    fn keys_are_in_natural_order() {
        let mut keys = ["b", "a10", "a2", "a-1", "A", "a", "a.b", "a1b"];
        keys.sort_by(|a, b| natural(a, b));
        assert_eq!(keys, ["A", "a", "a-1", "a.b", "a1b", "a2", "a10", "b"]);
    }

    #[test]
    fn floats_are_written_as_go_does() {
        for (number, text) in [
            (1.0, "1"),
            (80.0, "80"),
            (0.5, "0.5"),
            (1e6, "1e+06"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.234567e+06"),
            (1e-5, "1e-05"),
            (1e21, "1e+21"),
        ] {
            assert_eq!(float(number), text);
        }
    }
}
