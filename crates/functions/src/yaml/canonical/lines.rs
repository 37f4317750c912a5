//! Moving from line to line: where a block goes on, what is above its entries, and how
//! lines end.

use std::{cmp::Ordering, ops::Range};

use super::{part::Column, walk::Walk};

/// Blanks in front of a comment: the parser looks no farther than 512.
const FARTHEST: usize = 256;

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
    pub(super) fn leave_out_empty_lines(&mut self) -> Option<usize> {
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
    pub(super) fn comments_above(&mut self, column: Column) -> Option<Range<usize>> {
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
    pub(super) fn rest_of_line(&mut self) -> Option<Range<usize>> {
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

    /// Moves over the lines of a block that was proven, or over those that follow its
    /// first line.
    pub(super) fn skip_block(&mut self, column: usize, is_mapping: bool) {
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
