//! The configuration as a type: what is replaced by what, and where.

use serde::Deserialize;

use super::selection::Id;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "replacements.Replacements")]
pub(super) struct Config {
    pub(super) replacements: Replacements,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename = "[]types.Replacement")]
pub(super) struct Replacements(pub(super) Vec<Replacement>);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "types.Replacement", rename_all = "camelCase")]
pub(super) struct Replacement {
    pub(super) source: Option<Source>,
    pub(super) targets: Option<Targets>,
    pub(super) source_value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename = "[]*types.TargetSelector")]
pub(super) struct Targets(pub(super) Vec<Option<Target>>);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "types.SourceSelector", rename_all = "camelCase")]
pub(super) struct Source {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
    pub(super) field_path: String,
    pub(super) options: Option<Options>,
}

impl Source {
    pub(super) fn id(&self) -> Id {
        let [group, version] = [&self.group, &self.version].map(Clone::clone);
        let [kind, name, namespace] = [&self.kind, &self.name, &self.namespace].map(Clone::clone);
        Id::new([group, version, kind, name, namespace])
    }

    /// As messages name it, with what it asks for.
    pub(super) fn printed(&self) -> String {
        let mut parts = vec![self.id().printed()];
        if !self.field_path.is_empty() {
            parts.push(self.field_path.clone());
        }
        parts.extend(self.options.as_ref().and_then(Options::printed));
        parts.join(":")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "types.TargetSelector", rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) select: Option<Selector>,
    pub(super) reject: Selectors,
    pub(super) field_paths: Vec<String>,
    pub(super) options: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename = "[]*types.Selector")]
pub(super) struct Selectors(pub(super) Vec<Option<Selector>>);

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "types.Selector", rename_all = "camelCase")]
pub(super) struct Selector {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
    pub(super) annotation_selector: String,
    pub(super) label_selector: String,
}

impl Selector {
    pub(super) fn id(&self) -> Id {
        let [group, version] = [&self.group, &self.version].map(Clone::clone);
        let [kind, name, namespace] = [&self.kind, &self.name, &self.namespace].map(Clone::clone);
        Id::new([group, version, kind, name, namespace])
    }
}

/// How fields are read and written: split at a delimiter, created if missing.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename = "types.FieldOptions")]
pub(super) struct Options {
    pub(super) delimiter: String,
    pub(super) index: i64,
    /// Without a meaning, but not of any type.
    encoding: String,
    pub(super) create: bool,
}

impl Options {
    pub(super) fn printed(&self) -> Option<String> {
        let has_effect = !self.delimiter.is_empty() || self.create;
        has_effect.then(|| format!("{}({}), create={}", self.delimiter, self.index, self.create))
    }
}

/// Go's messages name the structs in which the parts of an identity are embedded.
pub(super) fn with_embedded(error: String) -> String {
    let fields = [
        ("group", "ResId.Gvk.group"),
        ("version", "ResId.Gvk.version"),
        ("kind", "ResId.Gvk.kind"),
        ("name", "ResId.name"),
        ("namespace", "ResId.namespace"),
    ];
    for place in ["source", "targets.select", "targets.reject"] {
        for (field, embedded) in fields {
            let plain = format!(".replacements.{place}.{field} of type");
            if error.contains(&plain) {
                return error.replace(&plain, &format!(".replacements.{place}.{embedded} of type"));
            }
        }
    }
    error
}
