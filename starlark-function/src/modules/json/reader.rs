//! JSON as values, with the original's complaints.

use num_bigint::BigInt;

use crate::lang::{Fallible, Int, Value, memory, value::Table};

pub(super) struct Reader<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl Reader<'_> {
    pub(super) fn document(&mut self) -> Fallible<Value> {
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
        if is_safe {
            Ok(inner.to_vec())
        } else {
            unescaped(inner)
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
