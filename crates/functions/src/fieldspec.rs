//! kustomize's field specifications: a path into objects of some kinds.

use serde::Deserialize;

use crate::{
    meter, resmap,
    yaml::{Content, Node, Tag},
};

/// Which field of which objects. Empty parts fit everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename = "types.FieldSpec")]
pub(crate) struct FieldSpec {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Names separated by slashes; a backslash keeps one from separating.
    pub(crate) path: String,
    pub(crate) create: bool,
}

/// What a missing field is created as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    Never,
    Mapping,
    Scalar,
}

impl FieldSpec {
    pub(crate) fn new(group: &str, version: &str, kind: &str, path: &str, create: bool) -> Self {
        let [group, version, kind, path] = [group, version, kind, path].map(str::to_owned);
        Self {
            group,
            version,
            kind,
            path,
            create,
        }
    }

    /// Reads a list of specifications from a function's configuration.
    pub(crate) fn read_all(list: Option<&Node>) -> Vec<Self> {
        let text = |node: &Node, name: &str| node.text_at(&[name]).to_owned();
        let read = |node: &Node| Self {
            group: text(node, "group"),
            version: text(node, "version"),
            kind: text(node, "kind"),
            path: text(node, "path"),
            create: node.get("create").and_then(Node::value) == Some("true"),
        };
        list.map_or_else(Vec::new, |list| list.items().iter().map(read).collect())
    }

    pub(crate) fn selects(&self, object: &Node) -> bool {
        let fits = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
        let (group, version) = object.group_version();
        fits(&self.kind, object.kind()) && fits(&self.group, group) && fits(&self.version, version)
    }

    /// Calls `set` for every field that the path leads to.
    pub(crate) fn apply(
        &self,
        object: &mut Node,
        create: Create,
        set: &mut dyn FnMut(&mut Node, &str) -> Result<(), String>,
    ) -> Result<(), String> {
        if !self.selects(object) {
            return Ok(());
        }
        let path = split(&self.path, '/');
        let create = if self.create { create } else { Create::Never };
        let id = id(object);
        walk(object, &path, "", create, set)
            .map_err(|error| format!("considering field '{}' of object {id}: {error}", self.path))
    }
}

fn walk(
    node: &mut Node,
    path: &[String],
    place: &str,
    create: Create,
    set: &mut dyn FnMut(&mut Node, &str) -> Result<(), String>,
) -> Result<(), String> {
    // Once the run is over nobody looks at the rest.
    if !meter::charge(place.len()) {
        return Ok(());
    }
    let Some((first, rest)) = path.split_first() else {
        return set(node, place);
    };
    if node.is_null() {
        return Ok(());
    }
    match &mut node.content {
        Content::Sequence { items, .. } => {
            for item in items {
                walk(item, path, place, create, set).map_err(|error| {
                    format!("visit traversal on path: [{}]: {error}", path.join(" "))
                })?;
            }
            Ok(())
        }
        Content::Mapping { .. } => {
            let name = first.strip_suffix("[]").unwrap_or(first);
            if name.is_empty() {
                return Err("cannot set or create an empty field name".into());
            }
            let creates = create != Create::Never && name.len() == first.len();
            let as_mapping = !rest.is_empty() || create == Create::Mapping;
            if creates {
                create_field(node, name, as_mapping);
            }
            let place = if place.is_empty() {
                name.to_owned()
            } else {
                format!("{place}.{name}")
            };
            match node.get_mut(name) {
                Some(field) => walk(field, rest, &place, create, set),
                None => Ok(()),
            }
        }
        _ => Err("expected sequence or mapping node".into()),
    }
}

/// Makes sure that there is a field that is not null.
fn create_field(node: &mut Node, name: &str, as_mapping: bool) {
    let empty = || {
        if as_mapping {
            Node::mapping(Vec::new())
        } else {
            Node::text("")
        }
    };
    match node.get_mut(name) {
        None => node.insert(name, empty()),
        Some(field) if field.is_null() => {
            field.content = empty().content;
            field.tag = if as_mapping { Tag::Map } else { Tag::Str };
        }
        Some(_) => {}
    }
}

/// Splits a path; a separator behind a backslash is part of a name.
pub(crate) fn split(path: &str, separator: char) -> Vec<String> {
    let path = match path.strip_prefix(separator) {
        Some(rest) if !rest.is_empty() || path.len() > 1 => rest,
        _ => path,
    };
    let mut names: Vec<String> = Vec::new();
    for part in path.split(separator) {
        match names.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(separator);
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

/// How kustomize names an object.
pub(crate) fn id(object: &Node) -> String {
    let (group, version) = object.group_version();
    id_of([
        group,
        version,
        object.kind(),
        resmap::name(object),
        resmap::namespace(object),
    ])
}

/// From group, version, kind, name and namespace.
pub(crate) fn id_of([group, version, kind, name, namespace]: [&str; 5]) -> String {
    let or = |text: &str, none: &str| {
        if text.is_empty() {
            none.to_owned()
        } else {
            text.to_owned()
        }
    };
    format!(
        "{}.{}.{}/{}.{}",
        or(kind, "[noKind]"),
        or(version, "[noVer]"),
        or(group, "[noGrp]"),
        or(name, "[noName]"),
        or(namespace, "[noNs]")
    )
}

/// Sets a scalar's text as kyaml does: the style stays, comments and tag go.
pub(crate) fn replace_scalar(node: &mut Node, text: &str) {
    let mut new = Node::text(text);
    new.tag = Tag::None;
    if let (Content::Scalar { style, .. }, Content::Scalar { style: of, .. }) =
        (&node.content, &mut new.content)
    {
        *of = *style;
    }
    *node = new;
}
