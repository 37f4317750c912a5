//! Classes of characters, and simple changes of case, as Go has them.

use std::sync::OnceLock;

use regex::Regex;

/// Whether a character that is not ASCII matches a class, compiled once.
fn matches(class: &'static OnceLock<Option<Regex>>, pattern: &str, c: char) -> bool {
    let class = class.get_or_init(|| Regex::new(pattern).ok());
    let is = |class: &Regex| class.is_match(c.encode_utf8(&mut [0; 4]));
    class.as_ref().is_some_and(is)
}

pub(crate) fn is_printable(c: char) -> bool {
    static CLASS: OnceLock<Option<Regex>> = OnceLock::new();
    if c.is_ascii() {
        (' '..='~').contains(&c)
    } else {
        matches(&CLASS, r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$", c)
    }
}

pub(crate) fn is_letter(c: char) -> bool {
    static CLASS: OnceLock<Option<Regex>> = OnceLock::new();
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        matches(&CLASS, r"^\p{L}$", c)
    }
}

pub(crate) fn is_digit(c: char) -> bool {
    static CLASS: OnceLock<Option<Regex>> = OnceLock::new();
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        matches(&CLASS, r"^\p{Nd}$", c)
    }
}

pub(crate) fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}') || !c.is_ascii() && c.is_whitespace()
}

pub(crate) fn is_title(c: char) -> bool {
    matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}')
        || matches!(c, '\u{1f88}'..='\u{1f8f}' | '\u{1f98}'..='\u{1f9f}' | '\u{1fa8}'..='\u{1faf}')
        || matches!(c, '\u{1fbc}' | '\u{1fcc}' | '\u{1ffc}')
}

pub(crate) fn to_upper(c: char) -> char {
    single(c.to_uppercase(), c)
}

pub(crate) fn to_lower(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        c => single(c.to_lowercase(), c),
    }
}

pub(crate) fn to_title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        c => to_upper(c),
    }
}

/// Whether a character has a case.
pub(crate) fn is_cased(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        to_upper(c) != c || to_lower(c) != c || is_title(c)
    }
}

/// Case changes that make several characters of one are none to Go.
fn single(mut changed: impl Iterator<Item = char>, c: char) -> char {
    match (changed.next(), changed.next()) {
        (Some(changed), None) => changed,
        _ => c,
    }
}
