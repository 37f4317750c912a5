//! The two spellings of where an object is written to: kyaml from 0.13.3 on gives
//! a function both, and afterwards leaves those that the list had.

use crate::{
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    yaml::{Comments, Content, Node, ScalarStyle, kind_name},
};

/// The spellings of each annotation, the newer one first.
const PAIRS: [(&str, [&str; 2]); 3] = [
    ("path", [PATH, LEGACY_PATH]),
    ("index", [INDEX, LEGACY_INDEX]),
    (
        "id",
        ["internal.config.kubernetes.io/id", "config.k8s.io/id"],
    ),
];

/// The annotation by which kyaml knows an object again after the function ran.
pub(crate) const MIGRATION: &str =
    "internal.config.kubernetes.io/annotations-migration-resource-id";

/// Where they are in an object. Objects are many: each looks for the place once.
const ANNOTATIONS: &[&str] = &["metadata", "annotations"];

/// What a list had before the function ran.
#[derive(Debug)]
pub(super) struct Before {
    /// Which spellings: the newer one, and the older one.
    spellings: [bool; 2],
    /// Path and index of each object.
    places: Vec<[String; 2]>,
}

/// Gives every object both spellings, and its number.
pub(super) fn complete(items: &mut [Node]) -> Result<Before, String> {
    let mut found: Option<[bool; 2]> = None;
    let mut consistent = true;
    let mut places = Vec::with_capacity(items.len());
    for (number, item) in items.iter_mut().enumerate() {
        annotate(item, MIGRATION, &number.to_string())?;
        let Some(annotations) = item.at_mut(ANNOTATIONS) else {
            places.push(Default::default());
            continue;
        };
        let has = |name: &str| annotations.get(name).is_some();
        let spelt = [0, 1].map(|at| PAIRS.iter().any(|(_, names)| has(names[at])));
        if spelt != [false, false] {
            consistent &= *found.get_or_insert(spelt) == spelt;
        }
        places.push(
            [[PATH, LEGACY_PATH], [INDEX, LEGACY_INDEX]].map(|[new, old]| {
                let name = if has(new) { new } else { old };
                text(annotations, name).to_owned()
            }),
        );
        copy(annotations);
        check(annotations)?;
    }
    if !consistent {
        return Err("the annotation formatting in the input resources is not consistent".into());
    }
    let all = [items.is_empty(); 2];
    Ok(Before {
        spellings: found.unwrap_or(all),
        places,
    })
}

/// Leaves the objects the spellings that the list had.
pub(super) fn restore(items: &mut [Node], before: &Before) -> Result<(), String> {
    for item in items {
        let Some(annotations) = item.at_mut(ANNOTATIONS) else {
            continue;
        };
        copy(annotations);
        follow(annotations, before)?;
        for (at, is_used) in before.spellings.into_iter().enumerate() {
            if !is_used {
                for (_, names) in PAIRS {
                    annotations.remove(names[at]);
                }
            }
        }
        check(annotations)?;
        annotations.remove(MIGRATION);
    }
    Ok(())
}

/// Where the function changed one spelling, the other one follows.
fn follow(annotations: &mut Node, before: &Before) -> Result<(), String> {
    let number = text(annotations, MIGRATION);
    let known = number
        .parse()
        .ok()
        .and_then(|at: usize| before.places.get(at));
    let Some(places) = known else { return Ok(()) };
    for ((what, [new, old]), was) in PAIRS.iter().zip(places) {
        if was.is_empty() {
            continue;
        }
        let [is_new, is_old] = [new, old].map(|name| text(annotations, name));
        if is_new != was && is_old != was && is_new != is_old {
            return Err(mismatched(what));
        }
        if is_new != was {
            let value = is_new.to_owned();
            set(annotations, old, &value);
        } else if is_old != was {
            let value = is_old.to_owned();
            set(annotations, new, &value);
        }
    }
    Ok(())
}

/// Removes annotations and metadata in which nothing is. The error is kyaml's
/// where these cannot be looked into.
pub(super) fn clear_empty(item: &mut Node) -> Result<(), String> {
    let odd = |node: &Node| {
        format!(
            "wrong node kind: expected MappingNode but got {}",
            kind_name(node)
        )
    };
    if item.is_null() {
        return Ok(());
    }
    if !item.is_mapping() {
        return Err(odd(item));
    }
    let is_empty = |node: &Node| node.fields().is_empty() && node.items().is_empty();
    let Some(metadata) = item.get_mut("metadata") else {
        return Ok(());
    };
    if !metadata.is_null() {
        if !metadata.is_mapping() {
            return Err(odd(metadata));
        }
        if metadata.get("annotations").is_some_and(is_empty) {
            metadata.remove("annotations");
        }
    }
    if is_empty(metadata) {
        item.remove("metadata");
    }
    Ok(())
}

/// Sets an annotation of any object.
pub(super) fn annotate(item: &mut Node, name: &str, value: &str) -> Result<(), String> {
    clear_empty(item)?;
    if item.is_null() {
        return Ok(());
    }
    let mut inner = item;
    for field in ["metadata", "annotations"] {
        if inner.get(field).is_none() {
            inner.insert(field, Node::mapping(Vec::new()));
        }
        let Some(next) = inner.get_mut(field) else {
            return Ok(());
        };
        inner = next;
    }
    if !inner.is_mapping() {
        return Err("wrong node kind: expected MappingNode".into());
    }
    set(inner, name, value);
    Ok(())
}

fn mismatched(what: &str) -> String {
    format!("resource input to function has mismatched legacy and internal {what} annotations")
}

fn check(annotations: &Node) -> Result<(), String> {
    for (what, names) in PAIRS {
        let [new, old] = names.map(|name| text(annotations, name));
        if !new.is_empty() && !old.is_empty() && new != old {
            return Err(mismatched(what));
        }
    }
    Ok(())
}

/// Gives an object both spellings, the newer one's value where they differ.
pub(crate) fn equalise(item: &mut Node) {
    let differ = |annotations: &Node| {
        let mut pairs = PAIRS.iter();
        pairs.any(|(_, [new, old])| text(annotations, new) != text(annotations, old))
    };
    // Looked at before it is changed: what nobody changes stays text.
    if !item.at(ANNOTATIONS).is_some_and(differ) {
        return;
    }
    let Some(annotations) = item.at_mut(ANNOTATIONS) else {
        return;
    };
    for (_, [new, old]) in PAIRS {
        let value = text(annotations, new);
        if !value.is_empty() && text(annotations, old) != value {
            let value = value.to_owned();
            set(annotations, old, &value);
        }
    }
    copy(annotations);
}

/// Where an object has one spelling it gets the other.
fn copy(annotations: &mut Node) {
    for (_, [new, old]) in PAIRS {
        let (missing, value) = match [new, old].map(|name| text(annotations, name)) {
            [value, ""] if !value.is_empty() => (old, value.to_owned()),
            ["", value] if !value.is_empty() => (new, value.to_owned()),
            _ => continue,
        };
        set(annotations, missing, &value);
    }
}

/// The text of an annotation; empty if there is none.
fn text<'a>(annotations: &'a Node, name: &str) -> &'a str {
    annotations.get(name).map_or("", Node::text_or_null)
}

fn set(annotations: &mut Node, name: &str, value: &str) {
    match annotations.get_mut(name) {
        // Its comments go with the value that it had.
        Some(annotation) => {
            annotation.set_text(value);
            if *annotation.comments() != Comments::default() {
                *annotation.comments_mut() = Comments::default();
            }
        }
        None => {
            let mut text = Node::text(value);
            if let Content::Scalar { style, .. } = &mut text.content {
                *style = ScalarStyle::SingleQuoted;
            }
            annotations.insert(name, text);
        }
    }
}
