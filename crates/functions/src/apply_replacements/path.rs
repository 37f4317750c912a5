//! Paths of replacements: `spec.containers.[name=web].image`, `list.0`, `list.*`.

use crate::{
    expression, fieldspec,
    yaml::{Content, Node, SequenceIndent, Tag, kind_name, write_node},
};

/// Splits a path at dots; those in brackets or behind a backslash stay.
/// To the first releases an empty name at the beginning is one.
pub(super) fn split(path: &str, keeps_first: bool) -> Vec<String> {
    let mut result = Vec::new();
    let first = (keeps_first && path.starts_with('.')).then(String::new);
    let parts = fieldspec::split(path, '.');
    let mut parts = first.into_iter().chain(parts);
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            result.push(part);
            continue;
        }
        let mut bracketed = part;
        for more in parts.by_ref() {
            bracketed.push('.');
            bracketed.push_str(&more);
            if bracketed.ends_with(']') {
                break;
            }
        }
        if bracketed.contains('=') {
            result.push(bracketed);
        } else {
            result.push(bracketed.trim_matches(['[', ']']).to_owned());
        }
    }
    result
}

/// What the last field of a path is created as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    Scalar,
    Mapping,
    Sequence,
}

impl Leaf {
    pub(super) fn of(value: &Node) -> Self {
        match value.content {
            Content::Mapping { .. } => Self::Mapping,
            Content::Sequence { .. } => Self::Sequence,
            _ => Self::Scalar,
        }
    }

    /// An empty node, for a path that goes on with `rest`.
    fn node(self, rest: &[String]) -> Node {
        self.node_before(rest.first().map(String::as_str), true)
    }

    /// An empty node, for a path that goes on with `next`; the first releases do
    /// not take a number for the index of a list.
    pub(super) fn node_before(self, next: Option<&str>, numbers_count: bool) -> Node {
        let leaf = match next {
            None => self,
            Some(next) if is_match(next) => Self::Sequence,
            Some(next) if numbers_count && index(next).is_some() => Self::Sequence,
            Some(_) => Self::Mapping,
        };
        match leaf {
            Self::Mapping => Node::mapping(Vec::new()),
            Self::Sequence => Node::sequence(Vec::new()),
            Self::Scalar => {
                let mut node = Node::text("");
                node.tag = Tag::None;
                node
            }
        }
    }
}

pub(super) fn is_match(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']')
}

fn index(part: &str) -> Option<usize> {
    part.parse().ok()
}

/// Field and value of `[field=value]`.
pub(super) fn field_and_value(part: &str) -> Result<(&str, &str), String> {
    let inner = part.trim_start_matches('[').trim_end_matches(']');
    inner.split_once('=').ok_or_else(|| {
        "list path element must contain fieldName=fieldValue for element to match".to_owned()
    })
}

fn expect(node: &Node, is: bool, kind: &str) -> Result<(), String> {
    if is {
        return Ok(());
    }
    let own = kind_name(node);
    let text = write_node(node, SequenceIndent::Compact);
    Err(format!(
        "wrong node kind: expected {kind} but got {own}: node contents:\n{text}"
    ))
}

/// Calls `at` for every node that the path leads to, and counts them. What is
/// missing is created if `create` says as what.
pub(super) fn visit(
    node: &mut Node,
    path: &[String],
    create: Option<Leaf>,
    at: &mut dyn FnMut(&mut Node),
) -> Result<usize, String> {
    let Some((part, rest)) = path.split_first() else {
        at(node);
        return Ok(1);
    };
    if part.is_empty() {
        expect(node, node.value().is_some(), "ScalarNode")?;
        return Ok(0);
    }
    if let Some(place) = index(part) {
        return visit_index(node, place, rest, create, at);
    }
    if is_match(part) {
        return visit_matches(node, part, rest, create, at);
    }
    if part == "*" {
        expect(node, node.is_sequence(), "SequenceNode")?;
        let mut count = 0;
        for item in node.items_mut().into_iter().flatten() {
            count += visit(item, rest, create, at)?;
        }
        return Ok(count);
    }
    if node.is_null() {
        // What is created in a null is lost.
        return Ok(usize::from(create.is_some()));
    }
    expect(node, node.is_mapping(), "MappingNode")?;
    if let (None, Some(leaf)) = (node.get(part), create) {
        insert(node, part, leaf.node(rest));
    }
    match node.get_mut(part) {
        Some(field) => visit(field, rest, create, at),
        None => Ok(0),
    }
}

/// Adds a field whose name is written as it is.
pub(super) fn insert(node: &mut Node, name: &str, value: Node) {
    let mut key = Node::text(name);
    key.tag = Tag::None;
    if let Some(fields) = node.fields_mut() {
        fields.push((key, value));
    }
}

fn visit_index(
    node: &mut Node,
    place: usize,
    rest: &[String],
    create: Option<Leaf>,
    at: &mut dyn FnMut(&mut Node),
) -> Result<usize, String> {
    expect(node, node.is_sequence(), "SequenceNode")?;
    let Some(items) = node.items_mut() else {
        return Ok(0);
    };
    if let (true, Some(leaf)) = (items.len() == place, create) {
        items.push(leaf.node(rest));
    }
    let count = items.len();
    match items.get_mut(place) {
        Some(item) => visit(item, rest, create, at),
        None => Err(format!(
            "index {place} specified but only {count} elements found"
        )),
    }
}

fn visit_matches(
    node: &mut Node,
    part: &str,
    rest: &[String],
    create: Option<Leaf>,
    at: &mut dyn FnMut(&mut Node),
) -> Result<usize, String> {
    let (field, value) = field_and_value(part)?;
    let expression = expression::compile(value)?;
    expect(node, node.is_sequence(), "SequenceNode")?;
    let Some(items) = node.items_mut() else {
        return Ok(0);
    };
    let fits = |item: &Node| {
        let told = if field.is_empty() {
            Some(item)
        } else {
            item.get(field)
        };
        told.is_some_and(|told| {
            expression.is_match(write_node(told, SequenceIndent::Compact).trim())
        })
    };
    let mut count = 0;
    for item in items.iter_mut().filter(|item| fits(item)) {
        count += match field {
            "" => visit(item, &[], create, at)?,
            _ => visit(item, rest, create, at)?,
        };
    }
    let Some(_) = create.filter(|_| count == 0) else {
        return Ok(count);
    };
    let mut text = Node::text(value);
    text.tag = Tag::None;
    let mut item = match field {
        "" => text,
        field => {
            let mut item = Node::mapping(Vec::new());
            item.insert(field, text);
            item
        }
    };
    let path = if field.is_empty() { &[][..] } else { rest };
    let count = visit(&mut item, path, create, at)?;
    items.push(item);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_brackets_and_behind_backslashes_do_not_split() {
        assert_eq!(split("a.b", false), ["a", "b"]);
        assert_eq!(split("a.[name=b.c].d", false), ["a", "[name=b.c]", "d"]);
        assert_eq!(split("a.[b.c/d].e", false), ["a", "b.c/d", "e"]);
        assert_eq!(split("a.b\\.c", false), ["a", "b.c"]);
    }
}
