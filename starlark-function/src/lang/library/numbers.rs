//! Functions that make numbers.

use num_bigint::BigInt;

use crate::lang::{Call, Fallible, Int, Thread, Value, args};

pub(super) fn abs(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    match &call.args[0] {
        Value::Float(number) => Ok(Value::Float(number.abs())),
        Value::Int(number) if number.is_negative() => Ok(Value::Int(number.negated())),
        Value::Int(number) => Ok(Value::Int(number.clone())),
        other => Err(format!("got {}, want int or float", other.type_name())),
    }
}

/// A number without its fraction.
pub(in crate::lang) fn whole(value: &Value) -> Fallible<Int> {
    match value {
        Value::Int(number) => Ok(number.clone()),
        Value::Float(number) => Int::truncated(*number).ok_or_else(|| {
            let what = if number.is_nan() { "NaN" } else { "infinity" };
            format!("cannot convert float {what} to integer")
        }),
        other => Err(format!("cannot convert {} to int", other.type_name())),
    }
}

pub(super) fn float(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    if !call.named.is_empty() {
        return Err("float does not accept keyword arguments".into());
    }
    let number = match &call.args[..] {
        [] => 0.0,
        [Value::Bool(is)] => f64::from(u8::from(*is)),
        [Value::Int(number)] => number.finite_float()?,
        [Value::Float(number)] => *number,
        [Value::Text(text)] => read_float(&String::from_utf8_lossy(text))?,
        [other] => {
            let other = other.type_name();
            return Err(format!("float got {other}, want number or string"));
        }
        args => return Err(format!("float got {} arguments, wants 1", args.len())),
    };
    Ok(Value::Float(number))
}

fn read_float(text: &str) -> Fallible<f64> {
    if text.is_empty() {
        return Err("float: empty string".into());
    }
    let (sign, word) = match text.as_bytes()[0] {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if word.eq_ignore_ascii_case("inf") || word.eq_ignore_ascii_case("infinity") {
        return Ok(sign * f64::INFINITY);
    }
    if word.eq_ignore_ascii_case("nan") {
        return Ok(f64::NAN);
    }
    let invalid = || format!("invalid float literal: {text}");
    if word.len() > 2 && word[..2].eq_ignore_ascii_case("0x") {
        return hexadecimal(&word[2..])
            .map(|number| sign * number)
            .ok_or_else(invalid);
    }
    let is_plain = word
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let number = Some(word)
        .filter(|_| is_plain)
        .and_then(|word| word.parse::<f64>().ok());
    match number {
        Some(number) if number.is_infinite() => Err("floating-point number too large".into()),
        Some(number) => Ok(sign * number),
        None => Err(invalid()),
    }
}

/// Digits, an optional fraction, and a power of two, which Go requires.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P'])?;
    let power: i32 = power.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || digits.len() > 14 {
        return None;
    }
    let number = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    Some(number as f64 * 2_f64.powi(power - 4 * places))
}

pub(super) fn int(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    // The first parameter is required, though it has a default.
    let taken = call.by_name(["x", "base?"])?;
    let (value, base): (Value, Option<Value>) = (taken.arg(0)?, taken.optional(1)?);
    if let Some(text) = value.as_text() {
        let base = match base {
            Some(base) => args::index(&base)
                .map_err(|_| format!("int: for base, got {}, want int", base.type_name()))?,
            None => 10,
        };
        if base != 0 && !(2..=36).contains(&base) {
            return call.fail("base must be an integer >= 2 && <= 36");
        }
        let text = String::from_utf8_lossy(text);
        return match read_int(&text, base as u32) {
            Some(number) => Ok(Value::Int(number)),
            None => call.fail(format!("invalid literal with base {base}: {text}")),
        };
    }
    if base.is_some() {
        return call.fail("can't convert non-string with explicit base");
    }
    if let Value::Bool(is) = value {
        return Ok(Value::int(i64::from(is)));
    }
    whole(&value)
        .map(Value::Int)
        .map_err(|words| call.told(words))
}

fn read_int(text: &str, base: u32) -> Option<Int> {
    let (is_negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mut base, mut digits) = (base, digits);
    if digits.len() > 1 && digits.starts_with('0') {
        let prefix = match (digits.len() > 2).then(|| digits.as_bytes()[1]) {
            Some(b'o' | b'O') => 8,
            Some(b'x' | b'X') => 16,
            Some(b'b' | b'B') => 2,
            _ => 0,
        };
        if prefix != 0 && (base == 0 || base == prefix) {
            (base, digits) = (prefix, &digits[2..]);
        } else if prefix == 0 && base == 0 {
            return digits
                .bytes()
                .all(|digit| digit == b'0')
                .then_some(Int::Small(0));
        }
    }
    let base = if base == 0 { 10 } else { base };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let number = Int::from(BigInt::parse_bytes(digits.as_bytes(), base)?);
    Some(if is_negative {
        number.negated()
    } else {
        number
    })
}
