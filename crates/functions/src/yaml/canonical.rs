//! Text as the emitter writes it, without a tree in between.
//!
//! [`object`] proves that an object of a list is such text, or becomes it once its
//! indentation, empty lines and blanks are the emitter's. It refuses what it does not
//! know: it takes blocks, words as keys, scalars that keep their style, words in brackets,
//! comments behind values and above entries. [`fields`] and [`entries`] then read one level
//! of what was proven; once the run is over they end early, and nobody will look at what
//! they have read.
//!
//! The tests hold both against the parser and the emitter: whatever is proven
//! is read as the same nodes, and written as the same bytes.

mod find;
mod lines;
mod part;
mod rewrite;
mod scalar;
mod splice;
mod walk;

use std::{ops::Range, rc::Rc};

use super::{
    block::{Block, Written},
    node::{Content, Node, ScalarStyle, Tag},
    parser::parse_from,
    resolve::resolve,
    source::Source,
};
use crate::meter;
pub(crate) use part::{Column, Style};
use part::{Inside, Part, Value};
use rewrite::Rewrite;
use walk::Walk;

/// An object that was proven: its node, and what is behind it.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) node: Node,
    pub(crate) end: usize,
    /// The line of the end, from 1.
    pub(crate) line: u32,
}

/// The object that begins at `start` of the source, behind its dash, if it is as
/// the emitter writes it or can be written so.
pub(crate) fn object(
    source: &Rc<Source>,
    start: usize,
    line: u32,
    column: Column,
    style: Style,
) -> Option<Object> {
    let mut walk = Walk {
        bytes: source.as_bytes(),
        at: start,
        charged: start,
        line,
        style,
        rewrite: Rewrite::from(start),
    };
    let (comments, _) = walk.below_comments(start, column.read);
    if comments > 0 && !style.keeps_heads {
        return None;
    }
    walk.mapping(column)?;
    let (end, end_line) = (walk.at, walk.line);
    let mut written = Written {
        source: Rc::clone(source),
        start,
        end,
        line,
        column: column.written,
        indent: style.indent,
    };
    if !walk.rewrite.is_unchanged() {
        let rewritten = walk.rewrite.finish(source.as_bytes(), end)?;
        (written.start, written.end) = (0, rewritten.len());
        written.source = Rc::new(rewritten);
        if !meter::charge(written.end) {
            return None;
        }
    }
    let mut node = mapping(written);
    node.line = line + comments;
    Some(Object {
        node,
        end,
        line: end_line,
    })
}

/// The block of a part, which ends here.
fn inside(written: &Written, block: &Inside, end: usize) -> Written {
    Written {
        source: Rc::clone(&written.source),
        start: block.start,
        end,
        line: block.line,
        column: block.column.written,
        indent: written.indent,
    }
}

fn mapping(written: Written) -> Node {
    let (fields, flow) = (Block::of(written), false);
    Node::new(Content::Mapping { fields, flow }, Tag::Map)
}

fn sequence(written: Written) -> Node {
    let (items, flow) = (Block::of(written), false);
    Node::new(Content::Sequence { items, flow }, Tag::Seq)
}

/// The fields of a mapping that was proven.
pub(super) fn fields(written: &Written) -> Vec<(Node, Node)> {
    let (mut walk, column) = (Walk::over(written), Column::proven(written.column));
    let mut fields = Vec::new();
    while let Some(part) = walk.field(column) {
        let mut key = scalar(written, &part.key, ScalarStyle::Plain);
        key.line = written.source.line_in_list(part.line);
        above(&mut key, written, &part.head);
        let mut value = value(&mut walk, written, &part);
        let commented = match part.value {
            Value::Block(_) => &mut key,
            _ => &mut value,
        };
        behind(commented, written, &part.comment);
        fields.push((key, value));
        if is_over() || walk.goes_on(column, false) != Some(true) {
            break;
        }
    }
    // Most of a list's memory would be what it has in reserve.
    fields.shrink_to_fit();
    fields
}

/// The entries of a sequence that was proven.
pub(super) fn entries(written: &Written) -> Vec<Node> {
    let (mut walk, column) = (Walk::over(written), Column::proven(written.column));
    let mut entries = Vec::new();
    while let Some(part) = walk.entry(column) {
        let mut entry = value(&mut walk, written, &part);
        above(&mut entry, written, &part.head);
        behind(&mut entry, written, &part.comment);
        entries.push(entry);
        if is_over() || walk.goes_on(column, true) != Some(true) {
            break;
        }
    }
    entries.shrink_to_fit();
    entries
}

/// Every node that is made is charged, so the clock was looked at meanwhile.
fn is_over() -> bool {
    meter::check().is_err()
}

fn part<'a>(written: &'a Written, range: &Range<usize>) -> &'a str {
    written.source.get(range.clone()).unwrap_or("")
}

fn above(node: &mut Node, written: &Written, head: &Range<usize>) {
    if !head.is_empty() {
        let lines: Vec<&str> = part(written, head).lines().map(str::trim_start).collect();
        node.comments_mut().head = lines.join("\n");
    }
}

fn behind(node: &mut Node, written: &Written, comment: &Range<usize>) {
    if !comment.is_empty() {
        part(written, comment).clone_into(&mut node.comments_mut().line);
    }
}

fn scalar(written: &Written, range: &Range<usize>, style: ScalarStyle) -> Node {
    let value = part(written, range).into();
    let tag = match style {
        ScalarStyle::Plain => resolve(part(written, range)),
        _ => Tag::Str,
    };
    Node::new(Content::Scalar { value, style }, tag)
}

/// The value of a part that the walk has just found; moves over its block.
fn value(walk: &mut Walk<'_>, written: &Written, of: &Part) -> Node {
    let line_in_list = written.source.line_in_list(of.line);
    let mut node = match &of.value {
        Value::Scalar(style, range) => scalar(written, range, *style),
        Value::Literal {
            range,
            column,
            is_ended,
        } => literal(part(written, range), *column, *is_ended),
        Value::Flow(range) => {
            let documents = parse_from(part(written, range), line_in_list).unwrap_or_default();
            let root = documents.into_iter().next().map(|document| document.root);
            root.unwrap_or_else(|| Node::plain(""))
        }
        Value::Block(block) => {
            walk.skip_block(*block);
            let part = inside(written, block, walk.at);
            let mut node = if block.is_mapping {
                mapping(part)
            } else {
                sequence(part)
            };
            node.line = written.source.line_in_list(block.first);
            return node;
        }
    };
    node.line = line_in_list;
    node
}

/// The text of lines from `column` on.
fn literal(lines: &str, column: usize, is_ended: bool) -> Node {
    let mut value = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        value.push_str(line.get(column..).unwrap_or("\n"));
    }
    if !is_ended {
        value.pop();
    }
    let (value, style) = (value.into(), ScalarStyle::Literal);
    Node::new(Content::Scalar { value, style }, Tag::Str)
}
