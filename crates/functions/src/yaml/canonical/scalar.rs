//! Values and comments that the emitter leaves as they are.

use std::ops::Range;

use super::super::node::ScalarStyle;
use super::{
    part::{Column, Value},
    walk::{LONGEST_KEY, Walk},
};

/// Brackets inside of each other.
const DEEPEST_FLOW: usize = 8;

const IN_WORDS: u8 = 1;
/// Anywhere in a plain scalar.
const IN_PLAIN: u8 = 2;
const STARTS_PLAIN: u8 = 4;
const PRINTABLE: u8 = 8;

/// What each byte may be part of. Nothing but ASCII: what else is printable is the
/// emitter's business.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        let mut class = PRINTABLE;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-') {
            class |= IN_WORDS;
        }
        // Spaces, colons and number signs depend on what is beside them.
        if !matches!(byte, b' ' | b':' | b'#') {
            class |= IN_PLAIN;
        }
        let is_indicator = matches!(
            byte,
            b'#' | b','
                | b'['
                | b']'
                | b'{'
                | b'}'
                | b'&'
                | b'*'
                | b'!'
                | b'|'
                | b'>'
                | b'\''
                | b'"'
                | b'%'
                | b'@'
                | b'`'
                | b'?'
                | b':'
                | b' '
        );
        if !is_indicator {
            class |= STARTS_PLAIN;
        }
        classes[byte as usize] = class;
        byte += 1;
    }
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

pub(super) fn is_in_words(byte: u8) -> bool {
    is(byte, IN_WORDS)
}

impl Walk<'_> {
    /// The number of bytes of a class from here on.
    fn run(&self, class: u8) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let other = rest.iter().position(|byte| !is(*byte, class));
        other.unwrap_or(rest.len())
    }

    /// A comment up to the end of its line.
    pub(super) fn comment(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.take(b'#')?;
        self.at += self.run(PRINTABLE);
        let ends = self.byte(0) == b'\n' && self.bytes[self.at - 1] != b' ';
        ends.then_some(start..self.at)
    }

    pub(super) fn value(&mut self) -> Option<Value> {
        match self.byte(0) {
            b'\'' | b'"' => self.quoted(),
            b'[' | b'{' => {
                let start = self.at;
                self.flow(0)?;
                Some(Value::Flow(start..self.at))
            }
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Option<Value> {
        let start = self.at;
        if !is(self.byte(0), STARTS_PLAIN) || self.byte(0) == b'-' && self.byte(1) == b' ' {
            return None;
        }
        loop {
            self.at += self.run(IN_PLAIN);
            let spaces = self.spaces(self.at);
            match (self.byte(0), self.byte(spaces.max(1))) {
                (b'\n', _) | (b' ', b'#' | b'\n') => break,
                (b':', b'\n' | b' ') => return None,
                (b' ' | b':' | b'#', _) => self.at += spaces.max(1),
                _ => return None,
            }
        }
        let text = &self.bytes[start..self.at];
        let is_odd =
            matches!(text, b"-" | b"<<") || text.starts_with(b"---") || text.starts_with(b"...");
        (!is_odd).then_some(Value::Scalar(ScalarStyle::Plain, start..self.at))
    }

    /// A scalar between quotes in which nothing needs an escape.
    fn quoted(&mut self) -> Option<Value> {
        let quote = self.byte(0);
        self.at += 1;
        let start = self.at;
        let rest = self.bytes.get(start..)?;
        let is_inside = |byte: &u8| {
            *byte != quote && is(*byte, PRINTABLE) && (*byte != b'\\' || quote == b'\'')
        };
        let length = rest.iter().position(|byte| !is_inside(byte))?;
        if rest[length] != quote || quote == b'\'' && rest.get(length + 1) == Some(&b'\'') {
            return None;
        }
        self.at = start + length + 1;
        let style = match quote {
            b'"' => ScalarStyle::DoubleQuoted,
            _ => ScalarStyle::SingleQuoted,
        };
        Some(Value::Scalar(style, start..start + length))
    }

    /// Words and quoted scalars in brackets.
    fn flow(&mut self, depth: usize) -> Option<()> {
        let is_mapping = self.byte(0) == b'{';
        let close = if is_mapping { b'}' } else { b']' };
        self.at += 1;
        self.blanks(self.spaces(self.at), 0)?;
        if self.byte(0) == close || depth > DEEPEST_FLOW {
            return self.take(close);
        }
        loop {
            if is_mapping {
                let key = self.at;
                self.flow_word()?;
                if self.at - key > LONGEST_KEY {
                    return None;
                }
                self.take(b':')?;
                match self.spaces(self.at) {
                    0 => return None,
                    spaces => self.blanks(spaces, 1)?,
                }
            }
            match self.byte(0) {
                b'[' | b'{' => self.flow(depth + 1)?,
                b'\'' | b'"' => {
                    self.quoted()?;
                }
                _ => self.flow_word()?,
            }
            self.blanks(self.spaces(self.at), 0)?;
            if self.byte(0) == close {
                return self.take(close);
            }
            self.take(b',')?;
            self.blanks(self.spaces(self.at), 1)?;
        }
    }

    fn flow_word(&mut self) -> Option<()> {
        let length = self.run(IN_WORDS);
        let is_word = length > 0 && !matches!(self.byte(0), b'.' | b'-');
        is_word.then(|| self.at += length)
    }

    /// Text in lines, deeper than the key's column: how deep is known from the first.
    pub(super) fn literal(&mut self, key: Column) -> Option<Value> {
        self.take(b'|')?;
        let is_ended = self.take(b'-').is_none();
        self.blanks(self.spaces(self.at), 0)?;
        self.end_line()?;
        let start = self.at;
        let column = Column {
            read: self.spaces(start),
            written: key.written + 2,
        };
        if column.read <= key.read {
            return None;
        }
        // Of the last line that is not empty.
        let (mut end, mut line) = (start, self.line);
        loop {
            if self.byte(0) == b'\n' {
                self.end_line()?;
                continue;
            }
            let rest = self.bytes.get(self.at..).unwrap_or(&[]);
            let spaces = rest.iter().take(column.read);
            if spaces.take_while(|byte| **byte == b' ').count() < column.read {
                break;
            }
            self.blanks(column.read, column.written)?;
            let length = self.run(PRINTABLE);
            if length == 0 || self.byte(length - 1) == b' ' {
                return None;
            }
            self.at += length;
            self.end_line()?;
            (end, line) = (self.at, self.line);
        }
        if self.line > line {
            self.leave_out(end, self.line - line)?;
        }
        (end > start).then_some(Value::Literal {
            range: start..end,
            column: column.written,
            is_ended,
        })
    }
}
