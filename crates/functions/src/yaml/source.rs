//! The text that blocks are parts of: that of a list, or that of one object, as the
//! emitter would write it.

use std::{fmt, ops::Deref};

/// A text, and which line of the list each of its lines was.
pub(crate) struct Source {
    text: Box<str>,
    /// Lines of the text before which lines of the list were left out, in order, and how
    /// many were up to there.
    left_out: Vec<(u32, u32)>,
}

impl Source {
    pub(super) fn rewritten(text: String, left_out: Vec<(u32, u32)>) -> Self {
        let text = text.into_boxed_str();
        Self { text, left_out }
    }

    /// Another text with the same lines.
    pub(super) fn replaced(old: &Self, text: String) -> Self {
        Self::rewritten(text, old.left_out.clone())
    }

    /// The line of the list, of a line of this text. Both count from where the text begins
    /// in the list.
    pub(super) fn line_in_list(&self, line: u32) -> u32 {
        let above = self.left_out.partition_point(|(before, _)| *before <= line);
        let last = above.checked_sub(1).and_then(|at| self.left_out.get(at));
        line + last.map_or(0, |(_, total)| *total)
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self::rewritten(text, Vec::new())
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
