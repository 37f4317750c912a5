//! Annotations that name the object another one depends on.

use std::collections::{BTreeSet, HashSet};

use super::Config;
use crate::{
    object::{DEPENDS_ON, is_reference_part},
    yaml::Node,
};

/// Makes depends-on annotations follow the objects that were `known`.
pub(super) fn follow(
    config: &Config,
    objects: &mut [&mut Node],
    known: &HashSet<String>,
) -> (usize, BTreeSet<String>) {
    let Config { namespace, matcher } = config;
    let mut old = BTreeSet::new();
    let mut count = 0;
    for object in objects {
        let annotation = object.annotation(DEPENDS_ON);
        let Some([group, kind, name, current]) = namespaced_reference(annotation) else {
            continue;
        };
        let matches = matcher.is_empty() || matcher == current;
        if !known.contains(annotation) || current == namespace || !matches {
            continue;
        }
        old.insert(current.to_owned());
        count += 1;
        let moved = format!("{group}/namespaces/{namespace}/{kind}/{name}");
        let _ = object.set_text_at(&["metadata", "annotations", DEPENDS_ON], &moved);
    }
    (count, old)
}

/// Group, kind, name and namespace of `group/namespaces/namespace/kind/name`.
pub(super) fn namespaced_reference(text: &str) -> Option<[&str; 4]> {
    let parts: Vec<&str> = text.split('/').collect();
    let [group, "namespaces", namespace, kind, name] = parts[..] else {
        return None;
    };
    let parts = [group, kind, name, namespace];
    parts
        .iter()
        .all(|part| is_reference_part(part))
        .then_some(parts)
}
