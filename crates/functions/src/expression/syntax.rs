//! Expressions as Go writes them, in the words of the `regex` crate.
//!
//! Both have RE2's language. What differs: `\d`, `\w`, `\s` and `\b` are about
//! ASCII in Go, `[` needs no escape in a class, `\Q…\E` quotes, and only Go's
//! escapes exist.

use super::class::{Escaped, escaped, member};

/// The largest count of a repetition, and of repetitions inside each other.
const MOST_REPEATED: u32 = 1000;

/// An expression, translated.
#[derive(Debug)]
pub struct Translated {
    pub text: String,
    /// How many characters its classes name one by one if upper and lower case are the
    /// same to it: each of them is looked up when it is compiled.
    pub folded: u32,
}

/// Translates an expression; the error is in Go's words, without their beginning.
pub fn translate(pattern: &str) -> Result<Translated, String> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len() * 2),
        groups: Vec::new(),
        inside: 1,
        atom: None,
        repeated: None,
        named: 0,
        is_folded: false,
    };
    while let Some(c) = translator.rest.chars().next() {
        translator.step(c, pattern)?;
    }
    if !translator.groups.is_empty() {
        return Err(format!("missing closing ): `{pattern}`"));
    }
    let folded = if translator.is_folded {
        translator.named
    } else {
        0
    };
    Ok(Translated {
        text: translator.out,
        folded,
    })
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// What `inside` was before each group that is open.
    groups: Vec<u32>,
    /// How often something is repeated at most in the group that is being read.
    inside: u32,
    /// How often something is repeated in the last thing that can be repeated itself.
    atom: Option<u32>,
    /// The repetition right before, which cannot be repeated.
    repeated: Option<&'a str>,
    /// How many characters classes name.
    named: u32,
    is_folded: bool,
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
        let mut atom = Some(1);
        match c {
            '*' | '+' | '?' => {
                self.take(1);
                return self.repeat(before, 1, 1);
            }
            '{' => {
                if let Some((len, times)) = count(before)? {
                    self.take(len);
                    return self.repeat(before, len, times);
                }
                self.take(1);
                self.out.push_str("\\{");
            }
            '(' => {
                self.open(before, pattern)?;
                atom = None;
            }
            ')' => {
                let Some(outside) = self.groups.pop() else {
                    return Err(format!("unexpected ): `{pattern}`"));
                };
                atom = Some(self.inside);
                self.inside = self.inside.max(outside);
                self.keep(1);
            }
            '|' => {
                self.keep(1);
                atom = None;
            }
            '[' => self.class()?,
            '\\' => self.escape()?,
            '}' | ']' | '&' | '~' | '-' | '#' => {
                self.out.push('\\');
                self.keep(1);
            }
            c => self.keep(c.len_utf8()),
        }
        self.atom = atom;
        self.repeated = None;
        Ok(())
    }

    /// A repetition of the last atom; `?` behind it belongs to it.
    fn repeat(&mut self, before: &'a str, len: usize, times: u32) -> Result<(), String> {
        let lazy = usize::from(self.rest.starts_with('?'));
        self.take(lazy);
        let own = &before[..len + lazy];
        if let Some(first) = self.repeated {
            let both = &first[..first.len() - self.rest.len()];
            return Err(format!("invalid nested repetition operator: `{both}`"));
        }
        let Some(atom) = self.atom else {
            return Err(format!("missing argument to repetition operator: `{own}`"));
        };
        let times = atom * times;
        if times > MOST_REPEATED {
            return Err(format!("invalid repeat count: `{own}`"));
        }
        self.inside = self.inside.max(times);
        self.out.push_str(own);
        self.repeated = Some(before);
        Ok(())
    }

    /// The beginning of a group: with a name, with flags, or with neither.
    fn open(&mut self, before: &'a str, pattern: &str) -> Result<(), String> {
        self.take(1);
        let Some(rest) = self.rest.strip_prefix('?') else {
            self.enter();
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
            self.enter();
            // Names may begin with a digit in Go.
            self.out.push_str(&format!("(?P<{}>", &name[..end]));
            return Ok(());
        }
        let is_flag = |c: char| matches!(c, 'i' | 'm' | 's' | 'U' | '-');
        let len = rest.find([':', ')']);
        let flags = len.map_or("", |len| &rest[..len]);
        let are_flags = len.is_some()
            && flags.chars().all(is_flag)
            && flags.matches('-').count() < 2
            && !flags.ends_with('-');
        let (true, Some(len)) = (are_flags, len) else {
            let known = rest.find(|c| !is_flag(c)).unwrap_or(rest.len());
            let shown = match rest[known..].chars().next() {
                Some(c) => &before[..2 + known + c.len_utf8()],
                None => return Err(format!("missing closing ): `{pattern}`")),
            };
            return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
        };
        self.is_folded |= flags.split('-').next().is_some_and(|on| on.contains('i'));
        let is_group = rest[len..].starts_with(':');
        let taken = self.take(len + 2);
        self.out.push('(');
        self.out.push_str(taken);
        if is_group {
            self.enter();
        }
        Ok(())
    }

    fn enter(&mut self) {
        self.groups.push(self.inside);
        self.inside = 1;
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
            'E' => "",
            _ => {
                let (meant, len) = escaped(before)?;
                self.name(meant.named());
                self.out.push_str(&meant.in_pattern());
                self.take(len);
                return Ok(());
            }
        };
        self.out.push_str(own);
        self.take(2);
        Ok(())
    }

    fn name(&mut self, characters: u32) {
        self.named = self.named.saturating_add(characters);
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
            if let Some(behind) = rest.strip_prefix("[:")
                && let Some(length) = behind.find(":]")
            {
                let end = 2 + length;
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
                self.name(low.named());
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
                    self.name(u32::from(high_char) - u32::from(*low_char));
                    self.out
                        .push_str(&format!("{}-{}", low.in_class(), high.in_class()));
                    self.take(1 + high_len);
                }
                _ => return Err(format!("invalid character class range: `{shown}`")),
            }
        }
    }
}

/// The length of a count such as `{2,3}`, if it is one, and how often it repeats.
fn count(text: &str) -> Result<Option<(usize, u32)>, String> {
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
    let times = match high {
        "" => low,
        high => number(high).ok_or_else(invalid)?,
    };
    if times < low {
        return Err(invalid());
    }
    Ok(Some((end + 1, times.max(1))))
}

#[cfg(test)]
mod tests {
    use super::translate;

    /// What Go 1.26 says of each.
    #[test]
    fn expressions_that_go_refuses_are_refused_in_its_words() {
        for (pattern, reason) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2000}", "invalid repeat count: `{2000}`"),
            ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            ("[[:]:]]", "invalid character class range: `[:]:]`"),
            ("[[::]]", "invalid character class range: `[::]`"),
            ("\\C", "invalid escape sequence: `\\C`"),
            ("\\pX", "invalid character class range: `\\pX`"),
            ("\\p{No", "invalid character class range: `\\p{No`"),
            ("\\8", "invalid escape sequence: `\\8`"),
            ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        ] {
            assert_eq!(translate(pattern).unwrap_err(), reason, "{pattern}");
        }
        for pattern in [
            "a{",
            "(?<n>a)",
            "]",
            "}",
            "\\Qa",
            "(?i)(?-s)x",
            "(a{9}|b){99}",
        ] {
            assert!(translate(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn characters_are_counted_only_where_their_case_does_not_matter() {
        let folded = |pattern: &str| translate(pattern).expect("an expression").folded;
        assert_eq!(folded("[a-z]\\pL"), 0);
        assert_eq!(folded("(?-i)[a-z]"), 0);
        assert_eq!(folded("(?i)[a-z]"), 25);
        assert!(folded("(?s-i:x)(?im)\\pL") > 1000);
    }
}
