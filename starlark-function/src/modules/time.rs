//! `time.star`: moments and durations.

mod duration;

use std::{
    cmp::Ordering,
    time::{SystemTime, UNIX_EPOCH},
};

use duration::Duration;

use super::{
    function,
    gotime::{Calendar, DAYS, MONTHS, Part, calendar, days, parts},
    gotime_parse::parse,
};
use crate::lang::{Builtin, Call, Fallible, Object, Operator, Thread, Value, memory};

/// A moment, and how far its place is from UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    /// Seconds after 1970.
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
    /// Seconds east of UTC.
    pub(super) offset: i64,
    /// The name of the place's time; empty if it has none.
    pub(super) zone: String,
}

pub(super) fn members() -> super::Members {
    let duration = |nanoseconds| Value::object(Duration(nanoseconds));
    vec![
        function("from_timestamp", from_timestamp),
        function("is_valid_timezone", is_valid_timezone),
        function("now", now),
        function("parse_duration", parse_duration),
        function("parse_time", parse_time),
        function("time", time),
        ("nanosecond", duration(1)),
        ("microsecond", duration(1_000)),
        ("millisecond", duration(1_000_000)),
        ("second", duration(1_000_000_000)),
        ("minute", duration(60_000_000_000)),
        ("hour", duration(3_600_000_000_000)),
    ]
}

/// Whether a place's time is known: only UTC is, as in images without a database
/// of time zones.
fn check_location(name: &str) -> Fallible<()> {
    match name {
        "" | "UTC" | "Local" => Ok(()),
        name => Err(format!("unknown time zone {name}")),
    }
}

fn parse_duration(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    call.arg::<Duration>(0).map(Value::object)
}

fn is_valid_timezone(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let name: String = call.arg(0)?;
    Ok(Value::Bool(check_location(&name).is_ok()))
}

fn parse_time(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name(["x", "format?", "location?"])?;
    let text: String = taken.arg(0)?;
    let layout: Option<String> = taken.optional(1)?;
    let location: String = taken.optional(2)?.unwrap_or_else(|| "UTC".into());
    check_location(&location)?;
    let layout = layout.unwrap_or_else(|| "2006-01-02T15:04:05Z07:00".into());
    parse(&layout, &text).map(Value::object)
}

fn from_timestamp(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let (seconds, nanoseconds): (i64, Option<i64>) = (call.arg(0)?, call.optional(1)?);
    Ok(Value::object(Time::new(seconds, nanoseconds.unwrap_or(0))))
}

fn now(_: &mut Thread<'_>, _: &Call) -> Fallible<Value> {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Ok(Value::object(Time::new(
        seconds,
        i64::from(since.subsec_nanos()),
    )))
}

fn time(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let names = [
        "year?",
        "month?",
        "day?",
        "hour?",
        "minute?",
        "second?",
        "nanosecond?",
        "location?",
    ];
    let taken = call.by_name(names)?;
    let mut numbers = [0; 7];
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = taken.optional(at)?.unwrap_or(0);
    }
    let location: String = taken.optional(7)?.unwrap_or_default();
    if !call.args.is_empty() {
        return call.fail("unexpected positional arguments");
    }
    check_location(&location)?;
    let [year, month, day, hour, minute, second, nanosecond] = numbers;
    let months = year.wrapping_mul(12).wrapping_add(month).wrapping_sub(1);
    let first = days(
        months.div_euclid(12).clamp(-1 << 40, 1 << 40),
        months.rem_euclid(12) + 1,
        1,
    );
    let seconds = [
        (first, 86_400),
        (day, 86_400),
        (-1, 86_400),
        (hour, 3600),
        (minute, 60),
    ];
    let seconds = seconds.iter().fold(second, |sum: i64, (count, unit)| {
        sum.wrapping_add(count.wrapping_mul(*unit))
    });
    Ok(Value::object(Time::new(seconds, nanosecond)))
}

impl Time {
    pub(super) fn new(seconds: i64, nanoseconds: i64) -> Self {
        Self {
            seconds: seconds.wrapping_add(nanoseconds.div_euclid(1_000_000_000)),
            nanoseconds: nanoseconds.rem_euclid(1_000_000_000) as u32,
            offset: 0,
            zone: "UTC".into(),
        }
    }

    /// A time of a list.
    pub(crate) fn of_yaml(text: &str) -> Option<Self> {
        let layouts = [
            "2006-1-2T15:4:5.999999999Z07:00",
            "2006-1-2t15:4:5.999999999Z07:00",
            "2006-1-2 15:4:5.999999999",
            "2006-1-2",
        ];
        layouts.iter().find_map(|layout| parse(layout, text).ok())
    }

    /// As YAML has it.
    pub(crate) fn rfc3339(&self) -> String {
        self.format("2006-01-02T15:04:05.999999999Z07:00")
    }

    fn calendar(&self) -> Calendar {
        calendar(self.seconds.wrapping_add(self.offset))
    }

    fn weekday(&self) -> usize {
        let day = self.seconds.wrapping_add(self.offset).div_euclid(86_400);
        (day + 4).rem_euclid(7) as usize
    }

    fn unix_nano(&self) -> i64 {
        let seconds = self.seconds.wrapping_mul(1_000_000_000);
        seconds.wrapping_add(i64::from(self.nanoseconds))
    }

    fn plus(&self, nanoseconds: i64) -> Self {
        let total = i64::from(self.nanoseconds).wrapping_add(nanoseconds % 1_000_000_000);
        let mut sum = Self::new(
            self.seconds.wrapping_add(nanoseconds / 1_000_000_000),
            total,
        );
        (sum.offset, sum.zone) = (self.offset, self.zone.clone());
        sum
    }

    fn minus(&self, other: &Self) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(other.seconds);
        let nanoseconds = i128::from(self.nanoseconds) - i128::from(other.nanoseconds);
        let total = seconds * 1_000_000_000 + nanoseconds;
        total.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    pub(super) fn format(&self, layout: &str) -> String {
        let mut out = String::new();
        let at = self.calendar();
        for part in parts(layout) {
            let field = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Fraction(separator, digit, count) => {
                    let digits = format!("{:09}", self.nanoseconds);
                    let digits = digits.get(..count).unwrap_or(&digits);
                    let digits = match digit {
                        '9' => digits.trim_end_matches('0'),
                        _ => digits,
                    };
                    if digit == '0' || !digits.is_empty() {
                        out.push(separator);
                        out.push_str(digits);
                    }
                    continue;
                }
                Part::Field(field) => field,
            };
            out.push_str(&self.field_text(field, &at));
        }
        out
    }

    fn field_text(&self, field: &str, at: &Calendar) -> String {
        let month = MONTHS[(at.month - 1) as usize];
        let day = DAYS[self.weekday()];
        let hour = if at.hour % 12 == 0 { 12 } else { at.hour % 12 };
        let year_day = days(at.year, at.month, at.day) - days(at.year, 1, 1) + 1;
        match field {
            "January" => month.into(),
            "Jan" => month[..3].into(),
            "Monday" => day.into(),
            "Mon" => day[..3].into(),
            "2006" if at.year < 0 => format!("-{:04}", -at.year),
            "2006" => format!("{:04}", at.year),
            "06" => format!("{:02}", at.year.rem_euclid(100)),
            "002" => format!("{year_day:03}"),
            "__2" => format!("{year_day:3}"),
            "01" => format!("{:02}", at.month),
            "1" => at.month.to_string(),
            "02" => format!("{:02}", at.day),
            "_2" => format!("{:2}", at.day),
            "2" => at.day.to_string(),
            "15" => format!("{:02}", at.hour),
            "03" => format!("{hour:02}"),
            "3" => hour.to_string(),
            "04" => format!("{:02}", at.minute),
            "4" => at.minute.to_string(),
            "05" => format!("{:02}", at.second),
            "5" => at.second.to_string(),
            "PM" => if at.hour < 12 { "AM" } else { "PM" }.into(),
            "pm" => if at.hour < 12 { "am" } else { "pm" }.into(),
            "MST" if !self.zone.is_empty() => self.zone.clone(),
            zone => self.zone_text(zone),
        }
    }

    fn zone_text(&self, field: &str) -> String {
        if field.starts_with('Z') && self.offset == 0 {
            return "Z".into();
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.abs();
        let (hours, minutes, seconds) = (offset / 3600, offset / 60 % 60, offset % 60);
        match &field[1..] {
            "07" => format!("{sign}{hours:02}"),
            "0700" => format!("{sign}{hours:02}{minutes:02}"),
            "07:00" => format!("{sign}{hours:02}:{minutes:02}"),
            "070000" => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
            "07:00:00" => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
            // The name of a time that has none.
            _ => format!("{sign}{hours:02}{minutes:02}"),
        }
    }
}

fn method(
    own: &Value,
    name: &'static str,
    run: fn(&mut Thread<'_>, &Call) -> Fallible<Value>,
) -> Value {
    let receiver = Some(own.clone());
    Value::Builtin(std::rc::Rc::new(Builtin {
        name,
        receiver,
        run,
    }))
}

fn receiver(call: &Call) -> Fallible<&Time> {
    let time = call.receiver.as_ref().and_then(Value::downcast::<Time>);
    time.ok_or_else(|| call.told("not a time"))
}

fn format(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let layout: String = call.arg(0)?;
    // A field of one byte can become a name of nine.
    memory::room(layout.len() * 16)?;
    Ok(Value::text(receiver(call)?.format(&layout)))
}

fn in_location(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let name: String = call.arg(0)?;
    check_location(&name)?;
    let mut time = receiver(call)?.clone();
    (time.offset, time.zone) = (0, "UTC".into());
    Ok(Value::object(time))
}

impl Object for Time {
    fn type_name(&self) -> &'static str {
        "time.time"
    }

    fn show(&self) -> String {
        self.format("2006-01-02 15:04:05.999999999 -0700 MST")
    }

    fn truth(&self) -> bool {
        self.seconds != days(1, 1, 1) * 86_400 || self.nanoseconds != 0
    }

    fn key(&self) -> Option<String> {
        Some(format!("{}.{}", self.seconds, self.nanoseconds))
    }

    fn field(&self, name: &str, own: &Value) -> Fallible<Option<Value>> {
        let at = self.calendar();
        let number = match name {
            "year" => at.year,
            "month" => at.month,
            "day" => at.day,
            "hour" => at.hour,
            "minute" => at.minute,
            "second" => at.second,
            "nanosecond" => i64::from(self.nanoseconds),
            "unix" => self.seconds,
            "unix_nano" => self.unix_nano(),
            "format" => return Ok(Some(method(own, "format", format))),
            "in_location" => return Ok(Some(method(own, "in_location", in_location))),
            _ => return Ok(None),
        };
        Ok(Some(Value::int(number)))
    }

    fn fields(&self) -> Vec<&'static str> {
        vec![
            "format",
            "in_location",
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "nanosecond",
            "unix",
            "unix_nano",
        ]
    }

    fn order(&self, other: &Value) -> Option<Ordering> {
        let other = other.downcast::<Self>()?;
        Some((self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds)))
    }

    fn operate(&self, operator: Operator, other: &Value, _: bool) -> Fallible<Option<Value>> {
        let duration = other.downcast::<Duration>();
        Ok(match (operator, duration, other.downcast::<Self>()) {
            (Operator::Add, Some(Duration(by)), _) => Some(Value::object(self.plus(*by))),
            (Operator::Subtract, Some(Duration(by)), _) => {
                Some(Value::object(self.plus(by.wrapping_neg())))
            }
            (Operator::Subtract, _, Some(other)) => {
                Some(Value::object(Duration(self.minus(other))))
            }
            _ => None,
        })
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
