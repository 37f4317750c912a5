//! Cuts a list's text into its top-level values without parsing them.
//!
//! Two forms are understood: block YAML whose keys are plain words in the first
//! column, and JSON. Both are what every function SDK writes. Whatever else is
//! legal YAML gives `None`, never a wrong answer: the caller asks a real parser.

use memchr::{memchr, memchr2};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sections<'a> {
    pub(super) kind: Option<&'a str>,
    /// The text of the values, each a YAML document of its own.
    pub(super) results: Option<&'a str>,
    pub(super) items: Option<&'a str>,
}

impl<'a> Sections<'a> {
    /// Takes note of a top-level value. The first of a repeated key counts.
    /// `None`: the value of `kind` is not a plain word.
    fn take(&mut self, key: &str, value: &'a str) -> Option<()> {
        match key {
            "kind" if self.kind.is_none() => self.kind = Some(plain_word(value)?),
            "results" if self.results.is_none() => self.results = Some(value),
            "items" if self.items.is_none() => self.items = Some(value),
            _ => {}
        }
        Some(())
    }
}

pub(super) fn cut(text: &str) -> Option<Sections<'_>> {
    if text.trim_start().starts_with('{') {
        json(text)
    } else {
        block(text)
    }
}

/// A scalar without escapes, quoted or not, with nothing but a comment behind it.
fn plain_word(value: &str) -> Option<&str> {
    let value = value.trim();
    let (word, rest) = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split_once(quote)?,
        _ => value.split_once(char::is_whitespace).unwrap_or((value, "")),
    };
    let rest = rest.trim_start();
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain && !word.is_empty() && (rest.is_empty() || rest.starts_with('#'))).then_some(word)
}

/// Every line that does not begin with white space is a key, an entry of the
/// list that belongs to the key above, its closing bracket, a comment, or the
/// document's end.
fn block(text: &str) -> Option<Sections<'_>> {
    let mut sections = Sections::default();
    // The key whose value is being passed, and where that value begins.
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    let mut end = text.len();
    while at < text.len() {
        let line_end = memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n| at + n);
        let next = (line_end + 1).min(text.len());
        let line = &text[at..line_end];
        match line.as_bytes().first() {
            None | Some(b'#' | b'\r') => {}
            Some(b' ') if open.is_some() || line.trim().is_empty() => {}
            Some(b'-' | b'.') if is_marker(line) => {
                if open.is_some() || line.starts_with('.') {
                    end = at;
                    break;
                }
                // Content behind the marker is unusual.
                if !line[3..].trim().is_empty() {
                    return None;
                }
            }
            Some(b'-') if open.is_some() && is_entry(line) => {}
            // Strictly they must be indented, but libyaml does not mind.
            Some(b']' | b'}') if open.is_some() => {}
            Some(byte) if byte.is_ascii_alphabetic() => {
                let key = key_of(line)?;
                if let Some((key, begin)) = open.take() {
                    sections.take(key, &text[begin..at])?;
                }
                open = Some((key, at + key.len() + 1));
            }
            _ => return None,
        }
        // Most of a list is indented; nothing of that is of interest below a key.
        at = if open.is_some() {
            unindented(text.as_bytes(), line_end)
        } else {
            next
        };
    }
    let (key, begin) = open?;
    sections.take(key, &text[begin..end])?;
    Some(sections)
}

/// The beginning of the next line that does not begin with a space; `from` is not
/// behind the end of the line before. Eight bytes at a time: a large list's
/// verdict is this, and its lines are too short to look for each of them.
fn unindented(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some([bytes @ .., last]) = text.get(at..).and_then(<[u8]>::first_chunk::<9>) {
        let word = u64::from_le_bytes(*bytes);
        let newlines = bytes_equal(word, b'\n');
        if newlines != 0 {
            let next = word >> 8 | u64::from(*last) << 56;
            let found = newlines & !bytes_equal(next, b' ');
            if found != 0 {
                return at + found.trailing_zeros() as usize / 8 + 1;
            }
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    let found = rest
        .windows(2)
        .position(|pair| pair[0] == b'\n' && pair[1] != b' ');
    found.map_or(text.len(), |n| at + n + 1)
}

/// The highest bit of each byte of `word` that is `byte`.
fn bytes_equal(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const LOW: u64 = ONES * 0x7f;
    // What is equal is zero now, and only a zero does not reach the highest bit.
    let differences = word ^ (ONES * u64::from(byte));
    !(((differences & LOW) + LOW) | differences | LOW)
}

/// `---` or `...`, alone or followed by white space.
fn is_marker(line: &str) -> bool {
    let rest = line
        .strip_prefix("---")
        .or_else(|| line.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
}

fn is_entry(line: &str) -> bool {
    matches!(line.as_bytes().get(1), None | Some(b' ' | b'\r'))
}

fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let plain = key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    (plain && (rest.is_empty() || rest.starts_with([' ', '\r']))).then_some(key)
}

/// Follows brackets and strings of a JSON object, and looks only at the keys and
/// values of the outermost.
fn json(text: &str) -> Option<Sections<'_>> {
    let bytes = text.as_bytes();
    let mut sections = Sections::default();
    let mut depth = 0_usize;
    let mut key: Option<&str> = None;
    let mut value: Option<usize> = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at + 1)?;
                if depth == 1 && value.is_none() && key.replace(&text[at + 1..end]).is_some() {
                    return None;
                }
                at = end;
            }
            b':' if depth == 1 && value.is_none() => {
                key?;
                value = Some(at + 1);
            }
            b'{' | b'[' => {
                if depth == 1 && value.is_none() {
                    return None;
                }
                depth += 1;
            }
            byte @ (b'}' | b']' | b',') => {
                if depth == 1 {
                    match (key.take(), value.take()) {
                        (Some(key), Some(begin)) => sections.take(key, &text[begin..at])?,
                        // An empty object, or a comma before the end.
                        (None, None) => {}
                        _ => return None,
                    }
                }
                if byte != b',' {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return text[at + 1..].trim().is_empty().then_some(sections);
                    }
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            // Numbers and literals, but only where a value may stand.
            byte if depth > 1 || value.is_some() => {
                if !(byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte)) {
                    return None;
                }
            }
            _ => return None,
        }
        at += 1;
    }
    None
}

/// Where the string that begins at `at` ends.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_line_at_the_margin_is_missed(text in "[\n\r a-]{0,60}", from in 0..64_usize) {
            let from = from.min(text.len());
            let plain = text.as_bytes()[from..].windows(2).position(|pair| pair[0] == b'\n' && pair[1] != b' ');
            let plain = plain.map_or(text.len(), |n| from + n + 1);
            prop_assert_eq!(unindented(text.as_bytes(), from), plain);
        }
    }
}
