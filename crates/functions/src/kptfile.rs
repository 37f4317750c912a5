//! A package's Kptfile, as strictly read as the Go functions read it.

use crate::yaml::{Node, SequenceIndent, parse_all, write_node};

/// The types of a Kptfile: name, and its fields with the types of those that are
/// read further. `[]` marks lists.
const TYPES: &[(&str, &[(&str, &str)])] = &[
    (
        "KptFile",
        &[
            ("apiVersion", ""),
            ("kind", ""),
            ("metadata", ""),
            ("upstream", "Upstream"),
            ("upstreamLock", "UpstreamLock"),
            ("info", "PackageInfo"),
            ("pipeline", "Pipeline"),
            ("inventory", "Inventory"),
        ],
    ),
    (
        "Upstream",
        &[("type", ""), ("git", "Git"), ("updateStrategy", "")],
    ),
    ("Git", &[("repo", ""), ("directory", ""), ("ref", "")]),
    ("UpstreamLock", &[("type", ""), ("git", "GitLock")]),
    (
        "GitLock",
        &[("repo", ""), ("directory", ""), ("ref", ""), ("commit", "")],
    ),
    (
        "PackageInfo",
        &[
            ("site", ""),
            ("emails", ""),
            ("license", ""),
            ("licenseFile", ""),
            ("doc", ""),
            ("description", ""),
            ("keywords", ""),
            ("man", ""),
        ],
    ),
    (
        "Pipeline",
        &[("mutators", "[]Function"), ("validators", "[]Function")],
    ),
    (
        "Function",
        &[
            ("image", ""),
            ("config", ""),
            ("configPath", ""),
            ("configMap", ""),
        ],
    ),
    (
        "Inventory",
        &[
            ("namespace", ""),
            ("name", ""),
            ("inventoryID", ""),
            ("labels", ""),
            ("annotations", ""),
        ],
    ),
];

/// Refuses fields that a Kptfile does not have. `more_lines` is how many lines
/// the function's library adds to the text before reading it.
pub(crate) fn check(kptfile: &Node, more_lines: u32) -> Result<(), String> {
    let text = write_node(kptfile, SequenceIndent::Compact);
    let root = parse_all(&text)
        .ok()
        .and_then(|documents| documents.into_iter().next());
    let Some(document) = root else { return Ok(()) };
    let mut errors = Vec::new();
    unknown_fields(&document.root, "KptFile", more_lines, &mut errors);
    if errors.is_empty() {
        return Ok(());
    }
    Err(format!(
        "invalid 'v1' Kptfile: yaml: unmarshal errors:\n{}",
        errors.join("\n")
    ))
}

fn unknown_fields(node: &Node, name: &str, more_lines: u32, errors: &mut Vec<String>) {
    let Some((_, known)) = TYPES.iter().find(|(kind, _)| *kind == name) else {
        return;
    };
    for (key, value) in node.fields() {
        let text = key.value().unwrap_or("");
        match known.iter().find(|(field, _)| *field == text) {
            None => {
                let line = key.line + more_lines;
                errors.push(format!(
                    "  line {line}: field {text} not found in type v1.{name}"
                ));
            }
            Some((_, kind)) => match kind.strip_prefix("[]") {
                Some(kind) => value
                    .items()
                    .iter()
                    .for_each(|item| unknown_fields(item, kind, more_lines, errors)),
                None => unknown_fields(value, kind, more_lines, errors),
            },
        }
    }
}

/// What is said about a `configPath` that leads nowhere.
pub(crate) fn missing_file(path: &str) -> String {
    format!(
        "file {path} doesn't exist, please ensure the file specified in \"configPath\" exists and retry"
    )
}

/// The Kptfile as it is after being read into its type and written again: its
/// fields in the type's order, without comments and empty values.
pub(crate) fn written(kptfile: &Node) -> Node {
    typed(kptfile, "KptFile")
}

fn typed(node: &Node, name: &str) -> Node {
    let mut result = Node::mapping(Vec::new());
    let Some((_, known)) = TYPES.iter().find(|(kind, _)| *kind == name) else {
        return untyped(node);
    };
    for (field, kind) in *known {
        let Some(value) = node.get(field) else {
            continue;
        };
        let value = match (*field, kind.strip_prefix("[]")) {
            ("metadata", _) => metadata(value),
            (_, Some(kind)) => {
                Node::sequence(value.items().iter().map(|item| typed(item, kind)).collect())
            }
            (_, None) if kind.is_empty() => untyped(value),
            (_, None) => typed(value, kind),
        };
        let is_empty = value.value() == Some("")
            || (value.value().is_none() && value.fields().is_empty() && value.items().is_empty());
        // A pointer to an empty value is written, other empty values are not.
        if !is_empty || (!kind.is_empty() && !kind.starts_with("[]")) {
            result.insert(field, value);
        }
    }
    result
}

fn metadata(node: &Node) -> Node {
    let mut result = Node::mapping(Vec::new());
    for field in ["name", "namespace", "labels", "annotations"] {
        if let Some(value) = node.get(field) {
            result.insert(field, untyped(value));
        }
    }
    result
}

/// Maps are sorted, texts are quoted only where they have to be.
fn untyped(node: &Node) -> Node {
    crate::json::through(node)
}
