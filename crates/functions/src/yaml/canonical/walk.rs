//! The walk over lines: what each of them is by its indentation, and what it
//! holds. Indentation, empty lines and blanks may be other than the emitter's: the walk
//! notes what it would write. Everything else that could be written in another way ends
//! the walk (`None`).

use std::{cmp::Ordering, ops::Range};

use super::super::{block::Written, emitter::SequenceIndent, node::ScalarStyle};
use super::{rewrite::Rewrite, scalar::is_in_words};
use crate::meter;

/// Where the deepest block may be. The parser allows no more than 160 blocks.
const DEEPEST: usize = 120;

/// How many bytes are charged at once.
const CHARGED: usize = 8 << 10;

/// Blanks in front of a comment: the parser looks no farther than 512.
const FARTHEST: usize = 256;

/// From this length on a key is written in another way.
const LONGEST_KEY: usize = 128;

pub(super) struct Walk<'a> {
    /// The text, up to where the walk ends at the latest.
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Up to where the walk was charged.
    pub(super) charged: usize,
    /// From 1.
    pub(super) line: u32,
    pub(super) style: Style,
    /// Whether blocks are looked into: those that were proven are moved over.
    pub(super) proves: bool,
    pub(super) rewrite: Rewrite,
}

/// How the emitter's caller has things written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) indent: SequenceIndent,
    /// Whether a comment above the first field of a sequence's entry stays there, behind
    /// the dash.
    pub(crate) keeps_heads: bool,
}

/// Where the keys or dashes of a block are, and where the emitter writes them.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) read: usize,
    pub(crate) written: usize,
}

impl Column {
    /// Of a block that was proven.
    pub(super) fn proven(column: usize) -> Self {
        let (read, written) = (column, column);
        Self { read, written }
    }
}

/// A field, or the entry of a sequence. Ranges are of the source.
pub(super) struct Part {
    /// Comments above it.
    pub(super) head: Range<usize>,
    pub(super) key: Range<usize>,
    pub(super) value: Value,
    /// The comment behind the value, or behind the key of a block.
    pub(super) comment: Range<usize>,
    pub(super) line: u32,
}

pub(super) enum Value {
    /// Without its quotes.
    Scalar(ScalarStyle, Range<usize>),
    /// Lines of text from a column on; whether the last one's end belongs to it.
    Literal {
        range: Range<usize>,
        column: usize,
        is_ended: bool,
    },
    Flow(Range<usize>),
    Block {
        is_mapping: bool,
        range: Range<usize>,
        line: u32,
        /// The line of the first entry, below its comments.
        first: u32,
        column: usize,
    },
}

impl<'a> Walk<'a> {
    /// Over a block that was proven.
    pub(super) fn over(written: &'a Written) -> Self {
        Self {
            bytes: &written.source.as_bytes()[..written.end],
            at: written.start,
            charged: written.start,
            line: written.line,
            style: Style {
                indent: written.indent,
                keeps_heads: true,
            },
            proves: false,
            rewrite: Rewrite::default(),
        }
    }

    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is_at_dash(&self, at: usize) -> bool {
        matches!(self.bytes.get(at..at + 2), Some(b"- "))
    }

    pub(super) fn spaces(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        let other = rest.iter().position(|byte| *byte != b' ');
        other.unwrap_or(rest.len())
    }

    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte(0) == byte).then(|| self.at += 1)
    }

    pub(super) fn end_line(&mut self) -> Option<()> {
        self.take(b'\n')?;
        self.line += 1;
        Some(())
    }

    /// Walks over a mapping whose first key is here.
    pub(super) fn mapping(&mut self, column: Column) -> Option<()> {
        if column.written > DEEPEST {
            return None;
        }
        loop {
            self.field(column)?;
            self.charge()?;
            if !self.goes_on(column, false)? {
                return Some(());
            }
        }
    }

    fn sequence(&mut self, column: Column) -> Option<()> {
        loop {
            self.entry(column)?;
            self.charge()?;
            if !self.goes_on(column, true)? {
                return Some(());
            }
        }
    }

    /// Charges what was walked over, now and then: lines are too short for each.
    pub(super) fn charge(&mut self) -> Option<()> {
        let bytes = self.at - self.charged;
        if bytes < CHARGED {
            return Some(());
        }
        self.charged = self.at;
        meter::charge(bytes).then_some(())
    }

    /// At the start of a line: whether it goes on with the block at this column.
    /// If so, the walk moves to the block's next key or dash, or the comment above.
    pub(super) fn goes_on(&mut self, column: Column, dashes: bool) -> Option<bool> {
        let spaces = self.leave_out_empty_lines()?;
        if self.at + spaces >= self.bytes.len() {
            return (spaces == 0).then_some(false);
        }
        match spaces.cmp(&column.read) {
            Ordering::Less => Some(false),
            Ordering::Greater => None,
            Ordering::Equal => {
                let (_, first) = self.below_comments(self.at + spaces, spaces);
                if dashes != self.is_at_dash(first) {
                    // The key behind a sequence that is not indented.
                    return dashes.then_some(false);
                }
                self.blanks(spaces, column.written)?;
                Some(true)
            }
        }
    }

    /// Moves over empty lines, which the emitter does not write. The number of spaces that
    /// the next line begins with.
    fn leave_out_empty_lines(&mut self) -> Option<usize> {
        let (start, line) = (self.at, self.line);
        loop {
            let spaces = self.spaces(self.at);
            if self.bytes.get(self.at + spaces) != Some(&b'\n') {
                if self.line > line {
                    self.leave_out(start, self.line - line)?;
                }
                return Some(spaces);
            }
            self.at += spaces + 1;
            self.line += 1;
        }
    }

    /// How many lines of comments there are here, and where the next line's
    /// content begins.
    pub(super) fn below_comments(&self, mut at: usize, column: usize) -> (u32, usize) {
        let mut lines = 0;
        while self.bytes.get(at) == Some(&b'#') {
            let rest = &self.bytes[at..];
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            lines += 1;
            at += length;
            let spaces = self.spaces(at);
            if spaces != column {
                return (lines, at);
            }
            at += spaces;
        }
        (lines, at)
    }

    /// Comments above an entry, at its column.
    fn comments_above(&mut self, column: Column) -> Option<Range<usize>> {
        let start = self.at;
        let mut end = start;
        while self.byte(0) == b'#' {
            end = self.comment()?.end;
            self.end_line()?;
            if self.spaces(self.at) != column.read {
                return None;
            }
            self.blanks(column.read, column.written)?;
        }
        Some(start..end)
    }

    fn key_length(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| !is_in_words(*byte))?;
        let is_key = rest[length] == b':' && matches!(rest.get(length + 1), Some(b' ' | b'\n'));
        let is_word = (1..=LONGEST_KEY).contains(&length) && !matches!(rest[0], b'.' | b'-');
        (is_key && is_word).then_some(length)
    }

    pub(super) fn field(&mut self, column: Column) -> Option<Part> {
        let head = self.comments_above(column)?;
        let line = self.line;
        let key = self.at..self.at + self.key_length()?;
        self.at = key.end + 1;
        let spaces = self.spaces(self.at);
        let is_block = matches!(self.byte(spaces), b'\n' | b'#');
        let (value, comment) = if is_block {
            let comment = self.rest_of_line()?;
            (self.block(column)?, comment)
        } else {
            self.blanks(spaces, 1)?;
            match self.byte(0) {
                b'|' => (self.literal(column)?, 0..0),
                _ => self.in_line()?,
            }
        };
        Some(Part {
            head,
            key,
            value,
            comment,
            line,
        })
    }

    pub(super) fn entry(&mut self, column: Column) -> Option<Part> {
        let head = self.comments_above(column)?;
        let line = self.line;
        self.take(b'-')?;
        let spaces = self.spaces(self.at);
        if spaces == 0 {
            return None;
        }
        self.blanks(spaces, 1)?;
        let keeps_head = self.style.keeps_heads && head.is_empty() && self.byte(0) == b'#';
        let (value, comment) = if keeps_head || self.key_length().is_some() {
            let start = self.at;
            let column = Column {
                read: column.read + 1 + spaces,
                written: column.written + 2,
            };
            let (comments, _) = self.below_comments(start, column.read);
            if self.proves {
                self.mapping(column)?;
            } else {
                self.skip_line();
                self.skip_block(column.written, true);
            }
            let value = Value::Block {
                is_mapping: true,
                range: start..self.at,
                line,
                first: line + comments,
                column: column.written,
            };
            (value, 0..0)
        } else {
            self.in_line()?
        };
        let key = 0..0;
        Some(Part {
            head,
            key,
            value,
            comment,
            line,
        })
    }

    /// A value in the line of its key or dash, and the comment behind it.
    fn in_line(&mut self) -> Option<(Value, Range<usize>)> {
        let value = self.value()?;
        let comment = self.rest_of_line()?;
        Some((value, comment))
    }

    /// The end of a line, with a comment or without.
    fn rest_of_line(&mut self) -> Option<Range<usize>> {
        let spaces = self.spaces(self.at);
        let mut comment = 0..0;
        if self.byte(spaces) == b'#' && (1..=FARTHEST).contains(&spaces) {
            self.blanks(spaces, 1)?;
            comment = self.comment()?;
        } else {
            self.blanks(spaces, 0)?;
        }
        self.end_line()?;
        Some(comment)
    }

    /// The block below a key at this column.
    fn block(&mut self, key: Column) -> Option<Value> {
        let spaces = self.leave_out_empty_lines()?;
        let line = self.line;
        let (comments, first) = self.below_comments(self.at + spaces, spaces);
        let is_mapping = !self.is_at_dash(first);
        let is_below = spaces > key.read || !is_mapping && spaces == key.read;
        if !is_below {
            return None;
        }
        let column = Column {
            read: spaces,
            written: match self.style.indent {
                SequenceIndent::Compact if !is_mapping => key.written,
                _ => key.written + 2,
            },
        };
        self.blanks(spaces, column.written)?;
        let start = self.at;
        if !self.proves {
            self.skip_block(column.written, is_mapping);
        } else if is_mapping {
            self.mapping(column)?;
        } else {
            self.sequence(column)?;
        }
        Some(Value::Block {
            is_mapping,
            range: start..self.at,
            line,
            first: line + comments,
            column: column.written,
        })
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        self.line += 1;
    }

    /// Moves over the lines of a block that was proven, or over those that follow its
    /// first line.
    fn skip_block(&mut self, column: usize, is_mapping: bool) {
        if self.at > 0 && self.bytes[self.at - 1] != b'\n' {
            self.skip_line();
        }
        while self.at < self.bytes.len() {
            let spaces = self.spaces(self.at);
            let content = self.at + spaces;
            let is_inside = match spaces.cmp(&column) {
                Ordering::Greater => true,
                Ordering::Less => self.bytes.get(content) == Some(&b'\n'),
                Ordering::Equal => {
                    is_mapping || self.is_at_dash(self.below_comments(content, column).1)
                }
            };
            if !is_inside {
                return;
            }
            self.skip_line();
        }
    }
}
