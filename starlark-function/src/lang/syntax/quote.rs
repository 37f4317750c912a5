//! Text in quotes: reading literals, and writing them.

use crate::lang::Fallible;

/// What a literal stands for, and whether it is one of bytes.
pub(super) fn unquote(literal: &str) -> Fallible<(Vec<u8>, bool)> {
    let (is_raw, literal) = match literal.strip_prefix('r') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (is_bytes, literal) = match literal.strip_prefix('b') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let triple = literal.len() >= 6
        && (literal.starts_with("\"\"\"") || literal.starts_with("'''"))
        && literal[..3] == literal[literal.len() - 3..];
    let width = if triple { 3 } else { 1 };
    let inner = &literal[width..literal.len() - width];
    if is_raw || !inner.contains('\\') {
        return Ok((inner.as_bytes().to_vec(), is_bytes));
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.extend_from_slice(&rest.as_bytes()[..at]);
        let taken = escape(&rest[at..], is_bytes, &mut text)?;
        rest = &rest[at + taken..];
    }
    text.extend_from_slice(rest.as_bytes());
    Ok((text, is_bytes))
}

/// Writes what an escape stands for; returns its length.
fn escape(text: &str, is_bytes: bool, out: &mut Vec<u8>) -> Fallible<usize> {
    let Some(kind) = text[1..].chars().next() else {
        return Err("truncated escape sequence \\".into());
    };
    let plain = match kind {
        '\n' => return Ok(2),
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' => kind as u8,
        '0'..='7' => return octal(text, is_bytes, out),
        'x' | 'u' | 'U' => return hexadecimal(text, kind, is_bytes, out),
        // Go prints the byte as if it were a character.
        _ => {
            let byte = char::from(text.as_bytes()[1]);
            return Err(format!("invalid escape sequence \\{byte}"));
        }
    };
    out.push(plain);
    Ok(2)
}

fn octal(text: &str, is_bytes: bool, out: &mut Vec<u8>) -> Fallible<usize> {
    let digits = text[1..]
        .bytes()
        .take(3)
        .take_while(|digit| matches!(digit, b'0'..=b'7'));
    let digits: Vec<u32> = digits.map(|digit| u32::from(digit - b'0')).collect();
    let number = digits.iter().fold(0, |number, digit| number * 8 + digit);
    if !is_bytes && number > 127 {
        return Err(format!(
            "non-ASCII octal escape \\{number:o} (use \\u{number:04X} for the UTF-8 encoding of \
             U+{number:04X})"
        ));
    }
    let byte =
        u8::try_from(number).map_err(|_| format!("invalid escape sequence \\{number:03o}"))?;
    out.push(byte);
    Ok(1 + digits.len())
}

fn hexadecimal(text: &str, kind: char, is_bytes: bool, out: &mut Vec<u8>) -> Fallible<usize> {
    let size = match kind {
        'x' => 4,
        'u' => 6,
        _ => 10,
    };
    if text.len() < size {
        return Err(format!("truncated escape sequence {text}"));
    }
    let head = String::from_utf8_lossy(&text.as_bytes()[..size]).into_owned();
    let digits = &head[2..];
    let number = if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    };
    let number = number.ok_or_else(|| format!("invalid escape sequence {head}"))?;
    if kind == 'x' {
        if !is_bytes && number > 127 {
            return Err(format!(
                "non-ASCII hex escape {head} (use \\u{number:04X} for the UTF-8 encoding of \
                 U+{number:04X})"
            ));
        }
        out.push(number as u8);
        return Ok(size);
    }
    if number > 0x10_ffff {
        return Err(format!(
            "code point out of range: {head} (max \\U{number:08x})"
        ));
    }
    match char::from_u32(number) {
        Some(c) => {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(size)
        }
        None => Err(format!("invalid Unicode code point U+{number:04X}")),
    }
}

/// Text as a literal.
pub(in crate::lang) fn quote(text: &[u8], is_bytes: bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    if is_bytes {
        quoted.push('b');
    }
    quoted.push('"');
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => {
                    quoted.push('\\');
                    quoted.push(c);
                }
                '\u{7}' => quoted.push_str("\\a"),
                '\u{8}' => quoted.push_str("\\b"),
                '\u{c}' => quoted.push_str("\\f"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '\u{b}' => quoted.push_str("\\v"),
                c if crate::lang::unicode::is_printable(c) => quoted.push(c),
                c if (c as u32) < 0x20 || c == '\u{7f}' => {
                    quoted.push_str(&format!("\\x{:02x}", c as u32));
                }
                c if (c as u32) < 0x1_0000 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
                c => quoted.push_str(&format!("\\U{:08x}", c as u32)),
            }
        }
        for byte in chunk.invalid() {
            quoted.push_str(&format!("\\x{byte:02x}"));
        }
    }
    quoted.push('"');
    quoted
}
