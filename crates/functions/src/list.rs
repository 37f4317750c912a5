//! The ResourceList that a function reads and writes.
//!
//! Two libraries stand behind the Go functions, and each has its own manners:
//! the functions SDK sorts the items and writes the list's own fields anew;
//! kustomize's framework keeps the order and wraps what it read. [`Dialect`]
//! says which one a function speaks.

use crate::{
    function::Stop,
    go,
    results::{Form, Report},
    yaml::{Content, Node, SequenceIndent, parse_all, write_node},
};

const API_VERSION: &str = "config.kubernetes.io/v1";
const KIND: &str = "ResourceList";

/// How a function reads and writes lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sdk,
    Framework {
        indent: SequenceIndent,
        results: ResultStyle,
    },
}

/// The form of `results`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultStyle {
    List,
    /// A mapping of name and items, below the function's name.
    Named,
}

/// A parsed list.
#[derive(Debug)]
pub struct ResourceList {
    api_version: Node,
    kind: Node,
    pub items: Vec<Node>,
    pub config: Option<Node>,
    /// Results of functions that ran before, as they are.
    earlier: Option<Node>,
    pub(crate) results: Vec<Report>,
}

impl ResourceList {
    /// Reads a list. The error is what the function would say.
    pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Self, String> {
        match dialect {
            Dialect::Sdk => Self::read_sdk(text),
            Dialect::Framework { .. } => Self::read_framework(text)
                .map_err(|error| format!("failed to read ResourceList input: {error}")),
        }
    }

    fn read_sdk(text: &str) -> Result<Self, String> {
        let mut documents = parse_all(text).map_err(|error| {
            format!("failed to parse input bytes: failed to parse input bytes: {error}")
        })?;
        if let Some(document) = documents
            .iter()
            .find(|document| !document.root.is_mapping())
        {
            let kind = kind_number(&document.root);
            return Err(format!(
                "failed to parse input bytes: failed to extract objects: unhandled node kind {kind}"
            ));
        }
        let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
            let count = documents.len() + usize::from(!documents.is_empty());
            return Err(format!(
                "failed to parse input bytes: expected exactly one object, got {count}"
            ));
        };
        let kind = document.root.kind();
        if kind != KIND {
            return Err(format!(
                "input was of unexpected kind {}; expected ResourceList",
                go::quote(kind)
            ));
        }
        let odd = |name: &str, is: fn(&Node) -> bool| {
            let node = document.root.get(name).filter(|node| !is(node));
            node.map(variant)
        };
        if let Some(variant) = odd("functionConfig", Node::is_mapping) {
            return Err(format!(
                "failed when tried to get functionConfig: wrong type, got: {variant}"
            ));
        }
        if let Some(variant) = odd("items", Node::is_sequence) {
            return Err(format!(
                "failed when tried to get items: incorrect type, was {variant}"
            ));
        }
        let list = Self::from_root(document.root);
        if let Some(item) = list.items.iter().find(|item| !item.is_mapping()) {
            let kind = kind_number(item);
            return Err(format!(
                "failed to extract objects from items: unhandled node kind {kind}"
            ));
        }
        Ok(list)
    }

    fn read_framework(text: &str) -> Result<Self, String> {
        let text = text.replace("\r\n", "\n");
        let parse = |text: &str| parse_all(text).map_err(|error| error.to_string());
        let parts: Vec<&str> = text.split("\n---\n").collect();
        if let [one] = parts[..] {
            let root = parse(one)?.into_iter().next().map(|document| document.root);
            return match root {
                Some(root) if root.kind() == KIND || root.kind() == "List" => {
                    Ok(Self::from_root(root))
                }
                Some(root) if root.is_mapping() => Ok(Self::of(vec![root])),
                _ => Ok(Self::of(Vec::new())),
            };
        }
        let mut items = Vec::new();
        for part in parts {
            let part = format!("{part}\n");
            let roots = parse(&part)?.into_iter().map(|document| document.root);
            items.extend(roots.take(1).filter(Node::is_mapping));
        }
        Ok(Self::of(items))
    }

    /// Objects that were not in a list.
    fn of(items: Vec<Node>) -> Self {
        Self {
            api_version: Node::text(""),
            kind: Node::text(""),
            items,
            config: None,
            earlier: None,
            results: Vec::new(),
        }
    }

    fn from_root(mut root: Node) -> Self {
        let items = match root.remove("items").map(|items| items.content) {
            Some(Content::Sequence { items, .. }) => items,
            _ => Vec::new(),
        };
        Self {
            api_version: root.remove("apiVersion").unwrap_or_else(|| Node::text("")),
            kind: root.remove("kind").unwrap_or_else(|| Node::text("")),
            items,
            config: root.remove("functionConfig"),
            earlier: root.remove("results"),
            results: Vec::new(),
        }
    }

    /// Reports nothing but this failure.
    pub fn fail(&mut self, message: impl Into<String>) -> Stop {
        self.earlier = None;
        self.results = vec![Report::error(message)];
        Stop::Failed(crate::runner_config::FAILURE.into())
    }

    /// The function's configuration; `None` if there is none, or an empty one.
    pub fn config(&self) -> Option<&Node> {
        self.config
            .as_ref()
            .filter(|config| !config.fields().is_empty())
    }

    /// Writes the list; `function` is the name below which results are told.
    pub(crate) fn write(self, dialect: Dialect, function: &str) -> String {
        match dialect {
            Dialect::Sdk => self.write_sdk(),
            Dialect::Framework { indent, results } => {
                self.write_framework(indent, results, function)
            }
        }
    }

    fn write_sdk(mut self) -> String {
        // Go's sort is not stable; with equal keys the order is its own.
        self.items.sort_by_cached_key(|item| {
            let (kind, namespace, name) = (item.kind(), item.namespace(), item.name());
            format!("{} {kind} {namespace} {name}", item.api_version())
        });
        let mut root = Node::mapping(Vec::new());
        root.insert("apiVersion", Node::text(API_VERSION));
        root.insert("kind", Node::text(KIND));
        if !self.items.is_empty() {
            root.insert("items", Node::sequence(self.items));
        }
        if let Some(config) = self.config.filter(|config| !config.fields().is_empty()) {
            root.insert("functionConfig", config);
        }
        let earlier = self
            .earlier
            .map(|mut earlier| match earlier.remove("items") {
                Some(items) => items,
                None => earlier,
            });
        let mut results = match earlier.map(|earlier| earlier.content) {
            Some(Content::Sequence { items, .. }) => items,
            _ => Vec::new(),
        };
        results.extend(self.results.iter().map(|report| report.node(Form::Sdk)));
        if !results.is_empty() {
            root.insert("results", Node::sequence(results));
        }
        write_node(&root, SequenceIndent::Compact)
    }

    fn write_framework(self, indent: SequenceIndent, style: ResultStyle, function: &str) -> String {
        let mut items = self.items;
        for item in &mut items {
            raise_heads(item);
            let metadata = item.get_mut("metadata");
            let annotations = metadata
                .as_ref()
                .and_then(|metadata| metadata.get("annotations"));
            let are_empty = annotations.is_some_and(|it| it.is_mapping() && it.fields().is_empty());
            if let (Some(metadata), true) = (metadata, are_empty) {
                metadata.remove("annotations");
            }
        }
        let bare = self.kind.value() == Some("");
        if bare {
            let documents: Vec<String> =
                items.iter().map(|item| write_node(item, indent)).collect();
            return documents.join("---\n");
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
        write_node(&root, indent)
    }
}

/// kyaml moves what is above the first field of a list's entry above the entry.
fn raise_heads(node: &mut Node) {
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            fields.iter_mut().for_each(|(_, value)| raise_heads(value));
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
                if !head.is_empty() && item.comments().head.is_empty() {
                    item.comments_mut().head = head;
                }
                raise_heads(item);
            }
        }
        _ => {}
    }
}

/// The SDK's name of a node's type, which its errors tell.
fn variant(node: &Node) -> &'static str {
    match node.content {
        Content::Sequence { .. } => "*internal.SliceVariant",
        Content::Mapping { .. } => "*internal.MapVariant",
        _ => "*internal.scalarVariant",
    }
}

/// yaml.v3's number of a node's kind, which its errors tell.
fn kind_number(node: &Node) -> u8 {
    match node.content {
        Content::Sequence { .. } => 2,
        Content::Mapping { .. } => 4,
        Content::Scalar { .. } => 8,
        Content::Alias(_) => 16,
    }
}
