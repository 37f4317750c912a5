//! Writes a tree as yaml.v3 writes it: two spaces of indentation, scalars in
//! the style they had where that is possible, comments where the reader put
//! them, no line ever folded.
//!
//! Comments wait in the emitter until a place comes where they may be written;
//! which places those are is yaml.v3's order of events, and it decides what a
//! comment in an unusual place becomes.

mod scalar;

use super::node::{Content, Node, Tag};
use super::parser::Document;

const INDENT: isize = 2;
/// From this length on a key is written in the explicit form.
const LONGEST_KEY: usize = 128;

/// Whether the dashes of a sequence are indented below the field they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceIndent {
    Compact,
    Wide,
}

/// Writes a document.
pub fn write(document: &Document, indent: SequenceIndent) -> String {
    let mut emitter = Emitter::new(indent);
    emitter.document(&document.head, &document.root, &document.foot);
    emitter.out
}

/// Writes a node as a document of its own.
pub fn write_node(root: &Node, indent: SequenceIndent) -> String {
    let mut emitter = Emitter::new(indent);
    emitter.document("", root, "");
    emitter.out
}

/// What a node is written into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    BlockSequence,
    Other,
}

/// The role of a node in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    Item,
    SimpleKey,
    /// Keys that need a question mark, too.
    Value,
}

struct Emitter {
    out: String,
    indent: isize,
    column: isize,
    sequence_indent: SequenceIndent,
    flow_level: usize,
    /// The last character was white space, or nothing is needed before the next.
    whitespace: bool,
    /// Only indentation and dashes are in this line so far.
    indention: bool,
    /// The indentation of a comment below which there must be an empty line.
    foot_indent: isize,
    head: String,
    line: String,
    foot: String,
    /// A comment below the field before.
    tail: String,
    key_line: String,
}

impl Emitter {
    fn new(sequence_indent: SequenceIndent) -> Self {
        Self {
            out: String::new(),
            indent: -1,
            column: 0,
            sequence_indent,
            flow_level: 0,
            whitespace: true,
            indention: true,
            foot_indent: -1,
            head: String::new(),
            line: String::new(),
            foot: String::new(),
            tail: String::new(),
            key_line: String::new(),
        }
    }

    fn document(&mut self, head: &str, root: &Node, foot: &str) {
        if !head.is_empty() {
            head.clone_into(&mut self.head);
            self.head_comment();
            self.line_feed();
        }
        self.announce(root, "");
        self.head_comment();
        self.place(root, Parent::Other, Role::Root);
        self.line_comment();
        self.foot_comment();
        self.body(root, Parent::Other, Role::Root);
        if !foot.is_empty() {
            foot.clone_into(&mut self.foot);
        }
        self.foot_indent = 0;
        self.foot_comment();
        self.foot_indent = -1;
        self.start_line();
    }

    /// The node's comments wait from here on.
    fn announce(&mut self, node: &Node, tail: &str) {
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
    fn announce_end(&mut self, node: &Node) {
        let comments = node.comments();
        wait(&mut self.line, &comments.line);
        wait(&mut self.foot, &comments.foot);
    }

    /// Writes a scalar, or what is before a collection.
    fn place(&mut self, node: &Node, parent: Parent, role: Role) {
        match &node.content {
            Content::Alias(name) => {
                self.indicator("*", true, false, false);
                self.words(name);
            }
            Content::Scalar { value, style } => self.scalar(node, value, *style, parent, role),
            Content::Mapping { .. } => self.properties(node, &Tag::Map),
            Content::Sequence { .. } => self.properties(node, &Tag::Seq),
        }
    }

    /// Anchor and tag of a collection.
    fn properties(&mut self, node: &Node, usual: &Tag) {
        self.anchor(node);
        if node.tagged || (node.tag != Tag::None && node.tag != *usual) {
            self.tag(node.tag.short());
        }
    }

    fn anchor(&mut self, node: &Node) {
        if let Some(anchor) = &node.anchor {
            self.indicator("&", true, false, false);
            self.words(anchor);
        }
    }

    fn tag(&mut self, tag: &str) {
        if !self.whitespace {
            self.put(' ');
        }
        if tag.starts_with('!') {
            self.words(tag);
        } else {
            self.words("!<");
            self.words(tag);
            self.words(">");
        }
    }

    fn words(&mut self, text: &str) {
        self.write(text);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes what is inside of a collection.
    fn body(&mut self, node: &Node, parent: Parent, role: Role) {
        match &node.content {
            Content::Mapping { fields, flow } => {
                if *flow || fields.is_empty() || self.flow_level > 0 {
                    self.flow_mapping(node, fields, parent);
                } else {
                    self.block_mapping(node, fields, parent);
                }
            }
            Content::Sequence { items, flow } => {
                if *flow || items.is_empty() || self.flow_level > 0 {
                    self.flow_sequence(node, items, parent);
                } else {
                    self.block_sequence(node, items, parent, role);
                }
            }
            Content::Scalar { .. } | Content::Alias(_) => {}
        }
    }

    fn deeper(&mut self, flow: bool, parent: Parent, compact: bool) -> isize {
        let before = self.indent;
        self.indent = if before < 0 {
            if flow { INDENT } else { 0 }
        } else if parent == Parent::BlockSequence {
            before + 2
        } else {
            let aligned = INDENT * ((before + INDENT) / INDENT);
            aligned - if compact { 2 } else { 0 }
        };
        before
    }

    fn block_sequence(&mut self, node: &Node, items: &[Node], parent: Parent, role: Role) {
        let before = self.indent;
        for (at, item) in items.iter().enumerate() {
            self.announce(item, "");
            if at == 0 {
                let in_mapping = matches!(role, Role::Value | Role::SimpleKey);
                let compact = in_mapping
                    && (self.column == 0 || !self.indention)
                    && self.sequence_indent == SequenceIndent::Compact;
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

    fn block_mapping(&mut self, node: &Node, fields: &[(Node, Node)], parent: Parent) {
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

    /// A key's comments, except for the one below: that is written when the
    /// whole field is.
    fn announce_key(&mut self, key: &Node, tail: &str) {
        if key.comments().foot.is_empty() {
            self.announce(key, tail);
        } else {
            let mut copy = key.clone();
            copy.set_foot(String::new());
            self.announce(&copy, tail);
        }
    }

    /// A comment behind a key that has no value in its line.
    fn key_line_comment(&mut self, value: &Node) {
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

    fn has_comment_behind(&self) -> bool {
        !(self.line.is_empty() && self.foot.is_empty() && self.tail.is_empty())
    }

    fn flow_sequence(&mut self, node: &Node, items: &[Node], parent: Parent) {
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

    fn open_flow(&mut self, bracket: &str, parent: Parent) -> isize {
        self.indicator(bracket, true, true, false);
        self.flow_level += 1;
        self.deeper(true, parent, false)
    }

    fn next_in_flow(&mut self, comma_written: bool) {
        if !comma_written {
            self.indicator(",", false, false, false);
        }
        self.head_comment();
        if self.column == 0 {
            self.start_line();
        }
    }

    fn end_in_flow(&mut self, node: &Node, role: Role) {
        if self.has_comment_behind() {
            self.indicator(",", false, false, false);
        }
        self.line_comment();
        self.foot_comment();
        self.body(node, Parent::Other, role);
    }

    fn flow_mapping(&mut self, node: &Node, fields: &[(Node, Node)], parent: Parent) {
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

    fn head_comment(&mut self) {
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

    fn line_comment(&mut self) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            if !self.whitespace {
                self.put(' ');
            }
            self.comment(&line);
        }
    }

    fn foot_comment(&mut self) {
        if !self.foot.is_empty() {
            let foot = std::mem::take(&mut self.foot);
            self.start_line();
            self.comment(&foot);
            self.foot_indent = self.indent.max(0);
        }
    }

    fn comment(&mut self, comment: &str) {
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

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += isize::try_from(text.len()).unwrap_or(0);
    }

    fn line_feed(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_space: bool, is_indention: bool) {
        if needs_space && !self.whitespace {
            self.put(' ');
        }
        self.write(text);
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    /// Goes to the current indentation, in a new line if need be.
    fn start_line(&mut self) {
        let indent = self.indent.max(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_feed();
        }
        if self.foot_indent == indent {
            self.line_feed();
        }
        let missing = usize::try_from(indent - self.column).unwrap_or(0);
        self.out.extend(std::iter::repeat_n(' ', missing));
        self.column = self.column.max(indent);
        self.whitespace = true;
        self.foot_indent = -1;
    }
}

fn wait(place: &mut String, comment: &str) {
    if !comment.is_empty() {
        comment.clone_into(place);
    }
}

fn is_simple_key(key: &Node) -> bool {
    let tag = if key.tagged { key.tag.short().len() } else { 0 };
    let properties = key.anchor.as_ref().map_or(0, |anchor| anchor.len()) + tag;
    match &key.content {
        Content::Alias(name) => name.len() <= LONGEST_KEY,
        Content::Scalar { value, .. } => {
            !scalar::has_breaks(value) && properties + value.len() <= LONGEST_KEY
        }
        Content::Mapping { fields, .. } => fields.is_empty() && properties <= LONGEST_KEY,
        Content::Sequence { items, .. } => items.is_empty() && properties <= LONGEST_KEY,
    }
}
