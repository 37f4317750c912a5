//! Paths as kyaml's `PathGetter` follows them: to one node at most. Sources are
//! looked up so by every release of `apply-replacements`, targets only by the first
//! ones; `search-replace` finds the field so that it puts a value into.

use super::path::{Leaf, field_and_value, insert, is_match};
use crate::{
    function::Stop,
    yaml::{Node, SequenceIndent, Tag, kind_name, write_node},
};

/// How a node of another kind than the path wants is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wording {
    /// With the path so far: kyaml before 0.14.
    WithPath,
    WithContents,
}

/// The node at the end of a path, if it is there. What is missing is created if
/// `create` says as what.
pub(crate) fn get<'a>(
    node: &'a mut Node,
    path: &[String],
    create: Option<Leaf>,
    wording: Wording,
) -> Result<Option<&'a mut Node>, Stop> {
    let parts: Vec<&str> = path.iter().map(|part| part.trim()).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut node = node;
    for (at, part) in parts.iter().enumerate() {
        let next = parts.get(at + 1).copied();
        let step = Step::new(part, wording)?;
        // A null has neither fields nor entries, and none are created in it.
        let is_empty = node.is_null() || (node.is_sequence() && node.items().is_empty());
        if matches!(step, Step::Last) && is_empty {
            let message = "runtime error: index out of range [-1]".to_owned();
            return Err(Stop::Panicked(message));
        }
        if node.is_null() {
            return Ok(None);
        }
        let found = match step {
            Step::Index(index) => {
                check(node, node.is_sequence(), "SequenceNode", wording, &names)?;
                node.items_mut().and_then(|items| items.get_mut(index))
            }
            Step::Last => {
                check(node, node.is_sequence(), "SequenceNode", wording, &names)?;
                node.items_mut().and_then(|items| items.last_mut())
            }
            Step::Match(field, value) => {
                check(node, node.is_sequence(), "SequenceNode", wording, &names)?;
                entry(node, field, value, create.is_some())
            }
            Step::Field(name) => {
                names.push(name);
                let before = &names[..names.len() - 1];
                check(node, node.is_mapping(), "MappingNode", wording, before)?;
                if let (None, Some(leaf)) = (node.get(name), create) {
                    insert(
                        node,
                        name,
                        leaf.node_before(next, wording == Wording::WithContents),
                    );
                }
                node.get_mut(name)
            }
        };
        match found {
            Some(found) => node = found,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

enum Step<'a> {
    Index(usize),
    Last,
    Match(&'a str, &'a str),
    Field(&'a str),
}

impl<'a> Step<'a> {
    fn new(part: &'a str, wording: Wording) -> Result<Self, String> {
        if let Ok(index) = part.parse::<i64>() {
            return usize::try_from(index)
                .map(Self::Index)
                .map_err(|_| format!("array index {index} cannot be negative"));
        }
        match part {
            "-" => Ok(Self::Last),
            "*" if wording == Wording::WithContents => {
                Err("wildcard is not supported in PathGetter".into())
            }
            part if is_match(part) => {
                field_and_value(part).map(|(field, value)| Self::Match(field, value))
            }
            part => Ok(Self::Field(part)),
        }
    }
}

/// The first entry whose field has this value, or that is this value.
fn entry<'a>(node: &'a mut Node, field: &str, value: &str, create: bool) -> Option<&'a mut Node> {
    let items = node.items_mut()?;
    let has = |item: &Node| match field {
        "" => item.value().unwrap_or("") == value,
        field => {
            let mut fields = item.fields().iter();
            fields
                .any(|(key, own)| key.value() == Some(field) && own.value().unwrap_or("") == value)
        }
    };
    if let Some(at) = items.iter().position(has) {
        return items.get_mut(at);
    }
    if !create {
        return None;
    }
    let mut text = Node::text(value);
    text.tag = Tag::None;
    items.push(match field {
        "" => text,
        field => {
            let mut item = Node::mapping(Vec::new());
            item.insert(field, text);
            item
        }
    });
    items.last_mut()
}

fn check(
    node: &Node,
    is: bool,
    kind: &str,
    wording: Wording,
    names: &[&str],
) -> Result<(), String> {
    if is {
        return Ok(());
    }
    let (own, text) = (kind_name(node), write_node(node, SequenceIndent::Compact));
    Err(match wording {
        Wording::WithPath => format!(
            "wrong Node Kind for {} expected: {kind} was {own}: value: {{{}}}",
            names.join("."),
            text.trim()
        ),
        Wording::WithContents => {
            format!("wrong node kind: expected {kind} but got {own}: node contents:\n{text}")
        }
    })
}
