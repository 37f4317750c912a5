//! What kustomize demands of a list of objects before it transforms them.

use std::collections::HashSet;

use crate::{fieldspec::id, list::places, scope, yaml::Node};

/// Refuses objects without kind or name, and two of the same identity.
pub(crate) fn check(items: &[Node]) -> Result<(), String> {
    check_names(items, None)?;
    check_unique(items, id)
}

/// Refuses two objects of the same identity, by the names that kustomize gave them
/// up to its API 0.10.
pub(crate) fn check_ids(items: &[Node]) -> Result<(), String> {
    check_unique(items, old_id)
}

/// An object's name as kustomize reads it: a number, too, as it is written.
pub(crate) fn name(object: &Node) -> &str {
    let name = object.at(&["metadata", "name"]);
    name.map_or("", Node::text_or_null)
}

/// The same of its namespace.
pub(crate) fn namespace(object: &Node) -> &str {
    let namespace = object.at(&["metadata", "namespace"]);
    namespace.map_or("", Node::text_or_null)
}

/// `group_version_kind|namespace|name`.
pub(crate) fn old_id(object: &Node) -> String {
    let or = |text: &str, none: &str| match text {
        "" => none.to_owned(),
        text => text.to_owned(),
    };
    let (group, version) = object.group_version();
    format!(
        "{}_{}_{}|{}|{}",
        or(group, "~G"),
        or(version, "~V"),
        or(object.kind(), "~K"),
        or(namespace(object), "~X"),
        or(name(object), "~N")
    )
}

/// Refuses objects without kind or name. Some releases of the framework number the
/// objects by an annotation, which their words name.
pub(crate) fn check_names(items: &[Node], numbered_by: Option<&str>) -> Result<(), String> {
    for (at, item) in items.iter().enumerate() {
        // Also a number is a kind, and a name.
        let kind = item.get("kind").map_or("", Node::text_or_null);
        let name = name(item);
        let missing = if kind.is_empty() {
            "kind"
        } else if name.is_empty() && !kind.ends_with("List") {
            "metadata.name"
        } else {
            continue;
        };
        let number = numbered_by.map(|name| format!("{name}:{at}"));
        let object = printed(item, number);
        return Err(format!("missing {missing} in object {object}"));
    }
    Ok(())
}

fn check_unique(items: &[Node], id: fn(&Node) -> String) -> Result<(), String> {
    let mut known = HashSet::new();
    for item in items {
        let (kind, name) = (item.kind(), name(item));
        let place = effective_namespace(item);
        if !known.insert(format!("{}|{kind}|{name}|{place}", item.api_version())) {
            return Err(format!(
                "may not add resource with an already registered id: {}",
                id(item)
            ));
        }
    }
    Ok(())
}

pub(crate) fn is_cluster_scoped(object: &Node) -> bool {
    scope::is_namespaced(object.api_version(), object.kind()) == Some(false)
}

pub(crate) fn effective_namespace(object: &Node) -> &str {
    match namespace(object) {
        _ if is_cluster_scoped(object) => "_non_namespaceable_",
        "" => "default",
        namespace => namespace,
    }
}

/// As Go prints an object's metadata, with one more annotation.
fn printed(object: &Node, annotation: Option<String>) -> String {
    let map = |name: &str, more: Option<String>| {
        let pairs = object
            .at(&["metadata", name])
            .map_or_else(Vec::new, Node::texts);
        // The number is named as that release spells it.
        let pairs = pairs
            .into_iter()
            .filter(|(name, _)| *name != places::MIGRATION);
        let mut pairs: Vec<String> = pairs
            .map(|(key, value)| format!("{key}:{value}"))
            .chain(more)
            .collect();
        pairs.sort();
        format!("map[{}]", pairs.join(" "))
    };
    format!(
        "{{{{{} {}}} {{{{{} {}}} {} {}}}}}",
        object.api_version(),
        object.kind(),
        object.name(),
        object.namespace(),
        map("labels", None),
        map("annotations", annotation)
    )
}
