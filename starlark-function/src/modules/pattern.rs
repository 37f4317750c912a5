//! Patterns as Go writes them, in the words of the `regex` crate.
//!
//! Both have RE2's language. What differs: `\d`, `\w`, `\s` and `\b` are about
//! ASCII in Go, `[` needs no escape in a class, `\Q…\E` quotes, and only Go's
//! escapes exist.

use regex::bytes::{Regex, RegexBuilder};

use crate::lang::Fallible;

/// Bytes of a compiled pattern.
const MOST: usize = 4 << 20;
/// The largest count of a repetition.
const MOST_REPEATED: u32 = 1000;

/// Compiles a pattern; the error is in Go's words.
pub(super) fn compile(pattern: &str) -> Fallible<Regex> {
    let told = |words: String| format!("error parsing regexp: {words}");
    let translated = translate(pattern).map_err(told)?;
    RegexBuilder::new(&translated)
        .size_limit(MOST)
        .dfa_size_limit(MOST)
        .nest_limit(200)
        .build()
        .map_err(|error| {
            told(match error {
                regex::Error::CompiledTooBig(_) => "expression too large".into(),
                _ => format!("invalid syntax: `{pattern}`"),
            })
        })
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    groups: Vec<&'a str>,
    /// Where the last thing that can be repeated begins in the pattern.
    atom: Option<&'a str>,
    /// The repetition right before, which cannot be repeated.
    repeated: Option<&'a str>,
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() * 2),
        groups: Vec::new(),
        atom: None,
        repeated: None,
    };
    while let Some(c) = translator.rest.chars().next() {
        translator.step(c, pattern)?;
    }
    match translator.groups.is_empty() {
        true => Ok(translator.out),
        false => Err(format!("missing closing ): `{pattern}`")),
    }
}

impl<'a> Translator<'a> {
    fn take(&mut self, len: usize) -> &'a str {
        let (head, rest) = self.rest.split_at(len);
        self.rest = rest;
        head
    }

    /// Takes over so many bytes as they are.
    fn keep(&mut self, len: usize) {
        let kept = self.take(len);
        self.out.push_str(kept);
    }

    fn step(&mut self, c: char, pattern: &str) -> Result<(), String> {
        let before = self.rest;
        match c {
            '*' | '+' | '?' => {
                self.take(1);
                return self.repeat(before, 1);
            }
            '{' => {
                if let Some(len) = count(before)? {
                    self.take(len);
                    return self.repeat(before, len);
                }
                self.take(1);
                self.out.push_str("\\{");
            }
            '(' => {
                self.open(before, pattern)?;
                (self.atom, self.repeated) = (None, None);
                return Ok(());
            }
            ')' => {
                if self.groups.pop().is_none() {
                    return Err(format!("unexpected ): `{pattern}`"));
                }
                self.keep(1);
            }
            '|' => {
                self.keep(1);
                (self.atom, self.repeated) = (None, None);
                return Ok(());
            }
            '[' => self.class()?,
            '\\' => self.escape()?,
            '}' | ']' | '&' | '~' | '-' | '#' => {
                self.out.push('\\');
                self.keep(1);
            }
            c => self.keep(c.len_utf8()),
        }
        self.atom = Some(before);
        self.repeated = None;
        Ok(())
    }

    /// A repetition of the last atom; `?` behind it belongs to it.
    fn repeat(&mut self, before: &'a str, len: usize) -> Result<(), String> {
        let lazy = usize::from(self.rest.starts_with('?'));
        self.take(lazy);
        let own = &before[..len + lazy];
        if let Some(first) = self.repeated {
            let both = &first[..first.len() - self.rest.len()];
            return Err(format!("invalid nested repetition operator: `{both}`"));
        }
        if self.atom.is_none() {
            return Err(format!("missing argument to repetition operator: `{own}`"));
        }
        self.out.push_str(own);
        self.repeated = Some(before);
        Ok(())
    }

    fn open(&mut self, before: &'a str, pattern: &str) -> Result<(), String> {
        self.take(1);
        let Some(rest) = self.rest.strip_prefix('?') else {
            self.groups.push(before);
            self.out.push('(');
            return Ok(());
        };
        let name = rest.strip_prefix("P<").or_else(|| {
            let is_lookbehind = rest.starts_with("<=") || rest.starts_with("<!");
            rest.strip_prefix('<').filter(|_| !is_lookbehind)
        });
        if let Some(name) = name {
            let Some(end) = name.find('>') else {
                return Err(format!("invalid named capture: `{before}`"));
            };
            let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let len = before.len() - name.len() + end + 1;
            if end == 0 || !name[..end].chars().all(is_word) {
                return Err(format!("invalid named capture: `{}`", &before[..len]));
            }
            self.take(len - 1);
            self.groups.push(before);
            // Names may begin with a digit in Go.
            self.out.push_str(&format!("(?P<{}>", &name[..end]));
            return Ok(());
        }
        let len = rest.find([':', ')']);
        let flags = len.map(|len| &rest[..len]).unwrap_or("");
        let are_flags = len.is_some()
            && flags
                .chars()
                .all(|c| matches!(c, 'i' | 'm' | 's' | 'U' | '-'))
            && flags.matches('-').count() < 2
            && !flags.ends_with('-');
        let (true, Some(len)) = (are_flags, len) else {
            let known = rest
                .find(|c| !matches!(c, 'i' | 'm' | 's' | 'U' | '-'))
                .unwrap_or(rest.len());
            let shown = match rest[known..].chars().next() {
                Some(c) => &before[..2 + known + c.len_utf8()],
                None => return Err(format!("missing closing ): `{pattern}`")),
            };
            return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
        };
        let is_group = rest[len..].starts_with(':');
        let taken = self.take(len + 2);
        self.out.push('(');
        self.out.push_str(taken);
        if is_group {
            self.groups.push(before);
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let before = self.rest;
        let Some(c) = before[1..].chars().next() else {
            return Err("trailing backslash at end of expression: ``".into());
        };
        if c == 'Q' {
            let quoted = &before[2..];
            let (text, behind) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            self.out.push_str("(?:");
            self.out.push_str(&regex::escape(text));
            self.out.push(')');
            self.rest = behind;
            return Ok(());
        }
        let own = match c {
            'A' | 'z' => &before[..2],
            'b' => "(?-u:\\b)",
            'B' => "(?-u:\\B)",
            'C' => "(?s-u:.)",
            'E' => "",
            _ => {
                let (text, len) = escaped(before)?;
                self.out.push_str(&text.in_pattern());
                self.take(len);
                return Ok(());
            }
        };
        self.out.push_str(own);
        self.take(2);
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let before = self.rest;
        let missing = || format!("missing closing ]: `{before}`");
        self.out.push('[');
        self.take(1);
        if self.rest.starts_with('^') {
            self.keep(1);
        }
        let mut is_first = true;
        loop {
            let rest = self.rest;
            let c = rest.chars().next().ok_or_else(missing)?;
            if c == ']' && !is_first {
                self.keep(1);
                return Ok(());
            }
            is_first = false;
            if rest.starts_with("[:")
                && let Some(end) = rest.find(":]")
            {
                let name = &rest[..end + 2];
                const NAMES: &str = "alnum alpha ascii blank cntrl digit graph lower print punct \
                                     space upper word xdigit";
                let plain = name[2..end].trim_start_matches('^');
                if !NAMES.split_whitespace().any(|known| known == plain) {
                    return Err(format!("invalid character class range: `{name}`"));
                }
                self.keep(name.len());
                continue;
            }
            let (low, len) = member(rest)?;
            self.take(len);
            let range = self
                .rest
                .strip_prefix('-')
                .filter(|behind| !behind.starts_with(']'));
            let (Escaped::Char(low_char), Some(behind)) = (&low, range) else {
                self.out.push_str(&low.in_class());
                continue;
            };
            if behind.is_empty() {
                return Err(missing());
            }
            let (high, high_len) = member(behind)?;
            let shown = &rest[..len + 1 + high_len];
            match high {
                Escaped::Char(high_char) if high_char >= *low_char => {
                    self.out
                        .push_str(&format!("{}-{}", low.in_class(), high.in_class()));
                    self.take(1 + high_len);
                }
                _ => return Err(format!("invalid character class range: `{shown}`")),
            }
        }
    }
}

/// The length of a count such as `{2,3}`, if it is one.
fn count(text: &str) -> Result<Option<usize>, String> {
    let Some(end) = text.find('}') else {
        return Ok(None);
    };
    let inner = &text[1..end];
    let (low, high) = inner.split_once(',').unwrap_or((inner, inner));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(low) || !(high.is_empty() || is_number(high)) {
        return Ok(None);
    }
    let number = |text: &str| {
        text.parse::<u32>()
            .ok()
            .filter(|count| *count <= MOST_REPEATED)
    };
    let invalid = || format!("invalid repeat count: `{}`", &text[..=end]);
    let low = number(low).ok_or_else(invalid)?;
    if !high.is_empty() && number(high).ok_or_else(invalid)? < low {
        return Err(invalid());
    }
    Ok(Some(end + 1))
}

/// What an escape stands for.
enum Escaped {
    Char(char),
    /// A class, as the inside of brackets.
    Class(&'static str),
    /// A class that is excluded.
    Not(&'static str),
    /// A class of Unicode, as it is written.
    Unicode(String),
}

impl Escaped {
    fn in_pattern(&self) -> String {
        match self {
            Self::Char(c) => regex::escape(c.encode_utf8(&mut [0; 4])),
            Self::Class(class) => format!("[{class}]"),
            Self::Not(class) => format!("[^{class}]"),
            Self::Unicode(class) => class.clone(),
        }
    }

    fn in_class(&self) -> String {
        match self {
            Self::Char(c) if c.is_ascii_punctuation() => format!("\\{c}"),
            Self::Char(c) => c.to_string(),
            Self::Class(class) => (*class).to_owned(),
            other => other.in_pattern(),
        }
    }
}

/// A member of a class, and its length.
fn member(text: &str) -> Result<(Escaped, usize), String> {
    match text.chars().next() {
        Some('\\') => escaped(text),
        Some(c) => Ok((Escaped::Char(c), c.len_utf8())),
        None => Err("missing closing ]: ``".into()),
    }
}

fn escaped(text: &str) -> Result<(Escaped, usize), String> {
    let Some(c) = text[1..].chars().next() else {
        return Err("trailing backslash at end of expression: ``".into());
    };
    let len = 1 + c.len_utf8();
    let invalid = || format!("invalid escape sequence: `{}`", &text[..len]);
    let plain = match c {
        'd' => Escaped::Class("0-9"),
        'D' => Escaped::Not("0-9"),
        's' => Escaped::Class("\\t\\n\\f\\r "),
        'S' => Escaped::Not("\\t\\n\\f\\r "),
        'w' => Escaped::Class("0-9A-Za-z_"),
        'W' => Escaped::Not("0-9A-Za-z_"),
        'a' => Escaped::Char('\u{7}'),
        'f' => Escaped::Char('\u{c}'),
        'n' => Escaped::Char('\n'),
        'r' => Escaped::Char('\r'),
        't' => Escaped::Char('\t'),
        'v' => Escaped::Char('\u{b}'),
        '0'..='7' => {
            let digits = text[1..]
                .bytes()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte));
            let digits = digits.count();
            // One digit alone would be a reference to a group.
            if c != '0' && digits < 2 {
                return Err(invalid());
            }
            let code = u32::from_str_radix(&text[1..=digits], 8).ok();
            let c = code.and_then(char::from_u32).ok_or_else(invalid)?;
            return Ok((Escaped::Char(c), 1 + digits));
        }
        'x' => {
            let (digits, len) = match text[2..].strip_prefix('{') {
                Some(rest) => {
                    let end = rest.find('}').ok_or_else(invalid)?;
                    (&rest[..end], end + 4)
                }
                None => (text.get(2..4).ok_or_else(invalid)?, 4),
            };
            let code = u32::from_str_radix(digits, 16).ok();
            let c = code.and_then(char::from_u32).ok_or_else(invalid)?;
            return Ok((Escaped::Char(c), len));
        }
        'p' | 'P' => {
            let rest = &text[2..];
            let len = match rest.chars().next() {
                Some('{') => rest.find('}').map(|end| end + 1),
                Some(c) => Some(c.len_utf8()),
                None => None,
            };
            let len = 2 + len.ok_or_else(|| format!("invalid character class range: `{text}`"))?;
            return Ok((Escaped::Unicode(text[..len].to_owned()), len));
        }
        c if c.is_ascii_punctuation() => Escaped::Char(c),
        _ => return Err(invalid()),
    };
    Ok((plain, len))
}
