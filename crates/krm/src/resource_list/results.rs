//! What a function reported about the resources it saw.

use std::{collections::BTreeMap, fmt};

/// The results of a list, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Results {
    pub list: Vec<FunctionResult>,
    /// How many more there were than anybody would read.
    pub not_read: usize,
}

impl Results {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// One result. Missing parts are empty.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FunctionResult {
    pub severity: String,
    pub message: String,
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub field: String,
    pub file: String,
}

/// A parsed result before its fields are picked out.
pub(super) enum Node {
    Scalar(String),
    Mapping(BTreeMap<String, Node>),
    /// Lists, aliases, and what is beyond bounds: no field that is read here is one.
    Other,
}

impl Node {
    fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| match node {
            Node::Mapping(fields) => fields.get(*key),
            _ => None,
        })
    }

    fn text(&self, path: &[&str]) -> String {
        match self.at(path) {
            Some(Node::Scalar(text)) => text.clone(),
            _ => String::new(),
        }
    }
}

impl FunctionResult {
    pub(super) fn from_node(node: &Node) -> Option<Self> {
        let Node::Mapping(_) = node else { return None };
        let or = |text: String, other: &[&str]| {
            if text.is_empty() {
                node.text(other)
            } else {
                text
            }
        };
        Some(Self {
            severity: match node.text(&["severity"]) {
                // The KRM specification's default.
                severity if severity.is_empty() => "error".into(),
                severity => severity,
            },
            message: node.text(&["message"]),
            api_version: node.text(&["resourceRef", "apiVersion"]),
            kind: node.text(&["resourceRef", "kind"]),
            // Older SDKs put both below metadata.
            namespace: or(
                node.text(&["resourceRef", "namespace"]),
                &["resourceRef", "metadata", "namespace"],
            ),
            name: or(
                node.text(&["resourceRef", "name"]),
                &["resourceRef", "metadata", "name"],
            ),
            field: node.text(&["field", "path"]),
            file: node.text(&["file", "path"]),
        })
    }

    pub fn is_error(&self) -> bool {
        self.severity.eq_ignore_ascii_case("error")
    }

    /// `apiVersion/kind/namespace/name field`, as much of it as there is.
    pub fn subject(&self) -> String {
        let parts = [&self.api_version, &self.kind, &self.namespace, &self.name];
        let resource: Vec<&str> = parts
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        let resource = resource.join("/");
        match (resource.is_empty(), self.field.is_empty()) {
            (false, false) => format!("{resource} {}", self.field),
            (true, false) => self.field.clone(),
            _ => resource,
        }
    }
}

/// As kpt prints it: `[severity] apiVersion/kind/namespace/name field: message`.
impl fmt::Display for FunctionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject();
        let gap = if subject.is_empty() { "" } else { " " };
        write!(f, "[{}]{gap}{subject}: {}", self.severity, self.message)
    }
}
