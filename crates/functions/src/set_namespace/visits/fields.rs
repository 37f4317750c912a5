//! The fields of an object that hold a namespace.

use super::{
    super::{has_namespace, is_namespaced},
    Scope,
};
use crate::{json, set_labels::nested_text, yaml::Node};

const NAME: &[&str] = &["metadata", "name"];
const NAMESPACE: &[&str] = &["metadata", "namespace"];
/// In a definition of objects, where the service is that converts them.
pub(in crate::set_namespace) const WEBHOOK: &[&str] = &[
    "spec",
    "conversion",
    "webhook",
    "clientConfig",
    "service",
    "namespace",
];

/// Why a visit ended: a field on this path is of another type.
pub(super) struct WrongField(pub(super) &'static [&'static str]);

pub(super) type Visitor<'a> = &'a mut dyn FnMut(&mut String);

/// Writes a text anew; comments stay.
pub(super) fn renew(object: &mut Node, path: &[&str], text: &str) -> Result<(), ()> {
    if let Some(field) = object.at_mut(path) {
        let comments = field.comments().clone();
        *field = Node::text(text);
        *field.comments_mut() = comments;
        return Ok(());
    }
    object.set_text_at(path, text).map_err(drop)
}

impl Scope {
    /// Visits the object's fields. Whether there are any.
    pub(super) fn visit(self, object: &mut Node, visitor: Visitor<'_>) -> Result<bool, WrongField> {
        if object.is_local_config() {
            return Ok(false);
        }
        let mut any = true;
        match (object.api_version(), object.kind()) {
            ("v1", "Namespace") => at(object, NAME, visitor)?,
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
                at(object, WEBHOOK, visitor)?;
            }
            ("apiregistration.k8s.io/v1", "APIService") => {
                at(object, &["spec", "service", "namespace"], visitor)?;
            }
            (_, "ClusterRoleBinding") => any = in_subjects(object, visitor)?,
            (_, "RoleBinding") if self != Self::OneWithoutRoleBindings => {
                any = in_subjects(object, visitor)?;
            }
            _ if self == Self::OneWithoutRoleBindings => {
                any = has_namespace(object);
                if any {
                    at(object, NAMESPACE, visitor)?;
                }
            }
            _ => any = false,
        }
        let is_in_one = match self {
            Self::OneWithoutRoleBindings => false,
            Self::One => has_namespace(object),
            Self::All => is_namespaced(object),
        };
        if is_in_one {
            at(object, NAMESPACE, visitor)?;
        }
        Ok(any || is_in_one)
    }
}

fn at(
    object: &mut Node,
    path: &'static [&'static str],
    visitor: Visitor<'_>,
) -> Result<(), WrongField> {
    let text = nested_text(object, path).map_err(|()| WrongField(path))?;
    let mut namespace = text.unwrap_or("").to_owned();
    visitor(&mut namespace);
    renew(object, path, &namespace).map_err(|()| WrongField(path))
}

/// Visits subjects that have a namespace. All come back from JSON.
fn in_subjects(object: &mut Node, visitor: Visitor<'_>) -> Result<bool, WrongField> {
    const SUBJECTS: &[&str] = &["subjects"];
    let mut any = false;
    if object.get("subjects").is_none() {
        object.insert("subjects", Node::sequence(Vec::new()));
    }
    let subjects = object
        .get_mut("subjects")
        .filter(|subjects| subjects.is_sequence() && subjects.items().iter().all(Node::is_mapping))
        .ok_or(WrongField(SUBJECTS))?;
    for subject in subjects.items_mut().into_iter().flatten() {
        if let Some(field) = subject.get("namespace") {
            any = true;
            let mut namespace = field.as_text().unwrap_or("").to_owned();
            visitor(&mut namespace);
            let _ = renew(subject, &["namespace"], &namespace);
        }
    }
    let mut written = json::through(subjects);
    *written.comments_mut() = subjects.comments().clone();
    *subjects = written;
    Ok(any)
}
