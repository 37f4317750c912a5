//! Which objects a replacement is about: by identity, labels and annotations.

use crate::{fieldspec::id_of, object::group_version, selector::Selector, yaml::Node};

/// The parts of an object's identity that a selector names.
pub(super) struct Id {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl Id {
    /// As a selector gives it.
    pub(super) fn of_selector(node: &Node) -> Self {
        let text = |name: &str| {
            node.get(name)
                .and_then(Node::value)
                .unwrap_or("")
                .to_owned()
        };
        Self {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            name: text("name"),
            namespace: text("namespace"),
        }
    }

    /// What an object is and was called.
    pub(super) fn all_of(object: &Node) -> Vec<Self> {
        const PREVIOUS: &str = "internal.config.kubernetes.io/previous";
        let (group, version) = group_version(
            object
                .at(&["apiVersion"])
                .and_then(Node::value)
                .unwrap_or(""),
        );
        let id = |kind: &str, name: &str, namespace: &str| Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        };
        let mut ids = vec![id(object.kind(), object.name(), object.namespace())];
        let before = |what: &str| {
            object
                .annotation(&format!("{PREVIOUS}{what}"))
                .split(',')
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (kinds, names, namespaces) = (before("Kinds"), before("Names"), before("Namespaces"));
        for ((kind, name), namespace) in kinds.iter().zip(&names).zip(&namespaces) {
            if !name.is_empty() {
                ids.push(id(kind, name, namespace));
            }
        }
        ids
    }

    pub(super) fn is_selected_by(&self, selector: &Self) -> bool {
        let fits = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
        let place = |namespace: &str| {
            if namespace.is_empty() {
                "default".to_owned()
            } else {
                namespace.to_owned()
            }
        };
        fits(&selector.name, &self.name)
            && (selector.namespace.is_empty()
                || place(&selector.namespace) == place(&self.namespace))
            && fits(&selector.group, &self.group)
            && fits(&selector.version, &self.version)
            && fits(&selector.kind, &self.kind)
    }

    pub(super) fn is_empty(&self) -> bool {
        [
            &self.group,
            &self.version,
            &self.kind,
            &self.name,
            &self.namespace,
        ]
        .iter()
        .all(|part| part.is_empty())
    }

    pub(super) fn printed(&self) -> String {
        id_of([
            &self.group,
            &self.version,
            &self.kind,
            &self.name,
            &self.namespace,
        ])
    }
}

/// Whether the selectors for labels and annotations fit the object.
pub(super) fn fits_labels(item: &Node, selector: &Node) -> Result<bool, String> {
    let matches = |name: &str, of: &str| -> Result<bool, String> {
        let pairs = item
            .at(&["metadata", of])
            .map_or_else(Vec::new, Node::texts);
        Ok(Selector::parse(selector.text_at(&[name]))?.matches(&pairs))
    };
    Ok(matches("annotationSelector", "annotations")? && matches("labelSelector", "labels")?)
}
