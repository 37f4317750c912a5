//! Functions that make text of values, and numbers of text.

use super::builtins::only;
use crate::lang::{
    Call, Fallible, Int, Thread, Value, args, args::FromValue as _, dialect::Edition,
    iterate::iterate, memory, show, value::first_char,
};

/// Text without what is not UTF-8.
fn transcoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out
}

pub(super) fn bytes(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    match only(call, "exactly 1")? {
        Value::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Value::Text(text) => Ok(Value::bytes(transcoded(text))),
        other => {
            let Some(elems) = iterate(other) else {
                let other = other.type_name();
                return call.fail(format!(
                    "got {other}, want string, bytes, or iterable of ints"
                ));
            };
            let mut bytes = Vec::new();
            for (at, value) in elems.enumerate() {
                memory::room(bytes.len())?;
                let number = Int::from_value(&value);
                let byte = number.and_then(|number| {
                    let byte = number.small().and_then(|number| u8::try_from(number).ok());
                    byte.ok_or_else(|| {
                        format!("{number} out of range (want value in unsigned 8-bit range)")
                    })
                });
                bytes.push(byte.map_err(|words| call.told(format!("at index {at}, {words}")))?);
            }
            Ok(Value::bytes(bytes))
        }
    }
}

pub(super) fn chr(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let value = only(call, "1")?;
    let number = args::index(value).map_err(|words| call.told(words))?;
    let Ok(number) = u32::try_from(number) else {
        return call.fail(format!("Unicode code point {number} out of range (<0)"));
    };
    if number > 0x10_ffff {
        return call.fail(format!(
            "Unicode code point U+{number:X} out of range (>0x10FFFF)"
        ));
    }
    let c = char::from_u32(number).unwrap_or('\u{fffd}');
    Ok(Value::text(c.encode_utf8(&mut [0; 4]).as_bytes()))
}

pub(super) fn ord(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let value = only(call, "1")?;
    let knows_bytes = thread.dialect.edition >= Edition::April2021;
    match value {
        Value::Text(text) if !text.is_empty() && first_char(text).1 == text.len() => {
            Ok(Value::int(i64::from(first_char(text).0 as u32)))
        }
        Value::Text(text) => {
            let mut rest = &text[..];
            let mut count = 0;
            while !rest.is_empty() {
                rest = &rest[first_char(rest).1..];
                count += 1;
            }
            call.fail(format!(
                "string encodes {count} Unicode code points, want 1"
            ))
        }
        Value::Bytes(bytes) if bytes.len() == 1 => Ok(Value::int(i64::from(bytes[0]))),
        Value::Bytes(bytes) => call.fail(format!("bytes has length {}, want 1", bytes.len())),
        other => {
            let wanted = if knows_bytes {
                "string or bytes"
            } else {
                "string"
            };
            call.fail(format!("got {}, want {wanted}", other.type_name()))
        }
    }
}

pub(super) fn hash(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let knows_bytes = thread.dialect.edition >= Edition::April2021;
    let hash = match &call.args[0] {
        // The hash of Java's strings; characters beyond 16 bits count as one, as in
        // the original.
        Value::Text(text) => {
            let mut hash = 0_i32;
            let mut rest = &text[..];
            while !rest.is_empty() {
                let (c, width) = first_char(rest);
                hash = hash.wrapping_mul(31).wrapping_add(c as i32);
                rest = &rest[width..];
            }
            i64::from(hash)
        }
        Value::Bytes(bytes) => {
            let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
            i64::from(bytes.iter().fold(2_166_136_261, step))
        }
        other => {
            let wanted = if knows_bytes {
                "string or bytes"
            } else {
                "string"
            };
            return call.fail(format!("got {}, want {wanted}", other.type_name()));
        }
    };
    Ok(Value::int(hash))
}

pub(super) fn str(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    match only(call, "exactly 1")? {
        Value::Text(text) => Ok(Value::Text(text.clone())),
        Value::Bytes(bytes) => Ok(Value::text(transcoded(bytes))),
        other => show::repr(other).map(Value::text),
    }
}
