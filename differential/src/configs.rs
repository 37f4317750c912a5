//! Generated configurations: every option of every function, right and wrong.
//!
//! What a function alone understands is in the file of its family; what may be wrong
//! with any configuration is here.

mod names;
mod replacements;
mod searches;
mod setters;
mod values;

use crate::{
    dice::Dice,
    objects, scripts,
    tree::{Tree, list, map, scalar, wrong},
};

pub(crate) use setters::PATTERNS;

/// The configuration for a function; `None` if the list has none.
pub(crate) fn config(function: &str, dice: &mut Dice) -> Option<Tree> {
    if dice.percent(2) {
        return None;
    }
    if dice.percent(2) {
        return Some(objects::object(dice));
    }
    let mut config = match function {
        "set-namespace" => names::set_namespace(dice),
        "apply-setters" | "create-setters" | "list-setters" => setters::setters(function, dice),
        "search-replace" => searches::search_replace(dice),
        "apply-replacements" => replacements::apply_replacements(dice),
        "ensure-name-substring" => names::ensure_name_substring(dice),
        "upsert-resource" => values::upsert_resource(dice),
        "set-labels" | "set-label" => values::pairs("SetLabels", "SetLabelConfig", "labels", dice),
        "set-annotations" | "set-annotation" => {
            values::pairs("SetAnnotations", "SetAnnotationConfig", "annotations", dice)
        }
        "set-image" => values::set_image(dice),
        "set-enforcement-action" => values::set_enforcement_action(dice),
        "set-project-id" => values::set_project_id(dice),
        "starlark" => scripts::config(dice),
        _ => config_map([]),
    };
    if dice.percent(8) {
        config.spoil(dice);
    }
    if dice.percent(6) {
        let key = dice.pick(&["apiVersion", "kind", "metadata", "data", "extra"]);
        if dice.percent(50) {
            config.remove(key);
        } else {
            config.set(key, wrong(dice));
        }
    }
    if dice.percent(4) {
        config.respell(dice);
    }
    if dice.percent(5) {
        config.comment(15, dice);
    }
    Some(config)
}

fn config_map<const N: usize>(data: [(&str, Tree); N]) -> Tree {
    map([
        ("apiVersion", scalar("v1")),
        ("kind", scalar("ConfigMap")),
        ("metadata", map([("name", scalar("config"))])),
        ("data", map(data)),
    ])
}

fn typed(kind: &str) -> Tree {
    map([
        ("apiVersion", scalar("fn.kpt.dev/v1alpha1")),
        ("kind", scalar(kind)),
        ("metadata", map([("name", scalar("config"))])),
    ])
}

fn data(config: &mut Tree) -> &mut Tree {
    if config.get_mut("data").is_none() {
        config.set("data", map([]));
    }
    config.get_mut("data").expect("it was set")
}

fn field_specs(dice: &mut Dice) -> Tree {
    let count = 1 + dice.below(2);
    let specs: Vec<Tree> = (0..count).map(|_| field_spec(dice)).collect();
    list(specs)
}

fn field_spec(dice: &mut Dice) -> Tree {
    let path = dice.pick(&[
        "spec/namespace",
        "spec/nested/b",
        "spec/list",
        "spec/nested/items[]/value",
        "metadata/name",
        "spec/absent/deep",
        "spec/template/metadata/labels",
        "spec/template/spec/containers[]/image",
        "data/web",
    ]);
    let mut spec = map([("path", scalar(path))]);
    if dice.percent(50) {
        spec.set(
            "kind",
            scalar(dice.pick(&["Widget", "ConfigMap", "Deployment"])),
        );
    }
    if dice.percent(20) {
        spec.set("group", scalar(dice.pick(&["apps", "example.com"])));
    }
    if dice.percent(20) {
        spec.set("version", scalar("v1"));
    }
    if dice.percent(30) {
        spec.set("create", scalar(dice.pick(&["true", "false", "\"true\""])));
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Style, write};

    /// Every word that a function's configuration may have.
    const OPTIONS: &[(&str, &[&str])] = &[
        (
            "set-namespace",
            &[
                "namespace:",
                "namespaceMatcher:",
                "kptfile.kpt.dev",
                "SetNamespace",
                "SetNamespaceConfig",
                "additionalNamespaceFields:",
                "fieldSpecs:",
            ],
        ),
        ("apply-setters", &["web:", "list:", "password:", "Bearer"]),
        ("create-setters", &["web:", "list:"]),
        (
            "search-replace",
            &[
                "by-value:",
                "by-value-regex:",
                "by-path:",
                "by-file-path:",
                "put-value:",
                "put-comment:",
                "by-nothing:",
            ],
        ),
        (
            "apply-replacements",
            &[
                "source:",
                "sourceValue:",
                "fieldPath:",
                "group:",
                "version:",
                "kind:",
                "name:",
                "namespace:",
                "targets:",
                "select:",
                "reject:",
                "labelSelector:",
                "annotationSelector:",
                "fieldPaths:",
                "fieldpaths:",
                "delimiter:",
                "index:",
                "create:",
                "encoding:",
            ],
        ),
        (
            "ensure-name-substring",
            &[
                "prepend:",
                "append:",
                "other:",
                "substring:",
                "editMode:",
                "additionalNameFields:",
                "fieldSpecs:",
            ],
        ),
        (
            "upsert-resource",
            &["kind: List", "config.kubernetes.io/target-path:"],
        ),
        (
            "set-labels",
            &[
                "labels:",
                "SetLabels",
                "additionalLabelFields:",
                "fieldSpecs:",
            ],
        ),
        (
            "set-annotations",
            &[
                "annotations:",
                "SetAnnotations",
                "additionalAnnotationFields:",
            ],
        ),
        (
            "set-image",
            &[
                "name:",
                "newName:",
                "newTag:",
                "digest:",
                "tagSuffix:",
                "additionalImageFields:",
            ],
        ),
        ("set-enforcement-action", &["enforcementAction:", "warn"]),
        ("set-project-id", &["project-id:"]),
        (
            "starlark",
            &["source:", "params:", "StarlarkRun", "ConfigMap"],
        ),
    ];

    #[test]
    fn every_option_of_every_function_is_generated() {
        let style = Style {
            is_wide: false,
            flow: 0,
        };
        for (function, options) in OPTIONS {
            let mut texts = String::new();
            for seed in 0..3000 {
                let mut dice = Dice::new(seed);
                if let Some(config) = config(function, &mut dice) {
                    texts.push_str(&write(&config, style, &mut dice));
                }
            }
            for option in *options {
                assert!(texts.contains(option), "{function}: {option}");
            }
        }
    }
}
