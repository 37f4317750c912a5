//! Lists as scripts see them, and values as lists have them.

use std::{cell::RefCell, collections::HashMap};

use functions::{
    encode,
    yaml::{Content, Node, Tag},
};

use crate::{
    lang::{Int, Value, memory, value::Table},
    modules::Time,
};

/// What a node is to a script.
pub(crate) fn to_value(node: &Node) -> Result<Value, String> {
    value(node, false, &mut HashMap::new())
}

type Anchors<'a> = HashMap<&'a str, &'a Node>;

/// The Go function writes what it has read, and scripts see that read again. `in_flow`: between
/// braces or brackets, where nothing is written as empty text.
fn value<'a>(node: &'a Node, in_flow: bool, anchors: &mut Anchors<'a>) -> Result<Value, String> {
    memory::check_depth()?;
    memory::check()?;
    if let Some(anchor) = node.anchor() {
        anchors.insert(anchor, node);
    }
    Ok(match &node.content {
        Content::Mapping { fields, flow } => {
            let in_flow = in_flow || *flow;
            let table = Table::default();
            for (key, own) in fields {
                if key.tag == Tag::Merge {
                    merge(&table, own, anchors)?
                } else {
                    let key = value(key, in_flow, anchors)?;
                    table.insert(key, value(own, in_flow, anchors)?)?;
                }
            }
            Value::Dict(table.into())
        }
        Content::Sequence { items, flow } => {
            let in_flow = in_flow || *flow;
            let items = items.iter().map(|item| value(item, in_flow, anchors));
            Value::list(items.collect::<Result<_, _>>()?)
        }
        Content::Scalar { value, .. } if value.is_empty() && in_flow => Value::text(""),
        Content::Scalar { value, .. } => scalar(value, node.tag),
        Content::Alias(name) => match anchors.remove(name.as_str()) {
            // Taken out while it is followed: it may be inside of itself.
            Some(target) => {
                let found = value(target, in_flow, anchors)?;
                anchors.insert(name.as_str(), target);
                found
            }
            None => return Err(format!("yaml: unknown anchor '{name}' referenced")),
        },
    })
}

/// Entries of another mapping, where the own ones leave room.
fn merge<'a>(table: &Table, from: &'a Node, anchors: &mut Anchors<'a>) -> Result<(), String> {
    let merged = value(from, false, anchors)?;
    let sources = match &merged {
        Value::List(items) => items.items(),
        other => vec![other.clone()],
    };
    for source in sources {
        let Value::Dict(source) = source else {
            return Err("yaml: map merge requires map or sequence of maps as the value".into());
        };
        for (key, value) in source.items() {
            if !table.has(&key)? {
                table.insert(key, value)?;
            }
        }
    }
    Ok(())
}

fn scalar(text: &str, tag: Tag) -> Value {
    let number = || match text.trim_start_matches(['+', '-']) {
        ".inf" | ".Inf" | ".INF" => Some(if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        _ => encode::number(text),
    };
    match tag {
        Tag::Null => Value::None,
        Tag::Bool => Value::Bool(text.eq_ignore_ascii_case("true")),
        Tag::Int => match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(number), _) if !text.starts_with('0') || text == "0" => Value::int(number),
            (_, Ok(number)) if !text.starts_with('0') => {
                Value::Int(Int::from(num_bigint::BigInt::from(number)))
            }
            // Other spellings of whole numbers: 0x10, 1_000, 017.
            _ => match number() {
                Some(number) if number.abs() < 9e15 => Value::int(number as i64),
                Some(number) => Value::Float(number),
                None => Value::text(text),
            },
        },
        Tag::Float => number().map_or_else(|| Value::text(text), Value::Float),
        Tag::Timestamp => match Time::of_yaml(text) {
            Some(time) => Value::object(time),
            None => Value::text(text),
        },
        _ => Value::text(text),
    }
}

/// A script's value as a node. Values that have none leave noise, as they make
/// the original write to its output.
pub(crate) fn to_node(value: &Value, noise: &RefCell<String>) -> Result<Node, String> {
    memory::check_depth()?;
    Ok(match value {
        Value::None => Node::plain("null"),
        Value::Bool(is) => Node::plain(if *is { "true" } else { "false" }),
        Value::Int(number) => match number.small() {
            Some(number) => Node::plain(number.to_string()),
            None => {
                return Err(format!(
                    "{number} out of range (want value in signed 64-bit range)"
                ));
            }
        },
        Value::Float(number) if number.is_nan() => Node::plain(".nan"),
        Value::Float(number) if number.is_infinite() => {
            Node::plain(if *number > 0.0 { ".inf" } else { "-.inf" })
        }
        Value::Float(number) => encode::float(*number),
        Value::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => encode::text(text),
            Err(_) => return Err("the script left text that is not UTF-8 in the list".into()),
        },
        Value::Dict(table) => mapping(table, noise)?,
        Value::List(list) => {
            let items = list.items();
            let items = items.iter().map(|item| to_node(item, noise));
            encode::sequence(items.collect::<Result<_, _>>()?)
        }
        Value::Tuple(items) => {
            let items = items.iter().map(|item| to_node(item, noise));
            encode::sequence(items.collect::<Result<_, _>>()?)
        }
        Value::Set(_) => {
            noise.borrow_mut().push_str("errnotdone: SET\n");
            return Err("sets aren't yet supported".into());
        }
        Value::Struct(_) => {
            return Err(
                "constructor object from *starlarkstruct.Struct not supported Marshaler to \
                 starlark object: string"
                    .into(),
            );
        }
        other => match other.downcast::<Time>() {
            Some(time) => Node::plain(time.rfc3339()),
            None => {
                let kind = other.type_name();
                noise
                    .borrow_mut()
                    .push_str(&format!("errbadtype: {kind}\n"));
                return Err(format!("unrecognized starlark type: {kind}"));
            }
        },
    })
}

/// What is said of a value inside of another.
pub(crate) fn inside(what: &str, words: String) -> String {
    // Said once, not per level.
    if words == memory::TOO_DEEP {
        return words;
    }
    format!("unmarshaling starlark {what}: {words}")
}

fn mapping(table: &Table, noise: &RefCell<String>) -> Result<Node, String> {
    let mut named = Vec::new();
    let mut others: Vec<(f64, Node, Node)> = Vec::new();
    for (key, value) in table.items() {
        let value = to_node(&value, noise).map_err(|words| inside("value", words))?;
        let own = to_node(&key, noise).map_err(|words| inside("key", words))?;
        if matches!(key, Value::Tuple(_)) {
            return Err("runtime error: hash of unhashable type []interface {}".into());
        }
        match key.as_text() {
            Some(text) => named.push((String::from_utf8_lossy(text).into_owned(), value)),
            None => others.push((key.as_float().unwrap_or(f64::NEG_INFINITY), own, value)),
        }
    }
    let mut node = encode::mapping(named);
    if !others.is_empty() {
        // Keys that are not text come first: numbers in their order.
        others.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let mut fields: Vec<_> = others
            .into_iter()
            .map(|(_, key, value)| (key, value))
            .collect();
        fields.extend(node.fields_mut().map(std::mem::take).unwrap_or_default());
        node = Node::mapping(fields);
    }
    Ok(node)
}
