//! `encoding/base64.star`: text as base64, and back.

use base64::{
    Engine as _,
    engine::{GeneralPurpose, general_purpose},
};

use super::function;
use crate::lang::{Call, Fallible, Thread, Value, memory};

pub(super) fn members() -> super::Members {
    vec![function("encode", encode), function("decode", decode)]
}

struct Encoding {
    engine: GeneralPurpose,
    is_url: bool,
    is_padded: bool,
}

/// The text and how it is, or is to be, encoded.
fn given(call: &Call) -> Fallible<(Vec<u8>, Encoding)> {
    let taken = call.by_name(["data", "encoding?"])?;
    let data: Vec<u8> = taken.arg(0)?;
    let name: String = taken.optional(1)?.unwrap_or_default();
    let (engine, is_url, is_padded) = match name.as_str() {
        "" | "standard" => (general_purpose::STANDARD, false, true),
        "standard_raw" => (general_purpose::STANDARD_NO_PAD, false, false),
        "url" => (general_purpose::URL_SAFE, true, true),
        "url_raw" => (general_purpose::URL_SAFE_NO_PAD, true, false),
        other => return Err(format!("unsupported encoding format: {other:?}")),
    };
    Ok((
        data,
        Encoding {
            engine,
            is_url,
            is_padded,
        },
    ))
}

fn encode(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let (data, encoding) = given(call)?;
    memory::room(data.len() * 2)?;
    Ok(Value::text(encoding.engine.encode(data)))
}

fn decode(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let (data, encoding) = given(call)?;
    match decoded(&data, &encoding) {
        Ok(text) => Ok(Value::text(text)),
        Err(at) => Err(format!("illegal base64 data at input byte {at}")),
    }
}

/// Decodes; the error is where Go finds fault. Line ends count for nothing.
fn decoded(data: &[u8], encoding: &Encoding) -> Result<Vec<u8>, usize> {
    let digit = |byte: u8| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' if !encoding.is_url => 62,
            b'/' if !encoding.is_url => 63,
            b'-' if encoding.is_url => 62,
            b'_' if encoding.is_url => 63,
            _ => return None,
        })
    };
    let mut out = Vec::with_capacity(data.len());
    let bytes = data.iter().copied().enumerate();
    let mut bytes = bytes.filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    loop {
        let mut digits = [0_u8; 4];
        let mut count = 0;
        let mut is_last = false;
        while count < 4 && !is_last {
            match bytes.next() {
                None if count == 0 => return Ok(out),
                None if count == 1 || encoding.is_padded => return Err(data.len() - count),
                None => is_last = true,
                Some((at, byte)) => match digit(byte) {
                    Some(digit) => {
                        digits[count] = digit;
                        count += 1;
                    }
                    None if byte != b'=' || !encoding.is_padded || count < 2 => return Err(at),
                    None => {
                        if count == 2 {
                            match bytes.next() {
                                None => return Err(data.len()),
                                Some((_, b'=')) => {}
                                Some((at, _)) => return Err(at),
                            }
                        }
                        if let Some((at, _)) = bytes.next() {
                            return Err(at);
                        }
                        is_last = true;
                    }
                },
            }
        }
        let [a, b, c, d] = digits;
        let decoded = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
        out.extend_from_slice(&decoded[..count - 1]);
        if is_last {
            return Ok(out);
        }
    }
}
