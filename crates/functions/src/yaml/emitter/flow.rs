//! Writing collections in brackets.

use super::super::node::Node;
use super::comments::wait;
use super::{Emitter, Parent, Role, is_simple_key};

impl Emitter {
    pub(super) fn flow_sequence(&mut self, node: &Node, items: &[Node], parent: Parent) {
        let before = self.open_flow("[", parent);
        let mut comma_written = true;
        for item in items {
            self.announce(item, "");
            self.next_in_flow(comma_written);
            comma_written = self.has_comment_behind();
            self.place(item, Parent::Other, Role::Item);
            self.end_in_flow(item, Role::Item);
        }
        self.announce_end(node);
        self.flow_level -= 1;
        self.indent = before;
        if self.column == 0 {
            self.start_line();
        }
        self.indicator("]", false, false, false);
        self.line_comment();
        self.foot_comment();
    }

    pub(super) fn open_flow(&mut self, bracket: &str, parent: Parent) -> isize {
        self.indicator(bracket, true, true, false);
        self.flow_level += 1;
        self.deeper(true, parent, false)
    }

    pub(super) fn next_in_flow(&mut self, comma_written: bool) {
        if !comma_written {
            self.indicator(",", false, false, false);
        }
        self.head_comment();
        if self.column == 0 {
            self.start_line();
        }
    }

    pub(super) fn end_in_flow(&mut self, node: &Node, role: Role) {
        if self.has_comment_behind() {
            self.indicator(",", false, false, false);
        }
        self.line_comment();
        self.foot_comment();
        self.body(node, Parent::Other, role);
    }

    pub(super) fn flow_mapping(&mut self, node: &Node, fields: &[(Node, Node)], parent: Parent) {
        let before = self.open_flow("{", parent);
        let mut comma_written = true;
        let mut tail = String::new();
        for (key, value) in fields {
            self.announce_key(key, &tail);
            key.comments().foot.clone_into(&mut tail);
            self.next_in_flow(comma_written);
            if is_simple_key(key) {
                self.place(key, Parent::Other, Role::SimpleKey);
                self.body(key, Parent::Other, Role::SimpleKey);
                self.announce(value, "");
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, false);
                self.place(key, Parent::Other, Role::Value);
                self.body(key, Parent::Other, Role::Value);
                self.announce(value, "");
                self.indicator(":", true, false, false);
            }
            comma_written = self.has_comment_behind();
            self.place(value, Parent::Other, Role::Value);
            self.end_in_flow(value, Role::Value);
        }
        wait(&mut self.tail, &tail);
        self.announce_end(node);
        let comments = !(self.head.is_empty() && self.foot.is_empty() && self.tail.is_empty());
        if comments && !fields.is_empty() && !comma_written {
            self.indicator(",", false, false, false);
        }
        self.head_comment();
        self.flow_level -= 1;
        self.indent = before;
        self.indicator("}", false, false, false);
        self.line_comment();
        self.foot_comment();
    }
}
