//! How a replacement treats the fields it reads and writes.

use crate::yaml::Node;

/// How fields are read and written: split at a delimiter, created if missing.
pub(super) struct Options {
    pub(super) delimiter: String,
    pub(super) index: i64,
    pub(super) create: bool,
}

impl Options {
    pub(super) fn of(node: &Node) -> Self {
        let options = node.get("options");
        let text = |name: &str| {
            options
                .and_then(|options| options.get(name))
                .and_then(Node::value)
                .unwrap_or("")
        };
        Self {
            delimiter: text("delimiter").to_owned(),
            index: text("index").parse().unwrap_or(0),
            create: text("create") == "true",
        }
    }

    pub(super) fn printed(&self) -> String {
        if self.delimiter.is_empty() && !self.create {
            return String::new();
        }
        format!(
            ":{}({}), create={}",
            self.delimiter, self.index, self.create
        )
    }
}
