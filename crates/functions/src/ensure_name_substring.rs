//! `ensure-name-substring`: puts a text before or behind the names of objects
//! that do not contain it, and into what refers to them.

mod references;

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use crate::{
    fieldspec::{Create, FieldSpec, replace_scalar},
    function::{Clock, Function, Stop},
    list::{ResourceList, W1, W3, W3_2026},
    object::{DEPENDS_ON, INDEX, LEGACY_INDEX, LEGACY_PATH, PATH, is_reference_part},
    release::Release,
    resmap,
    typed::{self, Scalars},
    yaml::{Node, SequenceIndent, write_node},
};

/// Notes of tools that this function does not pass on.
const REMOVED: [&str; 8] = [
    PATH,
    INDEX,
    LEGACY_PATH,
    LEGACY_INDEX,
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.k8s.io/id",
];

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.4", W3_2026, &V0_2_1).of_2026(),
    Release::native("v0.2.1", W3, &V0_2_1)
        .with_digests(&["sha256:d1c3450f7e23fbc165ebdba258b4cd27bd22a0c5976ddd82f0d68af37ebc5591"]),
    Release::native("v0.2.0", W1, &V0_2_0),
    Release::native("v0.1.1", W1, &V0_1_1),
    Release::unknown("v0.1.0"),
];

const V0_2_1: EnsureNameSubstring = EnsureNameSubstring {
    is_old: false,
    knows_kpt: true,
};
/// Notes of tools stay, and objects may lack kind and name.
const V0_2_0: EnsureNameSubstring = EnsureNameSubstring {
    is_old: true,
    ..V0_2_1
};
/// A Kptfile is an object like others, and dependencies do not follow.
const V0_1_1: EnsureNameSubstring = EnsureNameSubstring {
    knows_kpt: false,
    ..V0_2_0
};

#[derive(Debug)]
struct EnsureNameSubstring {
    is_old: bool,
    knows_kpt: bool,
}

impl Function for EnsureNameSubstring {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let (edit, more) = configure(list.config(), self.is_old)
            .map_err(|error| format!("failed to load the `functionConfig`: {error}"))?;
        let checked = if self.is_old {
            resmap::check_ids(&list.items)
        } else {
            resmap::check(&list.items)
        };
        checked.map_err(|error| format!("failed to convert items to resource map: {error}"))?;
        let known: HashSet<[String; 3]> = list.items.iter().map(key).collect();
        let mut specs = vec![FieldSpec::new("", "", "", "metadata/name", false)];
        specs.extend(more);
        let mut objects: Vec<Object> = std::mem::take(&mut list.items)
            .into_iter()
            .map(Object::new)
            .collect();
        let edited = self.edit_all(&mut objects, &edit, &specs, &known, clock);
        let referred = edited.and_then(|()| references::fix(&mut objects, clock));
        // A failed run ends before Go tidies up.
        let tidied = objects.iter_mut().filter(|_| referred.is_ok());
        for object in tidied {
            let kept = written_annotations(&object.node);
            if kept.is_empty() && object.old_name.is_none() {
                continue;
            }
            let kept = kept
                .into_iter()
                .filter(|(name, _)| self.is_old || !REMOVED.contains(&name.as_str()));
            object.node.set_annotations(kept.collect());
        }
        list.items = objects.into_iter().map(|object| object.node).collect();
        referred
    }
}

/// The annotations as they are written, also those that are nothing.
fn written_annotations(object: &Node) -> Vec<(String, String)> {
    let annotations = object.at(&["metadata", "annotations"]);
    let fields = annotations.map_or(&[][..], Node::fields).iter();
    let text = |node: &Node| node.value().unwrap_or("").to_owned();
    fields
        .map(|(key, value)| (text(key), text(value)))
        .collect()
}

/// Where the text goes.
enum Edit {
    Prepend(String),
    Append(String),
    /// Nowhere: an unknown mode of a typed configuration.
    Nowhere(String),
}

impl Edit {
    fn text(&self) -> &str {
        match self {
            Self::Prepend(text) | Self::Append(text) | Self::Nowhere(text) => text,
        }
    }

    fn apply(&self, name: &str) -> String {
        match self {
            Self::Prepend(text) => format!("{text}{name}"),
            Self::Append(text) => format!("{name}{text}"),
            Self::Nowhere(_) => name.to_owned(),
        }
    }
}

fn configure(config: Option<&Node>, is_old: bool) -> Result<(Edit, Vec<FieldSpec>), String> {
    let empty = Node::mapping(Vec::new());
    let config = config.unwrap_or(&empty);
    if !is_old {
        resmap::check(std::slice::from_ref(config))?;
    }
    let edit = |mode: &str, text: String| match mode {
        "prepend" => Edit::Prepend(text),
        "append" => Edit::Append(text),
        _ => Edit::Nowhere(text),
    };
    let (edit, specs, both) = match (config.api_version(), config.kind()) {
        ("v1", "ConfigMap") => {
            let ConfigMap { data } = read(config)?;
            let count = data.len();
            let (1, Some((mode, text))) = (count, data.into_iter().next()) else {
                return Err(format!(
                    "only 1 entry is allowed in the ConfigMap, but got: {count}"
                ));
            };
            if mode != "prepend" && mode != "append" {
                return Err(format!(
                    "unknown editMode: {mode}, only prepend and append are allowed"
                ));
            }
            (edit(&mode, text), Vec::new(), false)
        }
        ("fn.kpt.dev/v1alpha1", "EnsureNameSubstring") => {
            let given: Given = read(config)?;
            let mode = match given.edit_mode.as_str() {
                "" => "prepend",
                mode => mode,
            };
            let both = given.additional_name_fields.is_some() && given.field_specs.is_some();
            let specs = given.additional_name_fields.or(given.field_specs);
            let specs = specs.unwrap_or_default();
            (edit(mode, given.substring), specs, both)
        }
        (api_version, kind) => {
            return Err(format!(
                "function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: {}{api_version}, Kind={kind}",
                if api_version.contains('/') { "" } else { "/" }
            ));
        }
    };
    if edit.text().is_empty() {
        return Err("substring must not be empty".into());
    }
    if both {
        let message =
            "`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`";
        return Err(message.into());
    }
    Ok((edit, specs))
}

/// Reads a configuration as `sigs.k8s.io/yaml` does.
fn read<'de, T: Deserialize<'de>>(config: &'de Node) -> Result<T, String> {
    typed::read(config, Scalars::ToText)
        .map_err(|error| format!("error unmarshaling JSON: while decoding JSON: {error}"))
}

#[derive(Default, Deserialize)]
#[serde(default, rename = "ConfigMap")]
struct ConfigMap {
    data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename = "EnsureNameSubstring", rename_all = "camelCase")]
struct Given {
    substring: String,
    edit_mode: String,
    additional_name_fields: Option<Vec<FieldSpec>>,
    /// Their former name.
    field_specs: Option<Vec<FieldSpec>>,
}

/// An object, and the name it had.
struct Object {
    node: Node,
    old_name: Option<String>,
}

impl Object {
    fn new(node: Node) -> Self {
        Self {
            node,
            old_name: None,
        }
    }
}

/// Group, kind and name.
fn key(object: &Node) -> [String; 3] {
    let (group, _) = object.group_version();
    [
        group.to_owned(),
        object.kind().to_owned(),
        resmap::name(object).to_owned(),
    ]
}

impl EnsureNameSubstring {
    /// Objects whose names have a meaning of their own.
    fn keeps_its_name(&self, object: &Node) -> bool {
        let (group, _) = object.group_version();
        match object.kind() {
            "CustomResourceDefinition" | "Namespace" => true,
            "APIService" => group == "apiregistration.k8s.io",
            "Kptfile" => self.knows_kpt && group == "kpt.dev",
            _ => false,
        }
    }

    fn edit_all(
        &self,
        objects: &mut [Object],
        edit: &Edit,
        specs: &[FieldSpec],
        known: &HashSet<[String; 3]>,
        clock: &Clock,
    ) -> Result<(), Stop> {
        for object in objects
            .iter_mut()
            .filter(|object| !self.keeps_its_name(&object.node))
        {
            clock.check()?;
            for spec in specs {
                let is_name = spec.path == "metadata/name";
                if !spec.selects(&object.node) || contains(&object.node, spec, edit.text()) {
                    continue;
                }
                if is_name {
                    object.old_name = Some(resmap::name(&object.node).to_owned());
                }
                let edited = spec.apply(&mut object.node, Create::Scalar, &mut |node, _| {
                    let name = edit.apply(node.value().unwrap_or(""));
                    replace_scalar(node, &name);
                    Ok(())
                });
                edited.map_err(|error| format!("failed to transform name substring: {error}"))?;
                if self.knows_kpt {
                    follow_dependency(&mut object.node, edit, known);
                }
            }
        }
        Ok(())
    }
}

fn contains(object: &Node, spec: &FieldSpec, text: &str) -> bool {
    if spec.path == "metadata/name" {
        return resmap::name(object).contains(text);
    }
    let path: Vec<&str> = spec.path.split('/').collect();
    object
        .at(&path)
        .is_some_and(|value| write_node(value, SequenceIndent::Compact).contains(text))
}

/// A depends-on annotation follows the object that it names.
fn follow_dependency(object: &mut Node, edit: &Edit, known: &HashSet<[String; 3]>) {
    if matches!(edit, Edit::Nowhere(_)) {
        return;
    }
    let parts: Vec<&str> = object.annotation(DEPENDS_ON).split('/').collect();
    let (group, kind, name) = match parts[..] {
        [group, "namespaces", _, kind, name] | [group, kind, name] => (group, kind, name),
        _ => return,
    };
    let key = [group, kind, name].map(str::to_owned);
    if !parts.iter().all(|part| is_reference_part(part)) || !known.contains(&key) {
        return;
    }
    let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    if let Some(last) = parts.last_mut() {
        *last = edit.apply(last);
    }
    let mut annotations = object.annotations();
    for (name, value) in &mut annotations {
        if name == DEPENDS_ON {
            *value = parts.join("/");
        }
    }
    object.set_annotations(annotations);
}
