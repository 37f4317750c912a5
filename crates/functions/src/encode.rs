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
    let mut fields = fields;
    fields.sort_by(|(a, _), (b, _)| go::natural(a, b));
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
