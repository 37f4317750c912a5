//! The two spellings of where an object is written to: kyaml from 0.13.3 on gives
//! a function both, and afterwards leaves those that the list had.

use crate::{
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    yaml::{Content, Node, ScalarStyle},
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

/// Which spellings a list has: the newer one, and the older one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spellings([bool; 2]);

/// Gives every object both spellings.
pub(super) fn complete(items: &mut [Node]) -> Result<Spellings, String> {
    let mut found: Option<[bool; 2]> = None;
    let mut consistent = true;
    for item in items.iter_mut() {
        let has = |name: &str| item.at(&["metadata", "annotations", name]).is_some();
        let spelt = [0, 1].map(|at| PAIRS.iter().any(|(_, names)| has(names[at])));
        if spelt != [false, false] {
            consistent &= *found.get_or_insert(spelt) == spelt;
        }
        copy(item);
        check(item)?;
    }
    if !consistent {
        return Err("the annotation formatting in the input resources is not consistent".into());
    }
    let all = [items.is_empty(); 2];
    Ok(Spellings(found.unwrap_or(all)))
}

/// Leaves the objects the spellings that the list had.
pub(super) fn restore(items: &mut [Node], spellings: Spellings) -> Result<(), String> {
    for item in items {
        copy(item);
        for (at, is_used) in spellings.0.into_iter().enumerate() {
            let annotations = item.at_mut(&["metadata", "annotations"]);
            if let (Some(annotations), false) = (annotations, is_used) {
                for (_, names) in PAIRS {
                    annotations.remove(names[at]);
                }
            }
        }
        check(item)?;
    }
    Ok(())
}

fn check(item: &Node) -> Result<(), String> {
    for (what, names) in PAIRS {
        let [new, old] = names.map(|name| item.annotation(name));
        if !new.is_empty() && !old.is_empty() && new != old {
            return Err(format!(
                "resource input to function has mismatched legacy and internal {what} annotations"
            ));
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
    let Some(annotations) = item.at_mut(&["metadata", "annotations"]) else {
        return;
    };
    match annotations.get_mut(name) {
        Some(annotation) => annotation.set_text(value),
        None => {
            let mut text = Node::text(value);
            if let Content::Scalar { style, .. } = &mut text.content {
                *style = ScalarStyle::SingleQuoted;
            }
            annotations.insert(name, text);
        }
    }
}
