//! Text with gaps: `%` and `format`.

use super::numbers::whole;
use crate::lang::{
    Call, Fallible, Thread, Value, args, dialect::Edition, memory, show, syntax::quote,
    value::first_char,
};

/// `text % value`
pub(in crate::lang) fn interpolate(
    text: &[u8],
    value: &Value,
    edition: Edition,
) -> Fallible<Vec<u8>> {
    let args: &[Value] = match value {
        Value::Tuple(items) => items,
        other => std::slice::from_ref(other),
    };
    let mut used = 0;
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        memory::room(out.len())?;
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.first() == Some(&b'%') {
            out.push(b'%');
            rest = &rest[1..];
            continue;
        }
        let arg = if rest.first() == Some(&b'(') {
            let Some(end) = rest.iter().position(|byte| *byte == b')') else {
                return Err("incomplete format key".into());
            };
            let key = &rest[1..end];
            rest = &rest[end + 1..];
            mapped(value, key)?
        } else {
            let arg = args.get(used);
            arg.cloned()
                .ok_or("not enough arguments for format string")?
        };
        let Some(conversion) = rest.first() else {
            return Err("incomplete format".into());
        };
        rest = &rest[1..];
        convert(char::from(*conversion), &arg, &mut out)?;
        used += 1;
    }
    out.extend_from_slice(rest);
    let is_mapping = matches!(value, Value::Dict(_));
    if used < args.len() && !(is_mapping && edition >= Edition::April2025) {
        return Err("too many arguments for format string".into());
    }
    Ok(out)
}

fn mapped(value: &Value, key: &[u8]) -> Fallible<Value> {
    let Value::Dict(table) = value else {
        return Err("format requires a mapping".into());
    };
    let found = table.get(&Value::text(key)).ok().flatten();
    found.ok_or_else(|| format!("key not found: {}", String::from_utf8_lossy(key)))
}

fn convert(conversion: char, arg: &Value, out: &mut Vec<u8>) -> Fallible<()> {
    match conversion {
        's' => show::text(arg, out)?,
        'r' => out.extend_from_slice(show::repr(arg)?.as_bytes()),
        'd' | 'i' | 'o' | 'x' | 'X' => {
            let number = whole(arg)
                .map_err(|words| format!("%{conversion} format requires integer: {words}"))?;
            let text = match conversion {
                'o' => number.in_base(8),
                'x' => number.in_base(16),
                'X' => number.in_base(16).to_uppercase(),
                _ => number.to_string(),
            };
            out.extend_from_slice(text.as_bytes());
        }
        'e' | 'f' | 'g' | 'E' | 'F' | 'G' => {
            let Some(number) = arg.as_float() else {
                let other = arg.type_name();
                return Err(format!("%{conversion} format requires float, not {other}"));
            };
            out.extend_from_slice(show::float(number, conversion).as_bytes());
        }
        'c' => match arg {
            Value::Int(number) => {
                let code = args::index(arg)
                    .ok()
                    .and_then(|code| u32::try_from(code).ok());
                let Some(code) = code.filter(|code| *code <= 0x10_ffff) else {
                    return Err(format!(
                        "%c format requires a valid Unicode code point, got {number}"
                    ));
                };
                let c = char::from_u32(code).unwrap_or('\u{fffd}');
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Value::Text(text) => {
                if text.is_empty() || first_char(text).1 != text.len() {
                    return Err("%c format requires a single-character string".into());
                }
                let c = first_char(text).0;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => {
                let other = other.type_name();
                return Err(format!(
                    "%c format requires int or single-character string, not {other}"
                ));
            }
        },
        '%' => out.push(b'%'),
        other => return Err(format!("unknown conversion %{other}")),
    }
    Ok(())
}

/// `text.format(…)`
pub(super) fn format(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let mut rest = call
        .receiver
        .as_ref()
        .and_then(Value::as_text)
        .unwrap_or(b"");
    let mut out = Vec::new();
    let mut numbering = None;
    let mut next = 0;
    loop {
        memory::room(out.len())?;
        let open = rest.iter().position(|byte| *byte == b'{');
        literal(&rest[..open.unwrap_or(rest.len())], &mut out)?;
        let Some(open) = open else { break };
        rest = &rest[open + 1..];
        if rest.first() == Some(&b'{') {
            out.push(b'{');
            rest = &rest[1..];
            continue;
        }
        let Some(close) = rest.iter().position(|byte| *byte == b'}') else {
            return call.fail("unmatched '{' in format");
        };
        let field = &rest[..close];
        rest = &rest[close + 1..];
        let (field, spec) = split(field);
        let (name, conversion) = match field.iter().position(|byte| *byte == b'!') {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &b"s"[..]),
        };
        let arg = argument(call, name, &mut numbering, &mut next)?;
        if !spec.is_empty() {
            return Err(format!(
                "format spec features not supported in replacement fields: {}",
                String::from_utf8_lossy(spec)
            ));
        }
        match conversion {
            b"s" => show::text(&arg, &mut out)?,
            b"r" => out.extend_from_slice(show::repr(&arg)?.as_bytes()),
            other => return call.fail(format!("unknown conversion {}", quote(other, false))),
        }
    }
    Ok(Value::text(out))
}

/// The field, and what is behind its colon; a colon before `!` is part of neither
/// in the original, which looks for `!` first.
fn split(field: &[u8]) -> (&[u8], &[u8]) {
    let from = field.iter().position(|byte| *byte == b'!').unwrap_or(0);
    match field[from..].iter().position(|byte| *byte == b':') {
        Some(at) => (&field[..from + at], &field[from + at + 1..]),
        None => (field, b""),
    }
}

/// Text outside of fields: `}}` is one brace.
fn literal(text: &[u8], out: &mut Vec<u8>) -> Fallible<()> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'}') {
        if rest.get(at + 1) != Some(&b'}') {
            return Err("format: single '}' in format".into());
        }
        out.extend_from_slice(&rest[..=at]);
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Numbering {
    Automatic,
    Manual,
}

fn argument(
    call: &Call,
    name: &[u8],
    numbering: &mut Option<Numbering>,
    next: &mut usize,
) -> Fallible<Value> {
    let out_of_range = || call.told("tuple index out of range");
    if name.is_empty() {
        if *numbering == Some(Numbering::Manual) {
            return call.fail(
                "cannot switch from manual field specification to automatic field numbering",
            );
        }
        *numbering = Some(Numbering::Automatic);
        *next += 1;
        return call.args.get(*next - 1).cloned().ok_or_else(out_of_range);
    }
    let text = String::from_utf8_lossy(name);
    if let (true, Ok(at)) = (name.iter().all(u8::is_ascii_digit), text.parse::<i64>()) {
        if *numbering == Some(Numbering::Automatic) {
            return call.fail(
                "cannot switch from automatic field numbering to manual field specification",
            );
        }
        *numbering = Some(Numbering::Manual);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        return call.args.get(at).cloned().ok_or_else(out_of_range);
    }
    let named = call
        .named
        .iter()
        .find(|(key, _)| key.as_text() == Some(name));
    match named {
        Some((_, value)) => Ok(value.clone()),
        None if text.contains('.') => call.fail(format!(
            "attribute syntax x.y is not supported in replacement fields: {text}"
        )),
        None if text.contains('[') => call.fail(format!(
            "element syntax a[i] is not supported in replacement fields: {text}"
        )),
        None if text.contains('{') => call.fail("nested replacement fields not supported"),
        None => call.fail(format!("keyword {text} not found")),
    }
}
