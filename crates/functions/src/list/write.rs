//! Writing lists.

use super::{API_VERSION, Heads, KIND, ResourceList, ResultStyle, places};
use crate::{
    go,
    results::Form,
    yaml::{Content, Node, SequenceIndent, write_node, write_sized},
};

impl ResourceList {
    pub(super) fn write_sdk(mut self) -> String {
        let key = |item: &Node| {
            let (kind, namespace, name) = (item.kind(), item.namespace(), item.name());
            format!("{} {kind} {namespace} {name}", item.api_version())
        };
        let keys: Vec<String> = self.items.iter().map(key).collect();
        let sorted = go::order(&keys, String::cmp);
        // Before the text is written, which is when most memory is in use.
        drop(keys);
        self.items = go::arranged(self.items, sorted);
        let mut root = Node::mapping(Vec::new());
        root.insert("apiVersion", Node::text(API_VERSION));
        root.insert("kind", Node::text(KIND));
        if !self.items.is_empty() {
            root.insert("items", Node::sequence(self.items));
        }
        let keeps_empty = self.keeps_empty_config;
        let is_kept = |config: &Node| keeps_empty || !config.fields().is_empty();
        if let Some(config) = self.config.filter(is_kept) {
            root.insert("functionConfig", config);
        }
        let mut results = match self.earlier.map(|earlier| earlier.content) {
            Some(Content::Sequence { items, .. }) => items.into(),
            _ => Vec::new(),
        };
        results.extend(self.results.iter().map(|report| report.node(Form::Sdk)));
        if !results.is_empty() {
            root.insert("results", Node::sequence(results));
        }
        write_sized(&root, SequenceIndent::Compact, self.length)
    }

    pub(super) fn write_framework(
        self,
        indent: SequenceIndent,
        style: ResultStyle,
        heads: Heads,
        function: &str,
    ) -> Result<String, String> {
        let mut items = self.items;
        for item in &mut items {
            if heads != Heads::InPlace {
                raise_heads(item, heads);
            }
            places::clear_empty(item)?;
        }
        let bare = self.kind.value() == Some("");
        if bare {
            let documents: Vec<String> =
                items.iter().map(|item| write_node(item, indent)).collect();
            return Ok(documents.join("---\n"));
        }
        let mut root = Node::mapping(Vec::new());
        let unstyled = |node: &Node| Node::plain(node.value().unwrap_or(""));
        root.insert("apiVersion", unstyled(&self.api_version));
        root.insert("kind", unstyled(&self.kind));
        root.insert("items", Node::sequence(items));
        if let Some(config) = self.config {
            root.insert("functionConfig", config);
        }
        let form = match style {
            ResultStyle::List => Form::Framework,
            ResultStyle::Named => Form::OldFramework,
        };
        let results: Vec<Node> = self
            .results
            .iter()
            .map(|report| report.node(form))
            .collect();
        let results = match style {
            _ if results.is_empty() => self.earlier,
            ResultStyle::List => Some(Node::sequence(results)),
            ResultStyle::Named => {
                let mut named = Node::mapping(Vec::new());
                named.insert("name", Node::text(function));
                named.insert("items", Node::sequence(results));
                Some(named)
            }
        };
        if let Some(results) = results {
            root.insert("results", results);
        }
        Ok(write_sized(&root, indent, self.length))
    }
}

/// kyaml moves what is above the first field of a list's entry above the entry;
/// its first versions lose it. In text that is as kyaml writes it nothing is there.
fn raise_heads(node: &mut Node, heads: Heads) {
    if node.is_as_written() {
        return;
    }
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            let values = fields.iter_mut().map(|(_, value)| value);
            values.for_each(|value| raise_heads(value, heads));
        }
        Content::Sequence { items, .. } => {
            for item in items {
                let first = match &mut item.content {
                    Content::Mapping { fields, .. } => fields.first_mut().map(|(key, _)| key),
                    Content::Sequence { items, .. } => items.first_mut(),
                    _ => None,
                };
                let head = match first {
                    Some(first) if first.value().is_some() && !first.comments().head.is_empty() => {
                        std::mem::take(&mut first.comments_mut().head)
                    }
                    _ => String::new(),
                };
                if heads == Heads::Lost && item.value().is_none() {
                    if !item.comments().head.is_empty() {
                        item.comments_mut().head.clear();
                    }
                } else if !head.is_empty() && item.comments().head.is_empty() {
                    item.comments_mut().head = head;
                }
                raise_heads(item, Heads::Kept);
            }
        }
        _ => {}
    }
}
