//! Reads lists, with the libraries' errors for text that is not a list.

use super::{KIND, ResourceList, ResultStyle, earlier, places};
use crate::{
    go,
    object::{INDEX, LEGACY_INDEX},
    yaml::{Content, Node, parse_all},
};

impl ResourceList {
    pub(super) fn read_sdk(text: &str) -> Result<Self, String> {
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
        Self::of_sdk_root(document.root)
    }

    pub(super) fn of_sdk_root(root: Node) -> Result<Self, String> {
        let kind = root.kind();
        if kind != KIND {
            return Err(format!(
                "input was of unexpected kind {}; expected ResourceList",
                go::quote(kind)
            ));
        }
        let odd = |name: &str, is: fn(&Node) -> bool| {
            let node = root.get(name).filter(|node| !is(node));
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
        let mut list = Self::from_root(root);
        match earlier::decoded(list.earlier.take()) {
            Ok(results) => list.earlier = Some(Node::sequence(results)),
            Err(message) => list.refused = Some(message),
        }
        if let Some(item) = list.items.iter().find(|item| !item.is_mapping()) {
            let kind = kind_number(item);
            return Err(format!(
                "failed to extract objects from items: unhandled node kind {kind}"
            ));
        }
        Ok(list)
    }

    pub(super) fn read_framework(text: &str, results: ResultStyle) -> Result<Self, String> {
        let text = text.replace("\r\n", "\n");
        let parse = |text: &str| parse_all(text).map_err(|error| error.to_string());
        let parts: Vec<&str> = text.split("\n---\n").collect();
        if let [one] = parts[..] {
            let root = parse(one)?.into_iter().next().map(|document| document.root);
            return Self::of_framework_root(root, results);
        }
        let mut items = Vec::new();
        for part in parts {
            let part = format!("{part}\n");
            let roots = parse(&part)?.into_iter().map(|document| document.root);
            items.extend(roots.take(1).filter(Node::is_mapping));
        }
        Self::of(items, results)
    }

    pub(super) fn of_framework_root(
        root: Option<Node>,
        results: ResultStyle,
    ) -> Result<Self, String> {
        let is_list = |root: &Node| {
            let fields = ["items", "functionConfig"];
            (root.kind() == KIND || root.kind() == "List")
                && fields.iter().any(|field| root.get(field).is_some())
        };
        match root {
            Some(root) if is_list(&root) => Ok(Self::from_root(root)),
            Some(root) if root.is_mapping() => Self::of(vec![root], results),
            _ => Self::of(Vec::new(), results),
        }
    }

    /// Objects that were not in a list.
    fn of(mut items: Vec<Node>, results: ResultStyle) -> Result<Self, String> {
        let names: &[&str] = match results {
            ResultStyle::Named => &[LEGACY_INDEX],
            ResultStyle::List => &[LEGACY_INDEX, INDEX],
        };
        for (number, item) in items.iter_mut().enumerate() {
            for name in names {
                places::annotate(item, name, &number.to_string())?;
            }
        }
        Ok(Self {
            api_version: Node::text(""),
            kind: Node::text(""),
            items,
            config: None,
            earlier: None,
            refused: None,
            results: Vec::new(),
            keeps_empty_config: false,
            length: 0,
        })
    }

    pub(super) fn from_root(mut root: Node) -> Self {
        let items = match root.remove("items").map(|items| items.content) {
            Some(Content::Sequence { items, .. }) => items.into(),
            // kyaml takes its keys and values for objects, and then refuses them.
            Some(Content::Mapping { fields, .. }) => fields
                .into_iter()
                .flat_map(|(key, value)| [key, value])
                .collect(),
            _ => Vec::new(),
        };
        Self {
            api_version: root.remove("apiVersion").unwrap_or_else(|| Node::text("")),
            kind: root.remove("kind").unwrap_or_else(|| Node::text("")),
            items,
            config: root.remove("functionConfig"),
            earlier: root.remove("results"),
            refused: None,
            results: Vec::new(),
            keeps_empty_config: false,
            length: 0,
        }
    }
}

/// The SDK's name of a node's type, for its errors.
fn variant(node: &Node) -> &'static str {
    match node.content {
        Content::Sequence { .. } => "*internal.SliceVariant",
        Content::Mapping { .. } => "*internal.MapVariant",
        _ => "*internal.scalarVariant",
    }
}

/// yaml.v3's number of a node's kind, for its errors.
fn kind_number(node: &Node) -> u8 {
    match node.content {
        Content::Sequence { .. } => 2,
        Content::Mapping { .. } => 4,
        Content::Scalar { .. } => 8,
        Content::Alias(_) => 16,
    }
}
