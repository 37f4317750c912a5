//! Fields in text that is YAML or JSON itself, such as a file in a ConfigMap.

use super::{
    getter::{self, Wording},
    path::{self, Leaf},
};
use crate::{
    json,
    yaml::{Content, Node, SequenceIndent, Tag, parse_all, resolve, write_node},
};

/// Sets the field that a path leads to in a text, if it does.
pub(super) fn set(item: &mut Node, field: &str, value: &Node, create: bool) -> bool {
    let parts = path::split(field, false);
    let Some((at, text)) = find(item, &parts) else {
        return false;
    };
    let Some(mut inner) = parse(&text) else {
        return false;
    };
    let create = create.then(|| Leaf::of(value));
    let visited = path::visit(
        &mut inner,
        &parts[at..],
        create,
        &mut |node| match &node.content {
            Content::Scalar { .. } => node.set_value(value.value().unwrap_or("")),
            _ => *node = value.clone(),
        },
    );
    if !visited.is_ok_and(|count| count > 0) {
        return false;
    }
    let written = match text.trim_start().as_bytes() {
        [b'{' | b'[', ..] => {
            let reread = parse(&write_node(&inner, SequenceIndent::Compact));
            let Some(reread) = reread.filter(means_what_its_tags_say) else {
                return false;
            };
            json::text(&reread, text.contains('\n') && text.contains("  "))
        }
        _ => write_node(&inner, SequenceIndent::Compact)
            .trim()
            .to_owned(),
    };
    match getter::get(item, &parts[..at], None, Wording::WithContents) {
        Ok(Some(node)) => {
            node.set_value(&written);
            true
        }
        _ => false,
    }
}

/// Whether no text stands where a number or the like was, which Go cannot read.
fn means_what_its_tags_say(node: &Node) -> bool {
    match &node.content {
        Content::Mapping { fields, .. } => {
            let mut values = fields.iter().map(|(_, value)| value);
            values.all(means_what_its_tags_say)
        }
        Content::Sequence { items, .. } => items.iter().all(means_what_its_tags_say),
        Content::Scalar { value, .. } => {
            !node.tagged
                || node.tag == Tag::Str
                || resolve(value) == node.tag
                || (node.tag == Tag::Float && resolve(value) == Tag::Int)
        }
        Content::Alias(_) => true,
    }
}

/// Lets a path that leads into a text go on in a copy, as kyaml does: what is found
/// counts, what is set there is lost. The copy, and how many parts lead to it.
pub(super) fn copy_of_text(item: &mut Node, field: &str) -> Option<(Node, Vec<String>)> {
    let parts = path::split(field, false);
    let (at, text) = find(item, &parts)?;
    Some((parse(&text)?, parts[at..].to_vec()))
}

/// The length of the path to the first text on the way that can be read, and the
/// text.
fn find(item: &mut Node, parts: &[String]) -> Option<(usize, String)> {
    for at in 1..parts.len() {
        let found = getter::get(item, &parts[..at], None, Wording::WithContents);
        let text = found
            .ok()
            .flatten()
            .and_then(|node| Some(node.value()?.to_owned()));
        if let Some(text) = text.filter(|text| parse(text).is_some()) {
            return Some((at, text));
        }
    }
    None
}

fn parse(text: &str) -> Option<Node> {
    let documents = parse_all(text).ok()?;
    documents.into_iter().next().map(|document| document.root)
}
