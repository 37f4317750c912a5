//! Scalars of all styles, anchors and tags.

use super::super::node::ScalarStyle;
use super::super::token::{Kind, Mark};
use super::{Result, Scanner};

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
    fn push_scalar(&mut self, value: String, style: ScalarStyle, start: Mark, end: usize) {
        self.push(Kind::Scalar(value, style), start);
        if let Some(token) = self.queue.back_mut() {
            token.end = end;
        }
    }

    /// Reads blanks and line breaks. `least` is the column from which on tabs
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
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        let mut end = self.at.index;
        let least = (self.indent + 1).max(0).unsigned_abs();
        let mut value = String::new();
        let mut gap = Gap::default();
        loop {
            if self.at.column == 0 && self.document_indicator().is_some() || self.byte(0) == b'#' {
                break;
            }
            let length = self.plain_word();
            if length > 0 {
                gap.fold_into(&mut value);
                value.push_str(self.advance(length));
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
        self.push_scalar(value, ScalarStyle::Plain, start, end);
        Ok(())
    }

    /// The length of the characters up to what ends a word of a plain scalar.
    fn plain_word(&self) -> usize {
        let mut length = 0;
        while !self.is_blank_or_end(length) {
            match self.byte(length) {
                b':' if self.is_blank_or_end(length + 1) => break,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow_level > 0 => break,
                _ => length += 1,
            }
        }
        length
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
                    _ => self.read(&mut value),
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
        self.push_scalar(value, style, start, self.at.index);
        Ok(())
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

    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.at;
        self.skip();
        let (keep, increment) = self.block_scalar_header(start)?;
        let base = self.indent.max(0).unsigned_abs();
        let mut indent = increment.map_or(0, |increment| base + increment);
        let mut value = String::new();
        let mut first_break = String::new();
        let mut more_breaks = String::new();
        let mut end = self.at.index;
        self.block_breaks(&mut indent, &mut more_breaks, &mut end, start)?;
        let mut line_was_indented = false;
        while self.at.column == indent && !self.is_end(0) {
            let indented = self.is_blank(0);
            let folds = !literal && !line_was_indented && !indented && first_break == "\n";
            if !folds {
                value.push_str(&first_break);
            } else if more_breaks.is_empty() {
                value.push(' ');
            }
            first_break.clear();
            value.push_str(&more_breaks);
            more_breaks.clear();
            line_was_indented = indented;
            let length = (0..)
                .take_while(|ahead| !self.is_break_or_end(*ahead))
                .count();
            value.push_str(self.advance(length));
            end = self.at.index;
            self.read_line(&mut first_break);
            self.block_breaks(&mut indent, &mut more_breaks, &mut end, start)?;
        }
        if keep != Some(false) {
            value.push_str(&first_break);
        }
        if keep == Some(true) {
            value.push_str(&more_breaks);
        }
        let style = match literal {
            true => ScalarStyle::Literal,
            false => ScalarStyle::Folded,
        };
        self.push_scalar(value, style, start, end);
        Ok(())
    }

    /// Whether final line breaks are kept or stripped, and the indentation.
    fn block_scalar_header(&mut self, start: Mark) -> Result<(Option<bool>, Option<usize>)> {
        let (mut keep, mut increment) = (None, None);
        for _ in 0..2 {
            match self.byte(0) {
                c @ (b'+' | b'-') if keep.is_none() => keep = Some(c == b'+'),
                b'0' if increment.is_none() => {
                    let problem = "found an indentation indicator equal to 0";
                    return Err(self.error(start.line, problem));
                }
                c @ b'1'..=b'9' if increment.is_none() => increment = Some(usize::from(c - b'0')),
                _ => break,
            }
            self.skip();
        }
        while self.is_blank(0) {
            self.skip();
        }
        if self.byte(0) == b'#' {
            self.line_comment(start.index);
        }
        if !self.is_break_or_end(0) {
            let problem = "did not find expected comment or line break";
            return Err(self.error(start.line, problem));
        }
        self.skip_line();
        Ok((keep, increment))
    }

    /// Moves over indentation and empty lines; finds out the indentation if it
    /// is not known yet (0).
    fn block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        end: &mut usize,
        start: Mark,
    ) -> Result<()> {
        let mut deepest = 0;
        loop {
            while (*indent == 0 || self.at.column < *indent) && self.byte(0) == b' ' {
                self.skip();
            }
            deepest = deepest.max(self.at.column);
            if (*indent == 0 || self.at.column < *indent) && self.byte(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.error(start.line, problem));
            }
            if !self.is_break(0) {
                break;
            }
            self.read_line(breaks);
            *end = self.at.index;
        }
        if *indent == 0 {
            *indent = deepest.max((self.indent + 1).max(1).unsigned_abs());
        }
        Ok(())
    }

    pub(super) fn fetch_anchor(&mut self, alias: bool) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        self.skip();
        let length = (0..)
            .take_while(|ahead| {
                let c = self.byte(*ahead);
                c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-')
            })
            .count();
        let ends = self.is_blank_or_end(length)
            || matches!(
                self.byte(length),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if length == 0 || !ends {
            let problem = "did not find expected alphabetic or numeric character";
            return Err(self.error(start.line, problem));
        }
        let name = self.advance(length).to_owned();
        let kind = match alias {
            true => Kind::Alias(name),
            false => Kind::Anchor(name),
        };
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        let in_flow = self.flow_level > 0;
        let length = (0..)
            .take_while(|ahead| {
                let ends = in_flow && matches!(self.byte(*ahead), b',' | b'[' | b']' | b'{' | b'}');
                !self.is_blank_or_end(*ahead) && !ends
            })
            .count();
        let written = self.advance(length).to_owned();
        let tag = if let Some(uri) = written.strip_prefix("!<") {
            uri.strip_suffix('>').map(str::to_owned)
        } else if let Some(suffix) = written.strip_prefix("!!") {
            (!suffix.is_empty()).then(|| format!("tag:yaml.org,2002:{suffix}"))
        } else {
            // Other handles need directives, which are not followed.
            (!written[1..].contains('!')).then(|| written.clone())
        };
        let Some(tag) = tag else {
            return Err(self.error(start.line, "found undefined tag handle"));
        };
        self.push(Kind::Tag(tag), start);
        Ok(())
    }
}
