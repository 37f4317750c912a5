//! Values as yaml.v3 encodes those of a Go program: no comments, keys sorted,
//! texts quoted only where they have to be.

use crate::{
    go,
    yaml::{Content, Node},
};

pub use crate::{json::number, results::encoded as text};

/// A number that is not whole, or that Go has read from JSON.
pub fn float(number: f64) -> Node {
    Node::plain(go::float(number))
}

/// A map: its keys in the order in which Go's encoder writes them.
pub fn mapping(fields: Vec<(String, Node)>) -> Node {
    let order = go::order(&fields, |(a, _), (b, _)| go::natural(a, b));
    let fields = go::arranged(fields, order);
    let flow = fields.is_empty();
    let fields = fields.into_iter().map(|(key, value)| (text(&key), value));
    let mut node = Node::mapping(fields.collect());
    if let Content::Mapping { flow: of, .. } = &mut node.content {
        *of = flow;
    }
    node
}

pub fn sequence(items: Vec<Node>) -> Node {
    let flow = items.is_empty();
    let mut node = Node::sequence(items);
    if let Content::Sequence { flow: of, .. } = &mut node.content {
        *of = flow;
    }
    node
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Among these are keys of which each is before the next, and the last before the first: their numbers do not
        /// fit into 64 bits.
        #[test]
        fn a_map_of_any_keys_is_written(keys in prop::collection::btree_set("[049]{19,24}[a?]?", 21..80)) {
            let fields = keys.iter().map(|key| (key.clone(), text(key)));
            let written = mapping(fields.collect());
            let names: Vec<&str> = written.fields().iter().filter_map(|(key, _)| key.value()).collect();
            let mut sorted = names.clone();
            sorted.sort_unstable();
            prop_assert!(keys.iter().eq(sorted), "{names:?}");
        }
    }
}
