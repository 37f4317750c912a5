//! Where the scanner stands: looking at characters and moving over them.

use super::Scanner;

impl<'a> Scanner<'a> {
    /// The byte that is `ahead` of the cursor; 0 at the end of the text.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at.index + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self, ahead: usize) -> bool {
        self.at.index + ahead >= self.bytes.len()
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    /// The length of the line break that is `ahead` of the cursor, CRLF as one.
    pub(super) fn line_break(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.byte(ahead + 1) == b'\n'),
            0xC2 => 2 * usize::from(self.byte(ahead + 1) == 0x85),
            0xE2 if self.byte(ahead + 1) == 0x80 => {
                3 * usize::from(matches!(self.byte(ahead + 2), 0xA8 | 0xA9))
            }
            _ => 0,
        }
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        self.line_break(ahead) > 0
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.is_end(ahead) || self.is_break(ahead)
    }

    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Moves over one character.
    pub(super) fn skip(&mut self) {
        if self.is_end(0) {
            return;
        }
        if !self.is_blank(0) {
            self.newlines = 0;
        }
        self.at.index += width(self.byte(0));
        self.at.column += 1;
    }

    /// Moves over spaces, and over tabs where they may stand.
    pub(super) fn skip_blanks(&mut self, tabs_allowed: bool) {
        let rest = &self.bytes[self.at.index..];
        let is_blank = |byte: &&u8| **byte == b' ' || (tabs_allowed && **byte == b'\t');
        let length = rest.iter().take_while(is_blank).count();
        self.at.index += length;
        self.at.column += length;
    }

    /// The bytes up to the end of the line.
    pub(super) fn line_length(&self) -> usize {
        let rest = &self.bytes[self.at.index..];
        let may_break = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0xC2 | 0xE2);
        let mut length = 0;
        while let Some(more) = rest[length..].iter().position(may_break) {
            length += more;
            if self.is_break(length) {
                return length;
            }
            length += 1;
        }
        rest.len()
    }

    /// Moves over one character, which goes to `into`.
    pub(super) fn read(&mut self, into: &mut String) {
        let from = self.at.index;
        self.skip();
        into.push_str(&self.text[from..self.at.index]);
    }

    /// Moves over a line break.
    pub(super) fn skip_line(&mut self) {
        let length = self.line_break(0);
        if length > 0 {
            self.at.index += length;
            self.at.column = 0;
            self.at.line += 1;
            self.newlines += 1;
        }
    }

    /// Moves over a line break, which goes to `into`; most become a line feed.
    pub(super) fn read_line(&mut self, into: &mut String) {
        let from = self.at.index;
        self.skip_line();
        match &self.text[from..self.at.index] {
            "" => {}
            kept @ ("\u{2028}" | "\u{2029}") => into.push_str(kept),
            _ => into.push('\n'),
        }
    }

    /// Moves over `length` bytes that hold no line break, and returns them.
    pub(super) fn advance(&mut self, length: usize) -> &'a str {
        let slice = &self.text[self.at.index..self.at.index + length];
        if slice.bytes().any(|byte| !matches!(byte, b' ' | b'\t')) {
            self.newlines = 0;
        }
        self.at.index += length;
        self.at.column += slice.bytes().filter(|byte| byte & 0xC0 != 0x80).count();
        slice
    }
}

/// How many bytes the character has that begins with `first`.
fn width(first: u8) -> usize {
    match first {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}
