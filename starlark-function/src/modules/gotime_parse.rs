//! Reading a moment by a layout, with Go's words for what does not fit.

use super::{
    gotime::{DAYS, MONTHS, Part, days, parts},
    time::Time,
};
use crate::lang::{Fallible, show::quoted};

#[derive(Debug)]
struct Found {
    year: i64,
    month: i64,
    day: i64,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: i64,
    is_afternoon: Option<bool>,
    offset: Option<i64>,
    zone: String,
}

/// Why a text does not fit a layout.
enum Odd {
    /// There is no such thing.
    Missing,
    /// It is there, but too large or too small.
    Range(&'static str),
}

pub(super) fn parse(layout: &str, text: &str) -> Fallible<Time> {
    let mut found = Found {
        year: 0,
        month: 1,
        day: 1,
        year_day: None,
        hour: 0,
        minute: 0,
        second: 0,
        nanoseconds: 0,
        is_afternoon: None,
        offset: None,
        zone: String::new(),
    };
    let mut rest = text;
    let failed = |field: &str, rest: &str| {
        Err(format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(text.as_bytes()),
            quoted(layout.as_bytes()),
            quoted(rest.as_bytes()),
            quoted(field.as_bytes())
        ))
    };
    let out_of_range = |what: &str| {
        let text = quoted(text.as_bytes());
        Err(format!("parsing time {text}: {what} out of range"))
    };
    let parts = parts(layout);
    for (at, part) in parts.iter().enumerate() {
        let before = rest;
        match part {
            Part::Text(wanted) => match skip(rest, wanted) {
                Some(behind) => rest = behind,
                None => return failed(wanted, rest),
            },
            Part::Fraction(_, digit, count) => match fraction(rest, *digit, *count, &mut found) {
                Some(behind) => rest = behind,
                None => {
                    let field = format!(".{}", digit.to_string().repeat(*count));
                    return failed(&field, before);
                }
            },
            Part::Field(field) => match read(field, rest, &mut found) {
                Ok(behind) => {
                    rest = behind;
                    // Seconds may have a fraction that the layout does not name.
                    let follows = matches!(parts.get(at + 1), Some(Part::Fraction(..)));
                    let has = rest.starts_with(['.', ','])
                        && rest[1..].starts_with(|c: char| c.is_ascii_digit());
                    if matches!(*field, "05" | "5") && has && !follows {
                        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                        found.nanoseconds = nanoseconds(&rest[1..=digits]);
                        rest = &rest[1 + digits..];
                    }
                }
                Err(Odd::Missing) => return failed(field, before),
                Err(Odd::Range(what)) => return out_of_range(what),
            },
        }
    }
    if !rest.is_empty() {
        let text = quoted(text.as_bytes());
        let rest = quoted(rest.as_bytes());
        return Err(format!("parsing time {text}: extra text: {rest}"));
    }
    match found.is_afternoon {
        Some(true) if found.hour < 12 => found.hour += 12,
        Some(false) if found.hour == 12 => found.hour = 0,
        _ => {}
    }
    if let Some(year_day) = found.year_day {
        let day = days(found.year, 1, 1) + year_day - 1;
        let date = super::gotime::calendar(day * 86_400);
        (found.month, found.day) = (date.month, date.day);
    }
    let next = match found.month {
        12 => days(found.year + 1, 1, 1),
        month => days(found.year, month + 1, 1),
    };
    if found.day < 1 || found.day > next - days(found.year, found.month, 1) {
        return out_of_range("day");
    }
    let day = days(found.year, found.month, found.day);
    let local = day * 86_400 + found.hour * 3600 + found.minute * 60 + found.second;
    let offset = found.offset.unwrap_or(0);
    let mut time = Time::new(local - offset, found.nanoseconds);
    time.offset = offset;
    time.zone = match (found.zone.as_str(), offset) {
        ("", 0) => "UTC".into(),
        (zone, _) => zone.into(),
    };
    Ok(time)
}

/// The text behind a literal part; spaces count as any number of spaces.
fn skip<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = text;
    let mut wanted = wanted;
    while let Some(c) = wanted.chars().next() {
        if c == ' ' {
            if !rest.is_empty() && !rest.starts_with(' ') {
                return None;
            }
            (wanted, rest) = (wanted.trim_start_matches(' '), rest.trim_start_matches(' '));
            continue;
        }
        rest = rest.strip_prefix(c)?;
        wanted = &wanted[c.len_utf8()..];
    }
    Some(rest)
}

fn nanoseconds(digits: &str) -> i64 {
    let digits = &digits[..digits.len().min(9)];
    format!("{digits:0<9}").parse().unwrap_or(0)
}

fn fraction<'a>(text: &'a str, digit: char, count: usize, found: &mut Found) -> Option<&'a str> {
    let is_there = text.starts_with(['.', ',']);
    let digits = text.get(1..).unwrap_or("");
    let digits = digits.bytes().take_while(u8::is_ascii_digit).count();
    match digit {
        '0' => {
            if !is_there || digits < count {
                return None;
            }
            found.nanoseconds = nanoseconds(&text[1..=count]);
            Some(&text[1 + count..])
        }
        _ if !is_there || digits == 0 => Some(text),
        _ => {
            found.nanoseconds = nanoseconds(&text[1..=digits]);
            Some(&text[1 + digits..])
        }
    }
}

/// Reads a number of one or two digits, or exactly two.
fn number(text: &str, is_fixed: bool) -> Result<(i64, &str), Odd> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || is_fixed && digits < 2 {
        return Err(Odd::Missing);
    }
    Ok((text[..digits].parse().unwrap_or(0), &text[digits..]))
}

fn fixed(text: &str, width: usize) -> Result<(i64, &str), Odd> {
    let digits = text.get(..width).ok_or(Odd::Missing)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok((digits.parse().unwrap_or(0), &text[width..]))
    } else {
        Err(Odd::Missing)
    }
}

fn named<'a>(text: &'a str, names: &[&str], width: Option<usize>) -> Result<(i64, &'a str), Odd> {
    for (at, name) in names.iter().enumerate() {
        let name = width.map_or(*name, |width| &name[..width]);
        let head = text.get(..name.len()).unwrap_or("");
        if head.eq_ignore_ascii_case(name) {
            return Ok((at as i64, &text[name.len()..]));
        }
    }
    Err(Odd::Missing)
}

fn within(number: i64, least: i64, most: i64, what: &'static str) -> Result<i64, Odd> {
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Odd::Range(what))
    }
}

fn read<'a>(field: &str, text: &'a str, found: &mut Found) -> Result<&'a str, Odd> {
    let is_fixed = field.len() == 2;
    Ok(match field {
        "2006" => {
            let (year, rest) = fixed(text, 4)?;
            found.year = year;
            rest
        }
        "06" => {
            let (year, rest) = fixed(text, 2)?;
            found.year = if year >= 69 { 1900 + year } else { 2000 + year };
            rest
        }
        "January" | "Jan" => {
            let (month, rest) = named(text, &MONTHS, (field == "Jan").then_some(3))?;
            found.month = month + 1;
            rest
        }
        "01" | "1" => {
            let (month, rest) = number(text, is_fixed)?;
            found.month = within(month, 1, 12, "month")?;
            rest
        }
        "Monday" | "Mon" => named(text, &DAYS, (field == "Mon").then_some(3))?.1,
        "02" | "_2" | "2" => {
            let text = if field == "_2" {
                text.strip_prefix(' ').unwrap_or(text)
            } else {
                text
            };
            let (day, rest) = number(text, field == "02")?;
            found.day = day;
            rest
        }
        "002" | "__2" => {
            let spaces = text
                .bytes()
                .take(2)
                .take_while(|byte| *byte == b' ')
                .count();
            let skipped = if field == "__2" { spaces } else { 0 };
            let (day, rest) = fixed(&text[skipped..], 3 - skipped)?;
            found.year_day = Some(within(day, 1, 366, "day-of-year")?);
            rest
        }
        "15" | "03" | "3" => {
            let (hour, rest) = number(text, is_fixed)?;
            found.hour = within(hour, 0, if field == "15" { 23 } else { 12 }, "hour")?;
            rest
        }
        "04" | "4" => {
            let (minute, rest) = number(text, is_fixed)?;
            found.minute = within(minute, 0, 59, "minute")?;
            rest
        }
        "05" | "5" => {
            let (second, rest) = number(text, is_fixed)?;
            found.second = within(second, 0, 59, "second")?;
            rest
        }
        "PM" | "pm" => {
            let head = text.get(..2).ok_or(Odd::Missing)?;
            let (am, pm) = if field == "PM" {
                ("AM", "PM")
            } else {
                ("am", "pm")
            };
            found.is_afternoon = Some(match head {
                head if head == am => false,
                head if head == pm => true,
                _ => return Err(Odd::Missing),
            });
            &text[2..]
        }
        "MST" => {
            if let Some(rest) = text.strip_prefix("UTC") {
                found.offset = found.offset.or(Some(0));
                found.zone = "UTC".into();
                return Ok(rest);
            }
            let len = text.bytes().take_while(u8::is_ascii_uppercase).count();
            if !(3..=5).contains(&len) {
                return Err(Odd::Missing);
            }
            found.zone = text[..len].into();
            &text[len..]
        }
        zone => offset(zone, text, found)?,
    })
}

fn offset<'a>(field: &str, text: &'a str, found: &mut Found) -> Result<&'a str, Odd> {
    if let (true, Some(rest)) = (field.starts_with('Z'), text.strip_prefix('Z')) {
        found.offset = Some(0);
        return Ok(rest);
    }
    let text_of = text.get(..field.len()).ok_or(Odd::Missing)?;
    let sign = match text_of.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return Err(Odd::Missing),
    };
    let mut total = 0;
    let mut units = [3600, 60, 1].into_iter();
    let mut rest = &text_of[1..];
    while !rest.is_empty() {
        if rest.starts_with(':') && field.contains(':') {
            rest = &rest[1..];
        }
        let (count, behind) = fixed(rest, 2)?;
        total += count * units.next().unwrap_or(0);
        rest = behind;
    }
    found.offset = Some(sign * total);
    Ok(&text[field.len()..])
}
