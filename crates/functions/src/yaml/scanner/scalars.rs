//! Scalars that are not in a block: plain and quoted.

use smol_str::SmolStr;

use super::super::node::ScalarStyle;
use super::super::token::{Kind, Mark};
use super::{Result, Scanner};

/// The bytes that may end a word of a plain scalar: one look at most of them is
/// enough.
const MAY_END_A_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b" \t\n\r\xC2\xE2:,?[]{}";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// Line breaks and blanks between two words of a scalar.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: String,
    more_breaks: String,
    in_new_line: bool,
}

impl Gap {
    /// Folds the gap into `value`: one line break is a space, more are kept.
    fn fold_into(&mut self, value: &mut String) {
        if self.in_new_line {
            if !self.first_break.starts_with('\n') {
                value.push_str(&self.first_break);
            } else if self.more_breaks.is_empty() {
                value.push(' ');
            }
            value.push_str(&self.more_breaks);
            self.first_break.clear();
            self.more_breaks.clear();
            self.in_new_line = false;
        } else {
            value.push_str(&self.blanks);
        }
        self.blanks.clear();
    }
}

impl Scanner<'_> {
    pub(super) fn push_scalar(
        &mut self,
        value: SmolStr,
        style: ScalarStyle,
        start: Mark,
        end: usize,
    ) {
        self.push(Kind::Scalar(value, style), start);
        if let Some(token) = self.queue.back_mut() {
            token.end = end;
        }
    }

    /// Reads blanks and line breaks. `least` is the column from which tabs
    /// may stand in for spaces.
    fn gap(&mut self, gap: &mut Gap, least: usize) -> Result<()> {
        loop {
            if self.is_blank(0) {
                if gap.in_new_line && self.at.column < least && self.byte(0) == b'\t' {
                    let problem = "found a tab character that violates indentation";
                    return Err(self.error(self.at.line, problem));
                }
                if gap.in_new_line {
                    self.skip();
                } else {
                    self.read(&mut gap.blanks);
                }
            } else if self.is_break(0) {
                if gap.in_new_line {
                    self.read_line(&mut gap.more_breaks);
                } else {
                    gap.blanks.clear();
                    self.read_line(&mut gap.first_break);
                    gap.in_new_line = true;
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn fetch_plain(&mut self) -> Result<()> {
        let first = self.plain_word();
        if self.byte(first) == b':' && self.may_be_plain_key(first) {
            return self.fetch_plain_key(first);
        }
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        let mut end = self.at.index;
        let least = (self.indent + 1).max(0).unsigned_abs();
        let mut value = String::new();
        // Most scalars are a single run of text: that is copied once.
        let mut only_word = None;
        let mut gap = Gap::default();
        loop {
            if self.at.column == 0 && self.document_indicator().is_some() || self.byte(0) == b'#' {
                break;
            }
            let length = self.plain_word();
            if length > 0 {
                let word = self.advance(length);
                if start.index + length == self.at.index {
                    only_word = Some(word);
                } else {
                    value.push_str(only_word.take().unwrap_or(""));
                    gap.fold_into(&mut value);
                    value.push_str(word);
                }
                end = self.at.index;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.gap(&mut gap, least)?;
            if self.flow_level == 0 && self.at.column < least {
                break;
            }
        }
        if gap.in_new_line {
            self.simple_key_allowed = true;
        }
        let value = only_word.map_or_else(|| value.into(), SmolStr::new);
        self.push_scalar(value, ScalarStyle::Plain, start, end);
        Ok(())
    }

    /// A word that a colon follows: no need to wait for the colon. Most lines of
    /// a list begin so.
    fn fetch_plain_key(&mut self, length: usize) -> Result<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        self.roll(start.column, None, Kind::BlockMappingStart, start)?;
        self.push(Kind::Key, start);
        let word = SmolStr::new(self.advance(length));
        self.push_scalar(word, ScalarStyle::Plain, start, self.at.index);
        self.indicator(Kind::Value);
        Ok(())
    }

    /// The length of the characters up to what ends a word of a plain scalar.
    fn plain_word(&self) -> usize {
        let rest = &self.bytes[self.at.index..];
        let ends = |(at, byte): (usize, &u8)| {
            MAY_END_A_WORD[usize::from(*byte)]
                && match byte {
                    b' ' | b'\t' | b'\n' | b'\r' => true,
                    b':' => self.is_blank_or_end(at + 1),
                    b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
                    _ => self.is_break(at),
                }
        };
        rest.iter().enumerate().position(ends).unwrap_or(rest.len())
    }

    pub(super) fn fetch_quoted(&mut self, quote: u8) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        self.skip();
        let mut value = String::new();
        let mut gap = Gap::default();
        loop {
            if self.at.column == 0 && self.document_indicator().is_some() {
                return Err(self.error(start.line, "found unexpected document indicator"));
            }
            if self.is_end(0) {
                return Err(self.error(start.line, "found unexpected end of stream"));
            }
            while !self.is_blank_or_end(0) {
                match self.byte(0) {
                    b'\'' if quote == b'\'' && self.byte(1) == b'\'' => {
                        self.skip();
                        self.read(&mut value);
                    }
                    c if c == quote => break,
                    b'\\' if quote == b'"' => {
                        if self.is_break(1) {
                            self.skip();
                            self.skip_line();
                            gap.in_new_line = true;
                            break;
                        }
                        value.push(self.escape(start)?);
                    }
                    _ => {
                        let length = self.quoted_word(quote);
                        value.push_str(self.advance(length));
                    }
                }
            }
            if self.byte(0) == quote {
                break;
            }
            self.gap(&mut gap, 0)?;
            if gap.in_new_line && gap.first_break.is_empty() {
                // An escaped line break joins the lines without a space.
                value.push_str(&gap.more_breaks);
                gap = Gap::default();
            } else {
                gap.fold_into(&mut value);
            }
        }
        self.skip();
        let style = match quote {
            b'"' => ScalarStyle::DoubleQuoted,
            _ => ScalarStyle::SingleQuoted,
        };
        self.push_scalar(value.into(), style, start, self.at.index);
        Ok(())
    }

    /// The length of the characters up to what means something between quotes.
    fn quoted_word(&self, quote: u8) -> usize {
        let rest = &self.bytes[self.at.index..];
        let ends = |(at, byte): (usize, &u8)| match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\\' => true,
            0xC2 | 0xE2 => self.is_break(at),
            byte => *byte == quote,
        };
        // A backslash between single quotes is but a character.
        rest.iter()
            .enumerate()
            .position(ends)
            .unwrap_or(rest.len())
            .max(1)
    }

    /// Reads an escape sequence.
    fn escape(&mut self, start: Mark) -> Result<char> {
        self.skip();
        let simple = match self.byte(0) {
            b'0' => '\0',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\u{b}',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'e' => '\u{1b}',
            b' ' => ' ',
            c @ (b'"' | b'\'' | b'\\' | b'/') => char::from(c),
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.escaped_code(2, start),
            b'u' => return self.escaped_code(4, start),
            b'U' => return self.escaped_code(8, start),
            _ => return Err(self.error(start.line, "found unknown escape character")),
        };
        self.skip();
        Ok(simple)
    }

    fn escaped_code(&mut self, digits: usize, start: Mark) -> Result<char> {
        self.skip();
        let mut code = 0_u32;
        for _ in 0..digits {
            let Some(digit) = char::from(self.byte(0)).to_digit(16) else {
                return Err(self.error(start.line, "did not find expected hexdecimal number"));
            };
            code = code.wrapping_mul(16).wrapping_add(digit);
            self.skip();
        }
        char::from_u32(code)
            .ok_or_else(|| self.error(start.line, "found invalid Unicode character escape code"))
    }
}
