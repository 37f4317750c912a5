//! Writing block collections.

use super::super::node::Node;
use super::comments::wait;
use super::{Emitter, Parent, Role, SequenceIndent, is_simple_key};

impl Emitter {
    /// Whether the dashes of a sequence are not indented.
    pub(super) fn is_compact(&self, role: Role) -> bool {
        matches!(role, Role::Value | Role::SimpleKey)
            && (self.column == 0 || !self.indention)
            && self.sequence_indent == SequenceIndent::Compact
    }

    pub(super) fn block_sequence(
        &mut self,
        node: &Node,
        items: &[Node],
        parent: Parent,
        role: Role,
    ) {
        let before = self.indent;
        for (at, item) in items.iter().enumerate() {
            self.announce(item, "");
            if at == 0 {
                let compact = self.is_compact(role);
                self.deeper(false, parent, compact);
            }
            self.head_comment();
            self.start_line();
            self.indicator("-", true, false, true);
            self.place(item, Parent::BlockSequence, Role::Item);
            self.line_comment();
            self.foot_comment();
            self.body(item, Parent::BlockSequence, Role::Item);
        }
        self.announce_end(node);
        self.indent = before;
    }

    pub(super) fn block_mapping(&mut self, node: &Node, fields: &[(Node, Node)], parent: Parent) {
        let mut before = self.indent;
        let mut tail = String::new();
        for (at, (key, value)) in fields.iter().enumerate() {
            self.announce_key(key, &tail);
            key.comments().foot.clone_into(&mut tail);
            if at == 0 {
                before = self.deeper(false, parent, false);
            }
            self.head_comment();
            self.start_line();
            if !self.line.is_empty() {
                self.key_line = std::mem::take(&mut self.line);
            }
            let simple = is_simple_key(key);
            if simple {
                self.place(key, Parent::Other, Role::SimpleKey);
                self.body(key, Parent::Other, Role::SimpleKey);
                self.announce(value, "");
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.place(key, Parent::Other, Role::Value);
                self.body(key, Parent::Other, Role::Value);
                self.announce(value, "");
                self.start_line();
                self.indicator(":", true, false, true);
            }
            self.key_line_comment(value);
            self.place(value, Parent::Other, Role::Value);
            self.line_comment();
            self.foot_comment();
            self.body(value, Parent::Other, Role::Value);
        }
        wait(&mut self.tail, &tail);
        self.announce_end(node);
        self.head_comment();
        self.indent = before;
    }
}
