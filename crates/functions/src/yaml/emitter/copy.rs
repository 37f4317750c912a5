//! Writing blocks that nobody has changed: their text is what would be written.

use super::super::{block::Written, node::Node};
use super::{Emitter, Parent};
use crate::meter;

impl Emitter {
    /// Writes the text of a block, unless there is none or it does not belong here
    /// as it is. Whether it did.
    pub(super) fn copy(
        &mut self,
        node: &Node,
        written: Option<&Written>,
        parent: Parent,
        compact: bool,
    ) -> bool {
        let Some(written) = written else {
            return false;
        };
        let comments = node.comments();
        let is_last = comments.line.is_empty() && comments.foot.is_empty();
        let is_next =
            self.head.is_empty() && self.key_line.is_empty() && !self.has_comment_behind();
        if self.flow_level > 0
            || !(is_last && is_next)
            || written.indent != self.sequence_indent
            || !meter::charge(written.text().len())
        {
            return false;
        }
        let before = self.deeper(false, parent, compact);
        let fits = self.indent.unsigned_abs() == written.column;
        if fits {
            self.start_line();
            self.out.push_str(written.text());
            // Behind the line feed of its last line.
            self.column = 0;
            self.whitespace = true;
            self.indention = true;
        }
        self.indent = before;
        fits
    }
}
