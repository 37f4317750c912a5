//! `encoding/json.star`: values as JSON, and back.

use std::rc::Rc;

use num_bigint::BigInt;

use crate::lang::{Call, Fallible, Int, Thread, Value, iterate, memory, show, value::Table};

pub(super) fn members() -> super::Members {
    vec![
        ("encode", Value::builtin("json.encode", encode)),
        ("decode", Value::builtin("json.decode", decode)),
        ("indent", Value::builtin("json.indent", indent)),
    ]
}

fn encode(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let mut out = Vec::new();
    let written = write(thread, &call.args[0], &mut out, &mut Vec::new());
    written.map_err(|words| call.told(words))?;
    Ok(Value::text(out))
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

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Fallible<Value> {
        let value = self.value()?;
        match self.peek() {
            Some(byte) => Err(format!("unexpected character {} after value", quoted(byte))),
            None => Ok(value),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Fallible<u8> {
        self.peek().ok_or_else(|| "unexpected end of file".into())
    }

    fn value(&mut self) -> Fallible<Value> {
        memory::check_depth()?;
        memory::check()?;
        let byte = self.next()?;
        let rest = &self.text[self.at..];
        for (word, value) in [
            ("null", Value::None),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        match byte {
            b'"' => self.string().map(Value::text),
            b'[' => self.array(),
            b'{' => self.object(),
            b'-' | b'0'..=b'9' => self.number(),
            byte => Err(format!("unexpected character {}", quoted(byte))),
        }
    }

    fn array(&mut self) -> Fallible<Value> {
        let mut items = Vec::new();
        self.at += 1;
        let mut byte = self.next()?;
        if byte != b']' {
            loop {
                items.push(self.value()?);
                byte = self.next()?;
                match byte {
                    b',' => self.at += 1,
                    b']' => break,
                    _ => return Err(format!("got {}, want ',' or ']'", quoted(byte))),
                }
            }
        }
        self.at += 1;
        Ok(Value::list(items))
    }

    fn object(&mut self) -> Fallible<Value> {
        let table = Table::default();
        self.at += 1;
        let mut byte = self.next()?;
        if byte != b'}' {
            loop {
                let key = self.value()?;
                if key.as_text().is_none() {
                    let kind = key.type_name();
                    return Err(format!("got {kind} for object key, want string"));
                }
                byte = self.next()?;
                if byte != b':' {
                    return Err(format!("after object key, got {}, want ':' ", quoted(byte)));
                }
                self.at += 1;
                let value = self.value()?;
                table.insert(key, value)?;
                byte = self.next()?;
                match byte {
                    b',' => self.at += 1,
                    b'}' => break,
                    _ => return Err(format!("in object, got {}, want ',' or '}}'", quoted(byte))),
                }
            }
        }
        self.at += 1;
        Ok(Value::Dict(table.into()))
    }

    fn number(&mut self) -> Fallible<Value> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        let len = self.text[self.at..]
            .iter()
            .take_while(|byte| is_part(byte))
            .count();
        let text = &self.text[self.at..self.at + len];
        let shown = String::from_utf8_lossy(text).into_owned();
        let invalid = || format!("invalid number: {shown}");
        self.at += len;
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let is_odd = match digits {
            [] => true,
            [b'0', b'0'..=b'9', ..] => true,
            [first, ..] => !first.is_ascii_digit(),
        };
        if is_odd {
            return Err(invalid());
        }
        if digits.iter().all(u8::is_ascii_digit) {
            let number = BigInt::parse_bytes(text, 10).ok_or_else(invalid)?;
            return Ok(Value::Int(Int::from(number)));
        }
        match shown.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => Err(invalid()),
        }
    }

    fn string(&mut self) -> Fallible<Vec<u8>> {
        let mut end = self.at + 1;
        loop {
            match self.text.get(end) {
                None => return Err("unclosed string literal".into()),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        let inner = &self.text[self.at + 1..end.min(self.text.len())];
        self.at = end + 1;
        let is_safe = inner.iter().all(|byte| *byte != b'\\' && byte.is_ascii());
        match is_safe {
            true => Ok(inner.to_vec()),
            false => unescaped(inner),
        }
    }
}

fn quoted(byte: u8) -> String {
    format!("'{}'", char::from(byte))
}

fn unescaped(text: &[u8]) -> Fallible<Vec<u8>> {
    let mut out = String::new();
    let lossy = String::from_utf8_lossy(text);
    let mut chars = lossy.chars();
    let invalid = |c: char| format!("invalid character '{c}' in string escape code");
    while let Some(c) = chars.next() {
        if (c as u32) < 0x20 {
            return Err(format!(
                "invalid character '{}' in string literal",
                c.escape_default()
            ));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(c @ ('"' | '\\' | '/')) => out.push(c),
            Some('u') => {
                let first = four(&mut chars)?;
                let low = chars.as_str().strip_prefix("\\u").and_then(|rest| {
                    let low = u32::from_str_radix(rest.get(..4)?, 16).ok()?;
                    (0xdc00..0xe000).contains(&low).then_some(low)
                });
                match (first, low) {
                    (0xd800..0xdc00, Some(low)) => {
                        chars = chars.as_str()[6..].chars();
                        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                    }
                    (code, _) => out.push(char::from_u32(code).unwrap_or('\u{fffd}')),
                }
            }
            Some(c) => return Err(invalid(c)),
            None => return Err(invalid('"')),
        }
    }
    Ok(out.into_bytes())
}

fn four(chars: &mut std::str::Chars<'_>) -> Fallible<u32> {
    let mut code = 0;
    for _ in 0..4 {
        let c = chars.next().unwrap_or('"');
        let digit = c.to_digit(16);
        let invalid = || format!("invalid character '{c}' in \\u hexadecimal character escape");
        code = code * 16 + digit.ok_or_else(invalid)?;
    }
    Ok(code)
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
    let mut out = Vec::new();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut needs_line = false;
    for byte in &text {
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
            out.extend_from_slice(&prefix);
            (0..depth).for_each(|_| out.extend_from_slice(&step));
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
