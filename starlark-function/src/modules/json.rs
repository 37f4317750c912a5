//! `encoding/json.star`: values as JSON, and back.

mod reader;

use std::rc::Rc;

use reader::Reader;

use crate::lang::{Call, Fallible, Thread, Value, iterate, memory, show};

pub(super) fn members(has_encode_indent: bool) -> super::Members {
    let mut members = vec![
        ("encode", Value::builtin("json.encode", encode)),
        ("decode", Value::builtin("json.decode", decode)),
        ("indent", Value::builtin("json.indent", indent)),
    ];
    if has_encode_indent {
        let function = Value::builtin("json.encode_indent", encode_indent);
        members.push(("encode_indent", function));
    }
    members
}

fn encode(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    Ok(Value::text(encoded(thread, call)?))
}

fn encoded(thread: &mut Thread<'_>, call: &Call) -> Fallible<Vec<u8>> {
    let mut out = Vec::new();
    let written = write(thread, &call.args[0], &mut out, &mut Vec::new());
    written.map_err(|words| call.told(words))?;
    Ok(out)
}

fn encode_indent(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let named = call.only_named(["prefix?", "indent?"])?;
    let prefix: Vec<u8> = named.optional(0)?.unwrap_or_default();
    let step: Vec<u8> = named.optional(1)?.unwrap_or_else(|| b"\t".to_vec());
    if call.args.len() != 1 {
        return call.fail(format!("got {} arguments, want 1", call.args.len()));
    }
    let text = encoded(thread, call)?;
    indented(&text, &prefix, &step)
}

/// Text as Go's encoder writes it: `<`, `>` and `&` are escaped only beside
/// characters that are not plain.
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    let is_plain = text.iter().all(|byte| (0x20..0x80).contains(byte));
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\u{7f}' if is_plain => out.extend_from_slice(b"\\x7f"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\u{8}' => out.extend_from_slice(b"\\b"),
                '\u{c}' => out.extend_from_slice(b"\\f"),
                c if (c as u32) < 0x20
                    || !is_plain && matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') =>
                {
                    out.extend_from_slice(format!("\\u{:04x}", c as u32).as_bytes());
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

fn write(
    thread: &Thread<'_>,
    value: &Value,
    out: &mut Vec<u8>,
    path: &mut Vec<*const ()>,
) -> Fallible<()> {
    memory::check_depth()?;
    memory::room(out.len() * 2)?;
    let own: Option<*const ()> = match value {
        Value::List(list) => Some(Rc::as_ptr(list).cast()),
        Value::Dict(table) => Some(Rc::as_ptr(table).cast()),
        _ => None,
    };
    if let Some(own) = own {
        if path.contains(&own) {
            return Err("cycle in JSON structure".into());
        }
        path.push(own);
    }
    match value {
        Value::None => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Float(number) if !number.is_finite() => {
            let shown = show::float(*number, 'g');
            return Err(format!("cannot encode non-finite float {shown}"));
        }
        Value::Float(number) => out.extend_from_slice(show::float(*number, 'g').as_bytes()),
        Value::Text(text) => write_text(text, out),
        Value::Dict(table) => {
            let mut items = table.items();
            if let Some((key, _)) = items.iter().find(|(key, _)| key.as_text().is_none()) {
                return Err(format!("dict has {} key, want string", key.type_name()));
            }
            items.sort_by(|(a, _), (b, _)| a.as_text().cmp(&b.as_text()));
            out.push(b'{');
            for (at, (key, value)) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(key.as_text().unwrap_or(b""), out);
                out.push(b':');
                write(thread, value, out, path).map_err(|words| {
                    let key = show::repr(key).unwrap_or_default();
                    format!("in dict key {key}: {words}")
                })?;
            }
            out.push(b'}');
        }
        other => match iterate::iterate(other) {
            Some(elems) => {
                out.push(b'[');
                for (at, elem) in elems.enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write(thread, &elem, out, path)
                        .map_err(|words| format!("at {} index {at}: {words}", other.type_name()))?;
                }
                out.push(b']');
            }
            None => write_fields(thread, other, out, path)?,
        },
    }
    if own.is_some() {
        path.pop();
    }
    Ok(())
}

/// Values with fields are objects.
fn write_fields(
    thread: &Thread<'_>,
    value: &Value,
    out: &mut Vec<u8>,
    path: &mut Vec<*const ()>,
) -> Fallible<()> {
    let has_fields = matches!(
        value,
        Value::Struct(_) | Value::Module(_) | Value::Object(_)
    );
    let names = thread.fields(value);
    if !has_fields || names.is_empty() {
        return Err(format!("cannot encode {} as JSON", value.type_name()));
    }
    out.push(b'{');
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(name.as_bytes(), out);
        out.push(b':');
        let field = thread.find_field(value, name)?.unwrap_or(Value::None);
        write(thread, &field, out, path).map_err(|words| format!("in field .{name}: {words}"))?;
    }
    out.push(b'}');
    Ok(())
}

fn decode(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name(["x", "default?"])?;
    let text: Vec<u8> = taken.arg(0)?;
    if call.args.is_empty() {
        return call.fail("unexpected keyword argument x");
    }
    let mut reader = Reader { text: &text, at: 0 };
    match (reader.document(), taken.optional::<Value>(1)?) {
        (Ok(value), _) => Ok(value),
        (Err(_), Some(default)) => Ok(default),
        (Err(words), None) => call.fail(format!("at offset {}, {words}", reader.at)),
    }
}

fn indent(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let named = call.only_named(["prefix?", "indent?"])?;
    let prefix: Vec<u8> = named.optional(0)?.unwrap_or_default();
    let step: Vec<u8> = named.optional(1)?.unwrap_or_else(|| b"\t".to_vec());
    if call.args.len() != 1 {
        return call.fail(format!("got {} arguments, want 1", call.args.len()));
    }
    let text: Vec<u8> = call.arg(0)?;
    let mut reader = Reader { text: &text, at: 0 };
    reader.document().map_err(|words| call.told(words))?;
    indented(&text, &prefix, &step)
}

/// JSON with every value in a line of its own.
fn indented(text: &[u8], prefix: &[u8], step: &[u8]) -> Fallible<Value> {
    let mut out = Vec::new();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut needs_line = false;
    for byte in text {
        memory::room(out.len() * 2)?;
        if in_string {
            out.push(*byte);
            in_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        let line = |out: &mut Vec<u8>, depth: usize| {
            out.push(b'\n');
            out.extend_from_slice(prefix);
            (0..depth).for_each(|_| out.extend_from_slice(step));
        };
        if needs_line && !matches!(byte, b']' | b'}') {
            depth += 1;
            line(&mut out, depth);
        }
        let was_opened = std::mem::take(&mut needs_line);
        match byte {
            b'{' | b'[' => {
                out.push(*byte);
                needs_line = true;
            }
            b',' => {
                out.push(b',');
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'}' | b']' => {
                if !was_opened {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(*byte);
            }
            b'"' => {
                in_string = true;
                out.push(b'"');
            }
            byte => out.push(*byte),
        }
    }
    Ok(Value::text(out))
}
