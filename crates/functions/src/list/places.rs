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
    let mut places = Vec::new();
    for (number, item) in items.iter_mut().enumerate() {
        annotate(item, MIGRATION, &number.to_string())?;
        let has = |name: &str| item.at(&["metadata", "annotations", name]).is_some();
        let spelt = [0, 1].map(|at| PAIRS.iter().any(|(_, names)| has(names[at])));
        if spelt != [false, false] {
            consistent &= *found.get_or_insert(spelt) == spelt;
        }
        places.push(
            [[PATH, LEGACY_PATH], [INDEX, LEGACY_INDEX]].map(|[new, old]| {
                let name = if has(new) { new } else { old };
                item.annotation(name).to_owned()
            }),
        );
        copy(item);
        check(item)?;
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
        copy(item);
        follow(item, before)?;
        for (at, is_used) in before.spellings.into_iter().enumerate() {
            let annotations = item.at_mut(&["metadata", "annotations"]);
            if let (Some(annotations), false) = (annotations, is_used) {
                for (_, names) in PAIRS {
                    annotations.remove(names[at]);
                }
            }
        }
        check(item)?;
        if let Some(annotations) = item.at_mut(&["metadata", "annotations"]) {
            annotations.remove(MIGRATION);
        }
    }
    Ok(())
}

/// Where the function changed one spelling, the other one follows.
fn follow(item: &mut Node, before: &Before) -> Result<(), String> {
    let number = item.annotation(MIGRATION);
    let known = number
        .parse()
        .ok()
        .and_then(|at: usize| before.places.get(at));
    let Some(places) = known else { return Ok(()) };
    for ((what, [new, old]), was) in PAIRS.iter().zip(places) {
        let [is_new, is_old] = [new, old].map(|name| item.annotation(name).to_owned());
        if was.is_empty() {
            continue;
        }
        if is_new != *was && is_old != *was && is_new != is_old {
            return Err(mismatched(what));
        }
        if is_new != *was {
            set(item, old, &is_new);
        } else if is_old != *was {
            set(item, new, &is_old);
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
    set_in(inner, name, value);
    Ok(())
}

fn mismatched(what: &str) -> String {
    format!("resource input to function has mismatched legacy and internal {what} annotations")
}

fn check(item: &Node) -> Result<(), String> {
    for (what, names) in PAIRS {
        let [new, old] = names.map(|name| item.annotation(name));
        if !new.is_empty() && !old.is_empty() && new != old {
            return Err(mismatched(what));
        }
    }
    Ok(())
}

/// Gives an object both spellings, the newer one's value where they differ.
pub(crate) fn equalise(item: &mut Node) {
    for (_, [new, old]) in PAIRS {
        let value = item.annotation(new).to_owned();
        if !value.is_empty() && item.annotation(old) != value {
            set(item, old, &value);
        }
    }
    copy(item);
}

/// Where an object has one spelling it gets the other.
fn copy(item: &mut Node) {
    for (_, [new, old]) in PAIRS {
        match [new, old].map(|name| item.annotation(name).to_owned()) {
            [value, missing] if missing.is_empty() && !value.is_empty() => set(item, old, &value),
            [missing, value] if missing.is_empty() && !value.is_empty() => set(item, new, &value),
            _ => {}
        }
    }
}

fn set(item: &mut Node, name: &str, value: &str) {
    if let Some(annotations) = item.at_mut(&["metadata", "annotations"]) {
        set_in(annotations, name, value);
    }
}

fn set_in(annotations: &mut Node, name: &str, value: &str) {
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
