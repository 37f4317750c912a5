//! The text that blocks are parts of: that of a list, or that of one object, as the
//! emitter would write it.

use std::{fmt, ops::Deref};

/// A text, and which line of the list each of its lines was.
pub(crate) struct Source {
    text: Box<str>,
    /// Lines of the text, in order: before each of them a line of the list was left out.
    left_out: Vec<u32>,
}

impl Source {
    pub(super) fn rewritten(text: String, left_out: Vec<u32>) -> Self {
        let text = text.into_boxed_str();
        Self { text, left_out }
    }

    /// The line of the list, of a line of this text. Both count from where the text begins
    /// in the list.
    pub(super) fn line_in_list(&self, line: u32) -> u32 {
        let left_out = self.left_out.partition_point(|before| *before <= line);
        line + u32::try_from(left_out).unwrap_or(u32::MAX)
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self::rewritten(text.to_owned(), Vec::new())
    }
}

impl Deref for Source {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
