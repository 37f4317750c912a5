//! Results of functions that ran before, as the SDK takes them: it decodes them into
//! its own type, and writes that type again.

use std::collections::HashSet;

use crate::{
    encode, json,
    results::encoded,
    yaml::{Content, Node, Tag},
};

/// The results as the SDK writes them back. The error is what it says of others.
pub(super) fn decoded(results: Option<Node>) -> Result<Vec<Node>, String> {
    // Frameworks of other functions wrote a mapping of name and items.
    let results = results.map(|mut results| results.remove("items").unwrap_or(results));
    let Some(Content::Sequence { items, .. }) = results.map(|results| results.content) else {
        return Ok(Vec::new());
    };
    items
        .iter()
        .map(result)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("failed to decode results: yaml: unmarshal errors:\n  {error}"))
}

/// The value of a field; `None` if it is left out.
type Read = fn(&Node) -> Result<Option<Node>, String>;

/// The fields of a Go struct, in the order in which they are written.
type Fields = [(&'static str, Read)];

const RESULT: &Fields = &[
    ("field", |node| structure(node, "fn.Field", FIELD)),
    ("file", |node| structure(node, "fn.File", FILE)),
    ("message", text),
    ("resourceRef", |node| {
        structure(node, "fn.ResourceRef", REFERENCE)
    }),
    ("severity", |node| text_of(node, "fn.Severity")),
    ("tags", tags),
];
const FIELD: &Fields = &[
    ("currentValue", |node| Ok(Some(json::through(node)))),
    ("path", text),
    ("proposedValue", |node| Ok(Some(json::through(node)))),
];
const FILE: &Fields = &[("index", index), ("path", text)];
const REFERENCE: &Fields = &[
    ("name", text),
    ("namespace", text),
    ("apiVersion", text),
    ("kind", text),
];

fn result(node: &Node) -> Result<Node, String> {
    let result = structure(node, "fn.Result", RESULT)?;
    Ok(result.unwrap_or_else(|| encode::mapping(Vec::new())))
}

fn structure(node: &Node, go_type: &str, fields: &Fields) -> Result<Option<Node>, String> {
    if node.is_null() {
        return Ok(None);
    }
    if !node.is_mapping() {
        return Err(wrong(node, go_type));
    }
    let mut known = HashSet::new();
    let mut keys = node.fields().iter().filter_map(|(key, _)| key.value());
    if let Some(key) = keys.find(|key| !known.insert(*key)) {
        return Err(format!("mapping key {key:?} already defined"));
    }
    let mut written = Vec::new();
    for (name, read) in fields {
        let value = node.get(name).filter(|value| !value.is_null());
        if let Some(value) = value.map(read).transpose()?.flatten() {
            written.push((Node::plain(*name), value));
        }
    }
    Ok(Some(if written.is_empty() {
        encode::mapping(Vec::new())
    } else {
        Node::mapping(written)
    }))
}

/// Whatever a scalar is, its text counts.
fn text(node: &Node) -> Result<Option<Node>, String> {
    text_of(node, "string")
}

fn text_of(node: &Node, go_type: &str) -> Result<Option<Node>, String> {
    let value = node.value().ok_or_else(|| wrong(node, go_type))?;
    Ok((!value.is_empty()).then(|| encoded(value)))
}

fn index(node: &Node) -> Result<Option<Node>, String> {
    let number = match node.tag {
        Tag::Int | Tag::Float => node.value().and_then(json::number),
        _ => None,
    };
    let whole = number.filter(|number| number.fract() == 0.0);
    let whole = whole.ok_or_else(|| wrong(node, "int"))?;
    Ok((whole != 0.0).then(|| Node::plain(format!("{whole:.0}"))))
}

fn tags(node: &Node) -> Result<Option<Node>, String> {
    let go_type = "map[string]string";
    if !node.is_mapping() {
        return Err(wrong(node, go_type));
    }
    let mut tags = Vec::new();
    for (key, value) in node.fields() {
        let text = |node: &Node| {
            if node.is_null() {
                Ok(String::new())
            } else {
                node.value().map(str::to_owned).ok_or(wrong(node, "string"))
            }
        };
        tags.push((text(key)?, encoded(&text(value)?)));
    }
    Ok((!tags.is_empty()).then(|| encode::mapping(tags)))
}

fn wrong(node: &Node, go_type: &str) -> String {
    match (&node.content, node.value()) {
        (Content::Mapping { .. }, _) => format!("cannot unmarshal !!map into {go_type}"),
        (_, Some(value)) => {
            let start: String = value.chars().take(10).collect();
            format!("cannot unmarshal `{start}` into {go_type}")
        }
        _ => format!("cannot unmarshal !!seq into {go_type}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{SequenceIndent, parse_all, write_node};

    fn written(results: &str) -> Result<String, String> {
        let root = parse_all(results).unwrap().remove(0).root;
        let results = decoded(Some(root))?;
        Ok(write_node(
            &Node::sequence(results),
            SequenceIndent::Compact,
        ))
    }

    #[test]
    fn results_are_written_as_their_type_is() {
        let given = "\
- severity: 'info' # a comment
  message: \"hello\"
  unknown: 5
  tags: {z: a, b: 1}
  resourceRef: {kind: K, name: n, apiVersion: v1, namespace: '', x: y}
  field: {path: 0x10, proposedValue: {z: 1.0, a: [0x10, yes, ~]}, currentValue: ''}
  file: {index: 0, path: p}
- message: 5
  file: {index: 3}
- {}
- null
";
        let expected = "\
- field:
    currentValue: \"\"
    path: \"0x10\"
    proposedValue:
      a:
      - 16
      - \"yes\"
      - null
      z: 1
  file:
    path: p
  message: hello
  resourceRef:
    name: \"n\"
    apiVersion: v1
    kind: K
  severity: info
  tags:
    b: \"1\"
    z: a
- file:
    index: 3
  message: \"5\"
- {}
- {}
";
        assert_eq!(written(given).unwrap(), expected);
        let named = written("{name: f, items: [{message: a}]}").unwrap();
        assert_eq!(named, "- message: a\n");
        assert_eq!(written("text").unwrap(), "[]\n");
    }

    #[test]
    fn results_of_another_type_are_refused() {
        for (given, told) in [
            ("- message: [a]", "cannot unmarshal !!seq into string"),
            (
                "- severity: {a: b}",
                "cannot unmarshal !!map into fn.Severity",
            ),
            ("- text", "cannot unmarshal `text` into fn.Result"),
            ("- file: {index: '3'}", "cannot unmarshal `3` into int"),
            (
                "- tags: [a]",
                "cannot unmarshal !!seq into map[string]string",
            ),
            (
                "- resourceRef: x",
                "cannot unmarshal `x` into fn.ResourceRef",
            ),
            (
                "- {message: a, message: b}",
                "mapping key \"message\" already defined",
            ),
        ] {
            let error = written(given).unwrap_err();
            assert!(error.ends_with(told), "{error}");
        }
    }
}
