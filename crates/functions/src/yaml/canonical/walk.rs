//! The walk over blocks: fields, entries, and what they hold. Indentation, empty lines and
//! blanks may be other than the emitter's: the walk notes what it would write. Everything
//! else that could be written in another way ends the walk (`None`).

use std::ops::Range;

use super::super::{block::Written, emitter::SequenceIndent};
use super::{
    part::{Column, Inside, Part, Style, Value},
    rewrite::Rewrite,
    scalar::is_in_words,
};
use crate::meter;

/// Where the deepest block may be. The parser allows no more than 160 blocks.
const DEEPEST: usize = 120;

/// How many bytes are charged at once.
const CHARGED: usize = 8 << 10;

/// Beyond this length a key is written in another way.
pub(super) const LONGEST_KEY: usize = 128;

pub(super) struct Walk<'a> {
    /// The text, up to where the walk ends at the latest.
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Up to where the walk was charged.
    pub(super) charged: usize,
    /// From 1.
    pub(super) line: u32,
    pub(super) style: Style,
    pub(super) rewrite: Rewrite,
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
            rewrite: Rewrite::default(),
        }
    }

    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_at_dash(&self, at: usize) -> bool {
        matches!(self.bytes.get(at..at + 2), Some(b"- "))
    }

    /// Whether a field of this name begins here.
    pub(super) fn is_at_key(&self, name: &str) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let behind = rest.strip_prefix(name.as_bytes());
        behind.is_some_and(|behind| matches!(behind, [b':', b' ' | b'\n', ..]))
    }

    /// Eight at once: there are more of them than of any other byte.
    #[inline]
    pub(super) fn spaces(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        let mut count = 0;
        while let Some(eight) = rest.get(count..).and_then(|rest| rest.first_chunk()) {
            let others = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([b' '; 8]);
            if others != 0 {
                return count + others.trailing_zeros() as usize / 8;
            }
            count += 8;
        }
        let last = rest[count..].iter().take_while(|byte| **byte == b' ');
        count + last.count()
    }

    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte(0) == byte).then(|| self.at += 1)
    }

    /// Walks over a mapping whose first key is here.
    pub(super) fn mapping(&mut self, column: Column) -> Option<()> {
        if column.written > DEEPEST {
            return None;
        }
        loop {
            let part = self.field(column)?;
            self.inside(&part.value)?;
            self.charge()?;
            if !self.goes_on(column, false)? {
                return Some(());
            }
        }
    }

    fn sequence(&mut self, column: Column) -> Option<()> {
        loop {
            let part = self.entry(column)?;
            self.inside(&part.value)?;
            self.charge()?;
            if !self.goes_on(column, true)? {
                return Some(());
            }
        }
    }

    /// Walks over the block that a field or an entry ends with, if it does.
    fn inside(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Block(block) if block.is_mapping => self.mapping(block.column),
            Value::Block(block) => self.sequence(block.column),
            _ => Some(()),
        }
    }

    /// Charges what was walked over, in batches: single lines are too short to charge each.
    pub(super) fn charge(&mut self) -> Option<()> {
        let bytes = self.at - self.charged;
        if bytes < CHARGED {
            return Some(());
        }
        self.charged = self.at;
        meter::charge(bytes).then_some(())
    }

    fn key_length(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| !is_in_words(*byte))?;
        let is_key = rest[length] == b':' && matches!(rest.get(length + 1), Some(b' ' | b'\n'));
        let is_word = (1..=LONGEST_KEY).contains(&length) && !matches!(rest[0], b'.' | b'-');
        (is_key && is_word).then_some(length)
    }

    /// A field, up to the block that it ends with, if it does.
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

    /// An entry, up to the block that it ends with, if it does.
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
            let value = Value::Block(Inside {
                is_mapping: true,
                start,
                line,
                first: line + comments,
                column,
            });
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

    /// The beginning of the block below a key at this column.
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
        Some(Value::Block(Inside {
            is_mapping,
            start: self.at,
            line,
            first: line + comments,
            column,
        }))
    }
}
