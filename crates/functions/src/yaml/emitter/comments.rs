//! Comments: waiting for their place, and writing them there.

use super::super::node::{Content, Node};
use super::Emitter;

/// The comment waits in its place; one that waits already is replaced.
pub(super) fn wait(place: &mut String, comment: &str) {
    if !comment.is_empty() {
        comment.clone_into(place);
    }
}

impl Emitter {
    /// The node's comments wait from here on.
    pub(super) fn announce(&mut self, node: &Node, tail: &str) {
        if node.comments.is_none() && tail.is_empty() {
            return;
        }
        let comments = node.comments();
        wait(&mut self.head, &comments.head);
        match node.content {
            Content::Scalar { .. } | Content::Alias(_) => {
                wait(&mut self.line, &comments.line);
                wait(&mut self.foot, &comments.foot);
                wait(&mut self.tail, tail);
            }
            Content::Mapping { .. } => wait(&mut self.tail, tail),
            Content::Sequence { .. } => {}
        }
    }

    /// The comments of a collection's end wait from here on.
    pub(super) fn announce_end(&mut self, node: &Node) {
        let comments = node.comments();
        wait(&mut self.line, &comments.line);
        wait(&mut self.foot, &comments.foot);
    }

    /// A key's comments, except for the one below: that is written when the
    /// whole field is.
    pub(super) fn announce_key(&mut self, key: &Node, tail: &str) {
        if key.comments().foot.is_empty() {
            self.announce(key, tail);
        } else {
            let mut copy = key.clone();
            copy.set_foot(String::new());
            self.announce(&copy, tail);
        }
    }

    /// A comment behind a key that has no value in its line.
    pub(super) fn key_line_comment(&mut self, value: &Node) {
        if self.key_line.is_empty() {
            return;
        }
        match &value.content {
            Content::Scalar { .. } if self.line.is_empty() => {
                self.line = std::mem::take(&mut self.key_line);
            }
            Content::Mapping { flow: false, .. } | Content::Sequence { flow: false, .. } => {
                let line = std::mem::replace(&mut self.line, std::mem::take(&mut self.key_line));
                self.line_comment();
                self.key_line = std::mem::replace(&mut self.line, line);
            }
            _ => {}
        }
    }

    pub(super) fn has_comment_behind(&self) -> bool {
        !(self.line.is_empty() && self.foot.is_empty() && self.tail.is_empty())
    }

    pub(super) fn head_comment(&mut self) {
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.start_line();
            self.comment(&tail);
            self.foot_indent = self.indent.max(0);
        }
        if !self.head.is_empty() {
            let head = std::mem::take(&mut self.head);
            self.start_line();
            self.comment(&head);
        }
    }

    pub(super) fn line_comment(&mut self) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            if !self.whitespace {
                self.put(' ');
            }
            self.comment(&line);
        }
    }

    pub(super) fn foot_comment(&mut self) {
        if !self.foot.is_empty() {
            let foot = std::mem::take(&mut self.foot);
            self.start_line();
            self.comment(&foot);
            self.foot_indent = self.indent.max(0);
        }
    }

    pub(super) fn comment(&mut self, comment: &str) {
        let mut ended = false;
        for (at, line) in comment.split('\n').enumerate() {
            if at > 0 {
                self.line_feed();
            }
            ended = line.is_empty();
            if ended {
                continue;
            }
            if at > 0 {
                self.start_line();
            }
            if !line.starts_with('#') {
                self.write("# ");
            }
            self.write(line);
            self.indention = false;
        }
        if !ended {
            self.line_feed();
        }
        self.whitespace = true;
    }
}
