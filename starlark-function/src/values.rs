//! Lists as scripts see them: dictionaries, lists and plain values.

use functions::{
    encode,
    yaml::{Content, Node, Tag},
};
use starlark::values::{
    Heap, Value, dict::AllocDict, dict::DictRef, list::AllocList, list::ListRef, tuple::TupleRef,
};

use crate::time::Time;

/// What a node is to a script.
pub(crate) fn to_value<'v>(node: &Node, heap: Heap<'v>) -> Value<'v> {
    match &node.content {
        Content::Mapping { fields, .. } => {
            let field = |(key, value): &(Node, Node)| {
                (key.value().unwrap_or("").to_owned(), to_value(value, heap))
            };
            heap.alloc(AllocDict(fields.iter().map(field).collect::<Vec<_>>()))
        }
        Content::Sequence { items, .. } => {
            let items: Vec<Value<'v>> = items.iter().map(|item| to_value(item, heap)).collect();
            heap.alloc(AllocList(items))
        }
        Content::Scalar { value, .. } => scalar(value, &node.tag, heap),
        Content::Alias(name) => heap.alloc(name.as_str()),
    }
}

fn scalar<'v>(text: &str, tag: &Tag, heap: Heap<'v>) -> Value<'v> {
    match tag {
        Tag::Null => Value::new_none(),
        Tag::Bool => Value::new_bool(text.eq_ignore_ascii_case("true")),
        Tag::Int => match text.parse::<i64>() {
            Ok(number) => heap.alloc(number),
            Err(_) => match encode::number(text) {
                // Other spellings of whole numbers: 0x10, 1_000, 017.
                Some(number) if number.abs() < 9e15 => heap.alloc(number as i64),
                Some(number) => heap.alloc(number),
                None => heap.alloc(text),
            },
        },
        Tag::Float => match encode::number(text) {
            Some(number) => heap.alloc(number),
            None => heap.alloc(text),
        },
        Tag::Timestamp => heap.alloc(Time::read(text)),
        _ => heap.alloc(text),
    }
}

/// A script's value as a node.
pub(crate) fn to_node(value: Value<'_>) -> Result<Node, String> {
    if value.is_none() {
        return Ok(Node::plain("null"));
    }
    if let Some(is) = value.unpack_bool() {
        return Ok(Node::plain(if is { "true" } else { "false" }));
    }
    if let Some(text) = value.unpack_str() {
        return Ok(encode::text(text));
    }
    if let Some(dict) = DictRef::from_value(value) {
        let field = |(key, value): (Value<'_>, Value<'_>)| {
            let key = key.unpack_str().map_or_else(|| key.to_str(), str::to_owned);
            Ok((key, to_node(value)?))
        };
        let fields: Result<Vec<_>, String> = dict.iter().map(field).collect();
        return Ok(encode::mapping(fields?));
    }
    let items = match (ListRef::from_value(value), TupleRef::from_value(value)) {
        (Some(list), _) => Some(list.iter().map(to_node).collect::<Result<Vec<_>, _>>()?),
        (None, Some(tuple)) => Some(tuple.iter().map(to_node).collect::<Result<Vec<_>, _>>()?),
        (None, None) => None,
    };
    if let Some(items) = items {
        return Ok(encode::sequence(items));
    }
    match value.get_type() {
        "time.time" => Ok(Node::plain(value.to_str())),
        "int" => Ok(Node::plain(value.to_str())),
        "float" => match value.to_str().parse::<f64>() {
            Ok(number) => Ok(encode::float(number)),
            Err(_) => Err("couldn't parse float".into()),
        },
        other => Err(format!("unrecognized starlark type: {other}")),
    }
}
