//! Fields in text that is YAML or JSON itself, such as a file in a ConfigMap.

use super::{
    getter::{self, Wording},
    path::{self, Leaf},
};
use crate::{
    json,
    yaml::{Content, Node, SequenceIndent, parse_all, write_node},
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
        [b'{' | b'[', ..] => json::text(&inner, text.contains('\n') && text.contains("  ")),
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
