//! What `set-namespace`, `set-labels` and `set-annotations` were made of up to
//! their releases 0.2.0, 0.1.5 and 0.1.4: kustomize's transformers, with the
//! fields that they know, over objects that pass through JSON.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use crate::{
    fieldspec::{Create, FieldSpec},
    function::{Clock, Function, Stop, report_failure},
    go, json,
    list::ResourceList,
    resmap,
    set_annotations::{default_specs as annotation_specs, set},
    typed::{self, Scalars},
    yaml::{Node, SequenceIndent, write_node},
};

mod labels;

/// What is set, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Namespace {
        /// Whether subjects that are ServiceAccounts of the list are moved, too.
        follows_accounts: bool,
    },
    Labels,
    Annotations,
}

/// A function of kustomize's transformers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transformer {
    pub(crate) field: Field,
}

/// What the configuration asks for.
pub(crate) struct Wanted {
    namespace: String,
    pub(crate) pairs: BTreeMap<String, String>,
    pub(crate) specs: Vec<FieldSpec>,
}

/// The configuration as Go's type has it.
#[derive(Default, Deserialize)]
#[serde(default, rename = "plugin", rename_all = "camelCase")]
struct Plugin {
    namespace: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    field_specs: Option<Specs>,
    additional_namespace_fields: Option<Specs>,
    additional_label_fields: Option<Specs>,
    additional_annotation_fields: Option<Specs>,
}

#[derive(Default, Deserialize)]
#[serde(rename = "[]types.FieldSpec")]
struct Specs(Vec<Spec>);

#[derive(Default, Deserialize)]
#[serde(default, rename = "types.FieldSpec")]
struct Spec {
    group: String,
    version: String,
    kind: String,
    path: String,
    create: bool,
}

impl Field {
    /// The kinds of its configuration, and how messages list them.
    fn kinds(self) -> ([&'static str; 2], &'static str) {
        match self {
            Self::Namespace { .. } => (
                ["SetNamespace", "SetNamespaceConfig"],
                "`functionConfig` must be a `ConfigMap` or `SetNamespace`",
            ),
            Self::Labels => (
                ["SetLabels", "SetLabelConfig"],
                "`functionConfig` must be either a `ConfigMap` or `SetLabels`",
            ),
            Self::Annotations => (
                ["SetAnnotations", "SetAnnotationConfig"],
                "`functionConfig` must be a `ConfigMap` or `SetAnnotations`",
            ),
        }
    }

    /// How a message calls what must not be empty.
    fn input(self) -> &'static str {
        match self {
            Self::Namespace { .. } => "namespace",
            Self::Labels => "label list",
            Self::Annotations => "annotation list",
        }
    }

    /// Reads the configuration, which messages quote with lists indented so.
    pub(crate) fn configure(
        self,
        config: Option<&Node>,
        indent: SequenceIndent,
    ) -> Result<Wanted, String> {
        let (kinds, unknown) = self.kinds();
        let config = config.ok_or(unknown)?;
        let wanted = match (config.api_version(), config.kind()) {
            ("v1", "ConfigMap") => {
                let data = config.data().into_iter();
                let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
                let pairs: BTreeMap<String, String> = data.map(owned).collect();
                Wanted {
                    namespace: pairs.get("namespace").cloned().unwrap_or_default(),
                    pairs,
                    specs: Vec::new(),
                }
            }
            ("fn.kpt.dev/v1alpha1", kind) if kinds.contains(&kind) => self.typed(config, indent)?,
            _ => return Err(unknown.into()),
        };
        let is_empty = match self {
            Self::Namespace { .. } => wanted.namespace.is_empty(),
            _ => wanted.pairs.is_empty(),
        };
        if is_empty {
            return Err(format!("input {} cannot be empty", self.input()));
        }
        Ok(wanted)
    }

    fn typed(self, config: &Node, indent: SequenceIndent) -> Result<Wanted, String> {
        let plugin: Plugin = typed::read(config, Scalars::ToText).map_err(|error| {
            let text = go::quote(&write_node(config, indent));
            format!("failed to unmarshal config {text}: error unmarshaling JSON: while decoding JSON: {error}")
        })?;
        let (more, name) = match self {
            // The Go function's message names another function's field.
            Self::Namespace { .. } => (plugin.additional_namespace_fields, "additionalLabelFields"),
            Self::Labels => (plugin.additional_label_fields, "additionalLabelFields"),
            Self::Annotations => (
                plugin.additional_annotation_fields,
                "additionalAnnotationFields",
            ),
        };
        if more.is_some() && plugin.field_specs.is_some() {
            return Err(format!(
                "`fieldSpecs` has been deprecated, please rename it to `{name}`"
            ));
        }
        let specs = more.or(plugin.field_specs).unwrap_or_default();
        Ok(Wanted {
            namespace: plugin.namespace,
            pairs: match self {
                Self::Labels => plugin.labels,
                _ => plugin.annotations,
            },
            specs: specs.0.iter().map(Spec::field_spec).collect(),
        })
    }

    fn default_specs(self) -> Vec<FieldSpec> {
        match self {
            Self::Namespace { .. } => namespace_specs(),
            Self::Labels => labels::specs(),
            Self::Annotations => annotation_specs(),
        }
    }
}

impl Spec {
    fn field_spec(&self) -> FieldSpec {
        FieldSpec::new(
            &self.group,
            &self.version,
            &self.kind,
            &self.path,
            self.create,
        )
    }
}

/// The fields that hold a namespace, but for those that [`bind`] and [`transform`]
/// know of their own.
fn namespace_specs() -> Vec<FieldSpec> {
    vec![
        FieldSpec::new("", "", "Namespace", "metadata/name", true),
        FieldSpec::new(
            "apiregistration.k8s.io",
            "",
            "APIService",
            "spec/service/namespace",
            true,
        ),
        FieldSpec::new(
            "apiextensions.k8s.io",
            "",
            "CustomResourceDefinition",
            "spec/conversion/webhook/clientConfig/service/namespace",
            false,
        ),
    ]
}

impl Function for Transformer {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            report_failure(list, message.clone(), message)
        };
        let mut wanted = match self.field.configure(list.config(), SequenceIndent::Wide) {
            Ok(wanted) => wanted,
            Err(message) => {
                let message = format!("failed to configure function: {message}");
                return Err(fail(list, message));
            }
        };
        wanted.specs.extend(self.field.default_specs());
        if let Err(message) = self.run_all(list, &wanted, clock)? {
            // A failed run leaves no items.
            list.items.clear();
            return Err(fail(list, format!("failed to run function: {message}")));
        }
        Ok(())
    }
}

impl Transformer {
    fn run_all(
        &self,
        list: &mut ResourceList,
        wanted: &Wanted,
        clock: &Clock,
    ) -> Result<Result<(), String>, Stop> {
        if let Err(message) = resmap::check_ids(&list.items) {
            return Ok(Err(message));
        }
        let accounts: HashSet<String> = list
            .items
            .iter()
            .filter(|item| item.kind() == "ServiceAccount")
            .map(|item| item.name().to_owned())
            .collect();
        for item in &mut list.items {
            clock.check()?;
            if let Err(message) = self.transform(item, wanted, &accounts) {
                return Ok(Err(format!("failed to run transformer: {message}")));
            }
        }
        Ok(Ok(()))
    }

    fn transform(
        &self,
        item: &mut Node,
        wanted: &Wanted,
        accounts: &HashSet<String>,
    ) -> Result<(), String> {
        if self.field == Field::Annotations {
            return set_pairs(item, wanted);
        }
        *item = json::checked(item)?;
        match self.field {
            Field::Namespace { follows_accounts } => {
                set_namespace(item, wanted)?;
                if follows_accounts {
                    bind(item, &wanted.namespace, &|subject| {
                        subject.kind() == "ServiceAccount"
                            && subject
                                .get("name")
                                .and_then(Node::value)
                                .is_some_and(|name| accounts.contains(name))
                    });
                }
            }
            _ => set_pairs(item, wanted)?,
        }
        *item = json::through(item);
        Ok(())
    }
}

fn set_pairs(item: &mut Node, wanted: &Wanted) -> Result<(), String> {
    for (key, value) in &wanted.pairs {
        for spec in &wanted.specs {
            spec.apply(item, Create::Mapping, &mut |node, _| set(node, key, value))?;
        }
    }
    Ok(())
}

fn set_namespace(item: &mut Node, wanted: &Wanted) -> Result<(), String> {
    let namespace = wanted.namespace.as_str();
    let mut put = |node: &mut Node, _: &str| {
        if node.value().is_none() {
            return Err("wrong node kind: expected ScalarNode".to_owned());
        }
        // A field that was there keeps the quotes that it has in JSON.
        *node = if node.is_plain() && node.value() == Some("") {
            Node::plain(namespace)
        } else {
            Node::text(namespace)
        };
        Ok(())
    };
    if !resmap::is_cluster_scoped(item) {
        let own = FieldSpec::new("", "", "", "metadata/namespace", true);
        own.apply(item, Create::Scalar, &mut put)?;
    }
    bind(item, namespace, &|subject| {
        subject.get("name").and_then(Node::value) == Some("default")
    });
    for spec in &wanted.specs {
        let is_known = spec.path == "metadata/namespace"
            || (spec.path == "subjects"
                && matches!(spec.kind.as_str(), "RoleBinding" | "ClusterRoleBinding"));
        if !is_known {
            spec.apply(item, Create::Scalar, &mut put)?;
        }
    }
    Ok(())
}

/// Moves those subjects of a binding that are chosen.
fn bind(item: &mut Node, namespace: &str, is_chosen: &dyn Fn(&Node) -> bool) {
    if !matches!(item.kind(), "RoleBinding" | "ClusterRoleBinding") {
        return;
    }
    let subjects = item.get_mut("subjects").and_then(Node::items_mut);
    for subject in subjects.into_iter().flatten() {
        if is_chosen(subject) {
            let _ = subject.set_text_at(&["namespace"], namespace);
        }
    }
}
