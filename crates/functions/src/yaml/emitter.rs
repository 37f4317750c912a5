//! Writes a tree as yaml.v3 writes it: two spaces of indentation, scalars in
//! the style they had where that is possible, comments where the reader put
//! them, no line ever folded.
//!
//! Comments wait in the emitter until a place comes where they may be written;
//! which places those are is yaml.v3's order of events, and it decides what a
//! comment in an unusual place becomes.

mod block;
mod comments;
mod copy;
mod flow;
mod output;
mod scalar;
mod style;

use super::node::{Content, Node, Tag};
use super::parser::Document;
use crate::meter;
pub(super) use style::is_word;

const INDENT: isize = 2;
/// What is written around a node, on average.
const INDENTED: usize = 16;
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

/// As [`write_node`], for a text of about this length.
pub(crate) fn write_sized(root: &Node, indent: SequenceIndent, length: usize) -> String {
    let mut emitter = Emitter::new(indent);
    emitter.out.reserve(length + length / 16);
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

    /// Writes a scalar, or what is before a collection.
    fn place(&mut self, node: &Node, parent: Parent, role: Role) {
        // The text's buffer doubles as it grows.
        if !meter::charge(INDENTED + 2 * node.value().map_or(0, str::len)) {
            return;
        }
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
            self.tag(node.tag_name());
        }
    }

    fn anchor(&mut self, node: &Node) {
        if let Some(anchor) = node.anchor() {
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
        if !meter::charge(0) {
            return;
        }
        match &node.content {
            Content::Mapping {
                fields,
                flow: false,
            } if self.copy(node, fields.written(), parent, false) => {}
            Content::Sequence { items, flow: false }
                if self.copy(node, items.written(), parent, self.is_compact(role)) => {}
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
}

fn is_simple_key(key: &Node) -> bool {
    let tag = if key.tagged { key.tag_name().len() } else { 0 };
    let properties = key.anchor().map_or(0, str::len) + tag;
    match &key.content {
        Content::Alias(name) => name.len() <= LONGEST_KEY,
        Content::Scalar { value, .. } => {
            !style::has_breaks(value) && properties + value.len() <= LONGEST_KEY
        }
        Content::Mapping { fields, .. } => fields.is_empty() && properties <= LONGEST_KEY,
        Content::Sequence { items, .. } => items.is_empty() && properties <= LONGEST_KEY,
    }
}
