//! Moving from line to line: where a block goes on, what is above its entries, and how
//! lines end.

use std::{cmp::Ordering, ops::Range};

use crate::meter;
use AtColumn::{All, Dashes, Nothing};

use super::{
    part::{Column, Inside},
    walk::Walk,
};

/// Blanks in front of a comment: the parser looks no farther than 512.
const FARTHEST: usize = 256;

/// After moving over so many bytes the clock is read: they are not charged, as often as
/// blocks inside of each other are moved over.
const LONG: usize = 64 << 10;

impl Walk<'_> {
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
    #[inline]
    pub(super) fn leave_out_empty_lines(&mut self) -> Option<usize> {
        let spaces = self.spaces(self.at);
        match self.bytes.get(self.at + spaces) {
            Some(b'\n') => self.leave_out_these_lines(),
            _ => Some(spaces),
        }
    }

    fn leave_out_these_lines(&mut self) -> Option<usize> {
        let (start, line) = (self.at, self.line);
        loop {
            let spaces = self.spaces(self.at);
            if self.bytes.get(self.at + spaces) != Some(&b'\n') {
                self.leave_out(start, self.line - line)?;
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
    #[inline]
    pub(super) fn comments_above(&mut self, column: Column) -> Option<Range<usize>> {
        match self.byte(0) {
            b'#' => self.these_comments(column),
            _ => Some(self.at..self.at),
        }
    }

    fn these_comments(&mut self, column: Column) -> Option<Range<usize>> {
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

    /// The end of a line, with a comment or without.
    #[inline]
    pub(super) fn rest_of_line(&mut self) -> Option<Range<usize>> {
        match self.end_line() {
            Some(()) => Some(0..0),
            None => self.comment_behind(),
        }
    }

    fn comment_behind(&mut self) -> Option<Range<usize>> {
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

    #[inline]
    pub(super) fn end_line(&mut self) -> Option<()> {
        self.take(b'\n')?;
        self.line += 1;
        Some(())
    }

    pub(super) fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        self.line += 1;
    }

    /// Moves over a block that was proven.
    pub(super) fn skip_block(&mut self, block: Inside) {
        let at_column = if block.is_mapping { All } else { Dashes };
        self.skip_lines(block.column.written, at_column, usize::MAX);
    }

    /// Moves over a field of a block that was proven, or a comment above it: to its end, or
    /// to the first line behind `until`.
    pub(super) fn skip_field(&mut self, column: Column, until: usize) {
        // Of a list that is not indented the dashes are below the key.
        self.skip_lines(column.written, Dashes, until);
    }

    /// Likewise an entry, from its dash on.
    pub(super) fn skip_entry(&mut self, column: Column, until: usize) {
        self.skip_lines(column.written, Nothing, until);
    }

    /// Moves over this line and those that belong to it: what is deeper, and some of what
    /// is at this column.
    fn skip_lines(&mut self, column: usize, at_column: AtColumn, until: usize) {
        let start = self.at;
        self.skip_line();
        while self.at < self.bytes.len() && self.at <= until {
            let spaces = self.spaces(self.at);
            let content = self.at + spaces;
            let is_inside = match spaces.cmp(&column) {
                Ordering::Greater => true,
                Ordering::Less => self.bytes.get(content) == Some(&b'\n'),
                Ordering::Equal => match at_column {
                    All => true,
                    Dashes => self.is_at_dash(self.below_comments(content, column).1),
                    Nothing => false,
                },
            };
            if !is_inside {
                break;
            }
            self.skip_line();
        }
        if self.at - start > LONG {
            meter::look();
        }
    }
}

/// Which lines at the column of a block belong to it.
#[derive(Clone, Copy)]
enum AtColumn {
    All,
    Dashes,
    Nothing,
}
