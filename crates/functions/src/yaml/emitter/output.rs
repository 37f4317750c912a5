//! The text that is written, and where in its line the writer stands.

use super::Emitter;

/// Indentation is copied from here.
const SPACES: &str = "                                                                ";

impl Emitter {
    pub(super) fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    pub(super) fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += isize::try_from(text.len()).unwrap_or(0);
    }

    pub(super) fn line_feed(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.indention = true;
    }

    pub(super) fn indicator(
        &mut self,
        text: &str,
        needs_space: bool,
        is_space: bool,
        is_indention: bool,
    ) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        self.write(text);
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    /// Goes to the current indentation, in a new line if need be.
    pub(super) fn start_line(&mut self) {
        let indent = self.indent.max(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_feed();
        }
        if self.foot_indent == indent {
            self.line_feed();
        }
        let missing = usize::try_from(indent - self.column).unwrap_or(0);
        for _ in 0..missing / SPACES.len() {
            self.out.push_str(SPACES);
        }
        self.out.push_str(&SPACES[..missing % SPACES.len()]);
        self.column = self.column.max(indent);
        self.whitespace = true;
        self.foot_indent = -1;
    }
}
