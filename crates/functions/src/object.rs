//! What a KRM object says about itself.

use crate::{
    results::field_text,
    yaml::{Node, Tag},
};

/// The directory-relative file that an object comes from, as kpt notes it.
pub(crate) const PATH: &str = "internal.config.kubernetes.io/path";
pub(crate) const INDEX: &str = "internal.config.kubernetes.io/index";
pub(crate) const LEGACY_PATH: &str = "config.kubernetes.io/path";
pub(crate) const LEGACY_INDEX: &str = "config.kubernetes.io/index";
/// Names the object that an object depends on: `group/kind/name`, or
/// `group/namespaces/namespace/kind/name`.
pub(crate) const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
pub(crate) const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

impl Node {
    pub fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"])
    }

    pub fn kind(&self) -> &str {
        self.text_at(&["kind"])
    }

    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"])
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"])
    }

    /// An annotation's value; empty if there is none.
    pub(crate) fn annotation(&self, name: &str) -> &str {
        let value = self.annotation_node(name);
        value.map_or("", Node::text_or_null)
    }

    /// Most objects do not have the annotation that is asked for.
    pub(crate) fn annotation_node(&self, name: &str) -> Option<&Node> {
        let annotations = self.at(&["metadata", "annotations"])?;
        annotations.get_rare(name)
    }

    /// The annotations, in their order.
    pub(crate) fn annotations(&self) -> Vec<(String, String)> {
        let annotations = self.at(&["metadata", "annotations"]);
        let pairs = annotations.map_or_else(Vec::new, Node::texts);
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Replaces the annotations, sorted, as kyaml does.
    pub(crate) fn set_annotations(&mut self, mut annotations: Vec<(String, String)>) {
        if self.get("metadata").is_none() && !annotations.is_empty() {
            self.insert("metadata", Node::mapping(Vec::new()));
        }
        let Some(metadata) = self.get_mut("metadata") else {
            return;
        };
        metadata.remove("annotations");
        if annotations.is_empty() {
            return;
        }
        annotations.sort();
        let fields = annotations
            .into_iter()
            .map(|(name, value)| (Node::text(name), field_text(&value)));
        metadata.insert("annotations", Node::mapping(fields.collect()));
    }

    /// The path of the object's file.
    pub(crate) fn path(&self) -> &str {
        let found = self.text_or_null_in_text(&["metadata", "annotations", PATH]);
        match found.unwrap_or_else(|| self.annotation(PATH)) {
            "" => self.annotation(LEGACY_PATH),
            path => path,
        }
    }

    /// The file that the object is from, as results name it.
    pub(crate) fn file(&self) -> Option<(String, i64)> {
        Some((self.path().to_owned(), 0))
    }

    /// What results call the object by.
    pub(crate) fn identity(&self) -> [String; 4] {
        let [api_version, kind] = [self.api_version(), self.kind()];
        [api_version, kind, self.name(), self.namespace()].map(str::to_owned)
    }

    /// Group and version.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        group_version(self.api_version())
    }

    /// Whether the object is of this group, version and kind; what is empty, on
    /// either side, fits everything.
    pub fn is_a(&self, group: &str, version: &str, kind: &str) -> bool {
        let fits = |own: &str, wanted: &str| own.is_empty() || wanted.is_empty() || own == wanted;
        let (own_group, own_version) = self.group_version();
        fits(self.kind(), kind) && fits(own_group, group) && fits(own_version, version)
    }

    /// Whether the object is only for tools, never for a cluster. To the SDK, an
    /// annotation that is not text (`true` without quotes) says nothing.
    pub(crate) fn is_local_config(&self) -> bool {
        let annotation = self.annotation_node(LOCAL_CONFIG);
        let text = annotation.and_then(Node::as_text);
        !matches!(text.unwrap_or(""), "" | "false")
    }

    /// How messages name the object.
    pub(crate) fn describe(&self) -> String {
        format!(
            "Resource(apiVersion={}, kind={}, namespace={}, name={})",
            self.api_version(),
            self.kind(),
            self.namespace(),
            self.name()
        )
    }

    /// The `data` of a ConfigMap, in its order.
    pub(crate) fn data(&self) -> Vec<(&str, &str)> {
        self.get("data").map_or_else(Vec::new, Node::texts)
    }

    /// The text of a scalar; what is nothing, `null` too, is empty text.
    pub(crate) fn text_or_null(&self) -> &str {
        self.value().filter(|_| !self.is_null()).unwrap_or("")
    }

    /// As [`Self::text_or_null`], of a field of an object that need not be read for it; it
    /// may be there all the same if it is not found.
    pub(crate) fn text_or_null_in_text(&self, path: &[&str]) -> Option<&str> {
        let (text, tag) = self.scalar_in_text(path)?;
        Some(if tag == Tag::Null { "" } else { text })
    }

    /// Keys and values of a mapping of scalars.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        let fields = self.fields().iter();
        let pairs = fields.map(|(key, value)| (key.text_or_null(), value.text_or_null()));
        pairs.collect()
    }
}

/// Whether the text can be a part of a depends-on annotation.
pub(crate) fn is_reference_part(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
