//! Keys that a mapping has twice, which Go's reader of configurations refuses.

use std::{collections::HashSet, fmt::Write as _};

use crate::{
    go,
    yaml::{Node, SequenceIndent, parse_all, write_node},
};

/// Refuses a configuration in which a mapping has a key twice. The error is Go's: its lines are
/// those of the configuration as it is written anew.
pub(crate) fn check_keys(config: &Node) -> Result<(), String> {
    if !has_key_twice(config) {
        return Ok(());
    }
    let documents = parse_all(&write_node(config, SequenceIndent::Compact)).unwrap_or_default();
    let mut message = "yaml: unmarshal errors:".to_owned();
    for document in &documents {
        tell(&document.root, &mut message);
    }
    Err(message)
}

fn has_key_twice(node: &Node) -> bool {
    let mut known = HashSet::new();
    let mut keys = node.fields().iter().filter_map(|(key, _)| key.value());
    let values = node.fields().iter().map(|(_, value)| value);
    !keys.all(|key| known.insert(key)) || values.chain(node.items()).any(has_key_twice)
}

/// Go does not look further into a mapping that has one.
fn tell(node: &Node, message: &mut String) {
    let (fields, before) = (node.fields(), message.len());
    for (at, (first, _)) in fields.iter().enumerate() {
        let same = |(key, _): &&(Node, Node)| key.value().is_some() && key.value() == first.value();
        for (second, _) in fields[at + 1..].iter().filter(same) {
            let key = go::quote(second.value().unwrap_or_default());
            // Writing to text does not fail.
            let _ = write!(
                message,
                "\n  line {}: mapping key {key} already defined at line {}",
                second.line, first.line
            );
        }
    }
    if message.len() == before {
        let values = fields.iter().map(|(_, value)| value);
        for value in values.chain(node.items()) {
            tell(value, message);
        }
    }
}
