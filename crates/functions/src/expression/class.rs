//! Members of classes, and escapes: what they stand for in Go.

/// What an escape stands for.
pub(super) enum Escaped {
    Char(char),
    /// A class, as the inside of brackets.
    Class(&'static str),
    /// A class that is excluded.
    Not(&'static str),
    /// A class of Unicode, as it is written.
    Unicode(String),
}

impl Escaped {
    pub(super) fn in_pattern(&self) -> String {
        match self {
            Self::Char(c) => regex::escape(c.encode_utf8(&mut [0; 4])),
            Self::Class(class) => format!("[{class}]"),
            Self::Not(class) => format!("[^{class}]"),
            Self::Unicode(class) => class.clone(),
        }
    }

    pub(super) fn in_class(&self) -> String {
        match self {
            Self::Char(c) if c.is_ascii_punctuation() => format!("\\{c}"),
            Self::Char(c) => c.to_string(),
            Self::Class(class) => (*class).to_owned(),
            other => other.in_pattern(),
        }
    }

    /// How many characters it names: classes of Unicode up to some hundred thousand.
    pub(super) fn named(&self) -> u32 {
        match self {
            Self::Unicode(class) if class.contains("Any") => 0x11_0000,
            Self::Unicode(_) => 50_000,
            _ => 0,
        }
    }
}

/// A member of a class, and its length.
pub(super) fn member(text: &str) -> Result<(Escaped, usize), String> {
    match text.chars().next() {
        Some('\\') => escaped(text),
        Some(c) => Ok((Escaped::Char(c), c.len_utf8())),
        None => Err("missing closing ]: ``".into()),
    }
}

pub(super) fn escaped(text: &str) -> Result<(Escaped, usize), String> {
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
            let unknown = |class| format!("invalid character class range: `{class}`");
            let len = 2 + len.ok_or_else(|| unknown(text))?;
            let class = &text[..len];
            regex_automata::util::syntax::parse(class).map_err(|_| unknown(class))?;
            return Ok((Escaped::Unicode(class.to_owned()), len));
        }
        c if c.is_ascii_punctuation() => Escaped::Char(c),
        _ => return Err(invalid()),
    };
    Ok((plain, len))
}
