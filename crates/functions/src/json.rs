//! What becomes of an object that a Go function turns into JSON and back:
//! comments and styles are gone, keys are sorted, numbers are floats.

use crate::{
    encode, go,
    results::encoded,
    yaml::{Content, Node, Tag},
};

/// The object after its way through JSON.
pub(crate) fn through(node: &Node) -> Node {
    match &node.content {
        Content::Mapping { fields, .. } => {
            let field = |(key, value): &(Node, Node)| {
                (key.value().unwrap_or("").to_owned(), through(value))
            };
            encode::mapping(fields.iter().map(field).collect())
        }
        Content::Sequence { items, .. } => encode::sequence(items.iter().map(through).collect()),
        Content::Scalar { value, .. } => scalar(value, &node.tag),
        // Aliases are not followed anywhere: the name is all that is left.
        Content::Alias(name) => encoded(name),
    }
}

/// The same, where Go looks whether JSON can say all of it. The error is Go's.
pub(crate) fn checked(node: &Node) -> Result<Node, String> {
    match beyond_json(node) {
        Some(what) => Err(format!("json: unsupported {what}")),
        None => Ok(through(node)),
    }
}

/// What JSON has no word for, as Go names it: some numbers, and mappings with keys
/// that are not text, such as `<<`.
fn beyond_json(node: &Node) -> Option<&'static str> {
    if node.tag == Tag::Float {
        return match node.value()?.to_ascii_lowercase().as_str() {
            ".inf" | "+.inf" => Some("value: +Inf"),
            "-.inf" => Some("value: -Inf"),
            ".nan" => Some("value: NaN"),
            _ => None,
        };
    }
    let mut fields: Vec<&(Node, Node)> = node.fields().iter().collect();
    fields.sort_by_key(|(key, _)| key.value());
    let inner = |value: &Node| {
        let mut keys = value.fields().iter().map(|(key, _)| key);
        if keys.any(|key| key.tag != Tag::Str) {
            Some("type: map[interface {}]interface {}")
        } else {
            beyond_json(value)
        }
    };
    let in_fields = fields.into_iter().find_map(|(_, value)| inner(value));
    in_fields.or_else(|| node.items().iter().find_map(inner))
}

fn scalar(value: &str, tag: &Tag) -> Node {
    match tag {
        Tag::Null => Node::plain("null"),
        Tag::Bool => Node::plain(value.to_ascii_lowercase()),
        Tag::Int | Tag::Float => match number(value) {
            Some(number) => Node::plain(go::float(number)),
            None => encoded(value),
        },
        Tag::Timestamp if value.len() == 10 => encoded(&format!("{value}T00:00:00Z")),
        _ => encoded(value),
    }
}

/// The value of a number as YAML writes it.
pub fn number(text: &str) -> Option<f64> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    let radix = |radix, digits| u64::from_str_radix(digits, radix).ok();
    #[allow(
        clippy::cast_precision_loss,
        reason = "Go keeps JSON numbers as floats, too"
    )]
    let whole = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => radix(16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => radix(2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => radix(8, &digits[2..]),
        [b'0', b'0'..=b'7', ..] => radix(8, &digits[1..]),
        _ => None,
    }
    .map(|whole| whole as f64);
    whole
        .or_else(|| digits.parse().ok())
        .map(|number| sign * number)
}

/// A string as `encoding/json` writes it.
pub(crate) fn string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                json.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

/// A value as `encoding/json` writes it, on one line or indented by two.
pub(crate) fn text(node: &Node, indented: bool) -> String {
    let mut json = String::new();
    write(&mut json, &through(node), indented.then_some(0));
    json
}

/// A value that was read from JSON, as YAML in one line.
pub(crate) fn flow(node: &Node) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match &node.content {
        Content::Mapping { fields, .. } => {
            let field = |(key, value): &(Node, Node)| {
                format!("{}: {}", string(key.value().unwrap_or("")), flow(value))
            };
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
        Content::Sequence { items, .. } => format!("[{}]", list(items.iter().map(flow).collect())),
        _ => text(node, false),
    }
}

/// `depth` is how far lines are indented, if there are lines.
fn write(json: &mut String, node: &Node, depth: Option<usize>) {
    let inner = depth.map(|depth| depth + 1);
    let line = |json: &mut String, depth: Option<usize>| {
        if let Some(depth) = depth {
            json.push('\n');
            json.extend(std::iter::repeat_n("  ", depth));
        }
    };
    match &node.content {
        Content::Mapping { fields, .. } if fields.is_empty() => json.push_str("{}"),
        Content::Sequence { items, .. } if items.is_empty() => json.push_str("[]"),
        Content::Mapping { fields, .. } => {
            let mut sorted: Vec<(&str, &Node)> = fields
                .iter()
                .map(|(key, value)| (key.value().unwrap_or(""), value))
                .collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                json.push(if at == 0 { '{' } else { ',' });
                line(json, inner);
                json.push_str(&string(key));
                json.push_str(if depth.is_some() { ": " } else { ":" });
                write(json, value, inner);
            }
            line(json, depth);
            json.push('}');
        }
        Content::Sequence { items, .. } => {
            for (at, item) in items.iter().enumerate() {
                json.push(if at == 0 { '[' } else { ',' });
                line(json, inner);
                write(json, item, inner);
            }
            line(json, depth);
            json.push(']');
        }
        Content::Scalar { value, .. } => match node.tag {
            Tag::Null => json.push_str("null"),
            Tag::Bool => json.push_str(value),
            Tag::Int | Tag::Float => match number(value) {
                Some(number) => json.push_str(&go::json_float(number)),
                None => json.push_str(&string(value)),
            },
            _ => json.push_str(&string(value)),
        },
        Content::Alias(name) => json.push_str(&string(name)),
    }
}
