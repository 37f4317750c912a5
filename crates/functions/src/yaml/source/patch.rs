//! What has to be replaced in a text so that it says what the edited tree says.

use super::super::emitter::{SequenceIndent, write_key, write_node};
use super::super::node::{Content, Node, ScalarStyle, Tag};
use super::lines::Lines;

/// Where a node stands.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Root,
    /// The value of a field whose key is in this column.
    Value(usize),
    /// The entry of a list whose dash is in this column.
    Entry(usize),
    /// Between brackets.
    Flow,
}

/// Bytes of the text, and what comes in their place.
struct Splice {
    from: usize,
    to: usize,
    with: String,
}

pub(super) struct Patch<'a> {
    pub(super) lines: Lines<'a>,
    splices: Vec<Splice>,
}

impl<'a> Patch<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            lines: Lines { text },
            splices: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    pub(super) fn root(&mut self, before: &Node, after: &Node) {
        self.node(before, after, Place::Root);
    }

    /// The text with everything replaced.
    pub(super) fn apply(mut self) -> String {
        self.splices.sort_by_key(|splice| splice.from);
        let text = self.lines.text;
        let mut patched = String::with_capacity(text.len());
        let mut copied = 0;
        for splice in &self.splices {
            if splice.from > copied {
                patched.push_str(&text[copied..splice.from]);
            }
            patched.push_str(&splice.with);
            copied = copied.max(splice.to);
        }
        patched.push_str(&text[copied..]);
        patched
    }

    pub(super) fn splice(&mut self, from: usize, to: usize, with: String) {
        self.splices.push(Splice { from, to, with });
    }

    pub(super) fn node(&mut self, before: &Node, after: &Node, place: Place) {
        let same_properties =
            before.anchor() == after.anchor() && before.tag_name() == after.tag_name();
        match (&before.content, &after.content) {
            (
                Content::Mapping { fields, flow },
                Content::Mapping {
                    fields: edited,
                    flow: same,
                },
            ) if same_properties && flow == same => {
                if !self.fields(before, fields, edited, *flow, place) {
                    self.replace(before, after, place);
                }
            }
            (
                Content::Sequence { items, flow },
                Content::Sequence {
                    items: edited,
                    flow: same,
                },
            ) if same_properties && flow == same => {
                if !self.entries(before, items, edited, *flow, place) {
                    self.replace(before, after, place);
                }
            }
            _ if same_properties && before.content == after.content => {}
            _ => self.replace(before, after, place),
        }
    }

    /// A key keeps its place and its line.
    pub(super) fn key(&mut self, before: &Node, after: &Node, flow: bool) {
        if before.content != after.content {
            let (from, to) = range(before);
            self.splice(from, to, write_key(after, flow));
        }
    }

    fn replace(&mut self, before: &Node, after: &Node, place: Place) {
        let (mut from, mut to) = range(before);
        let mut bare = after.clone().with_comments(None);
        let mut place = place;
        let was_block = is_block_scalar(before);
        if was_block {
            let comment = self.lines.header_comment(from);
            bare.comments_mut().line = comment.to_owned();
            // Empty lines below are no part of what is replaced.
            let old = self.lines.text[from..to].trim_end_matches(['\n', '\r']);
            to = from + old.len();
            place = as_deep(place, &bare, old);
        }
        if !was_block || self.lines.end(to) == self.lines.text.len() {
            keep_in_line(&mut bare);
        }
        let with = self.written(bare, place);
        if with.starts_with(['\n', '\r']) {
            from = self.lines.text[..from].trim_end_matches([' ', '\t']).len();
        } else if let Some(rest) = with.strip_prefix(' ')
            && from < to
        {
            // What stood below its key or dash and needs one line goes there.
            let above = self.lines.text[..from].trim_end();
            if self.lines.start(from) > above.len() && above.ends_with([':', '-']) {
                from = above.len();
            } else {
                return self.splice(from, to, rest.to_owned());
            }
        }
        self.splice(from, to, with);
    }

    /// The node's text, with the space or line break that separates it from its
    /// key or dash.
    fn written(&self, node: Node, place: Place) -> String {
        match place {
            Place::Root => {
                let text = write_node(&node, SequenceIndent::Compact);
                self.shifted(text.trim_end_matches('\n'), 0)
            }
            Place::Flow => flow_item(node),
            Place::Value(column) => {
                self.shifted(&field(Node::text("k"), node)["k:".len()..], column)
            }
            Place::Entry(column) => self.shifted(&entry(node)["-".len()..], column),
        }
    }

    /// Lines of an own document, moved to a column of the text.
    pub(super) fn shifted(&self, text: &str, column: usize) -> String {
        let mut shifted = String::with_capacity(text.len());
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                shifted.push_str(self.lines.line_break());
                if !line.is_empty() {
                    shifted.extend(std::iter::repeat_n(' ', column));
                }
            }
            shifted.push_str(line);
        }
        shifted
    }
}

pub(super) fn range(node: &Node) -> (usize, usize) {
    (node.span.0 as usize, node.span.1 as usize)
}

fn without_last_break(mut text: String) -> String {
    text.pop();
    text
}

/// A field in lines of its own.
pub(super) fn field(key: Node, value: Node) -> String {
    let mapping = Node::mapping(vec![(key, value)]);
    without_last_break(write_node(&mapping, SequenceIndent::Compact))
}

/// An entry in lines of its own.
pub(super) fn entry(item: Node) -> String {
    let sequence = Node::sequence(vec![item]);
    without_last_break(write_node(&sequence, SequenceIndent::Compact))
}

/// A field between brackets.
pub(super) fn flow_field(key: Node, value: Node) -> String {
    let fields = vec![(key, value)];
    between_brackets(Node::new(Content::Mapping { fields, flow: true }, Tag::Map))
}

/// An entry between brackets.
pub(super) fn flow_item(item: Node) -> String {
    let items = vec![item];
    between_brackets(Node::new(Content::Sequence { items, flow: true }, Tag::Seq))
}

fn between_brackets(mut node: Node) -> String {
    strip_comments(&mut node);
    let text = without_last_break(write_node(&node, SequenceIndent::Compact));
    text[1..text.len() - 1].to_owned()
}

/// Comments between brackets would need lines.
fn strip_comments(node: &mut Node) {
    *node = std::mem::replace(node, Node::text("")).with_comments(None);
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                strip_comments(key);
                strip_comments(value);
            }
        }
        Content::Sequence { items, .. } => items.iter_mut().for_each(strip_comments),
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
}

fn is_block_scalar(node: &Node) -> bool {
    let style = match &node.content {
        Content::Scalar { style, .. } => *style,
        _ => ScalarStyle::Plain,
    };
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

/// Several lines would take in a comment behind or below them, and need a line
/// break at their end.
fn keep_in_line(node: &mut Node) {
    if let Content::Scalar { value, style } = &mut node.content
        && value.contains('\n')
    {
        *style = ScalarStyle::DoubleQuoted;
    }
}

/// The place from which a block scalar is as deep as the `old` one: comments
/// below are no part of it then, either.
fn as_deep(place: Place, scalar: &Node, old: &str) -> Place {
    let mut lines = old.lines().skip(1).filter(|line| !line.trim().is_empty());
    let indent = lines
        .next()
        .map_or(0, |line| line.len() - line.trim_start().len());
    let tells_indent = scalar
        .value()
        .is_some_and(|value| value.starts_with([' ', '\n']));
    match place {
        Place::Value(_) if indent >= 2 && !tells_indent => Place::Value(indent - 2),
        Place::Entry(_) if indent >= 2 && !tells_indent => Place::Entry(indent - 2),
        place => place,
    }
}
