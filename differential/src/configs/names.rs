//! Configurations of the functions that change names and namespaces.

use super::{config_map, data, field_specs, typed};
use crate::{
    dice::Dice,
    objects::NAMESPACES,
    tree::{Tree, map, scalar},
};

pub(super) fn set_namespace(dice: &mut Dice) -> Tree {
    let namespace = scalar(dice.pick(&[
        "prod", "new-ns", "\"web\"", "default", "example", "\"\"", "7", "null", "a b", "UPPER",
    ]));
    let matcher = scalar(dice.pick(NAMESPACES));
    let mut config = if dice.percent(60) {
        config_map([("namespace", namespace)])
    } else {
        let mut config = typed(dice.pick(&["SetNamespace", "SetNamespace", "SetNamespaceConfig"]));
        config.set("namespace", namespace);
        config
    };
    if dice.percent(25) {
        let place = match config.get_mut("data") {
            Some(data) => data,
            None => &mut config,
        };
        place.set("namespaceMatcher", matcher);
    }
    if dice.percent(10) {
        // The ConfigMap that kpt makes for a package.
        config.set("metadata", map([("name", scalar("kptfile.kpt.dev"))]));
        if dice.percent(50) {
            data(&mut config).remove("namespace");
        }
    }
    if dice.percent(12) {
        let name = dice.pick(&["prod", "example", "\"\"", "7", "null"]);
        data(&mut config).set("name", scalar(name));
    }
    if dice.percent(10) {
        let key = dice.pick(&["additionalNamespaceFields", "fieldSpecs"]);
        config.set(key, field_specs(dice));
    }
    config
}

pub(super) fn ensure_name_substring(dice: &mut Dice) -> Tree {
    let text = dice.pick(&[
        "prod-", "-prod", "web", "\"7\"", "\"\"", "a", "7", "yes", "1.50",
    ]);
    let mode = dice.pick(&["prepend", "append", "prepend", "append", "other"]);
    // Few typed ones: the only oracle of today recurses without end on them.
    if dice.percent(88) {
        let mut config = config_map([(mode, scalar(text))]);
        if dice.percent(5) {
            data(&mut config).set("append", scalar("x"));
        }
        return config;
    }
    let mut config = typed("EnsureNameSubstring");
    config.set("substring", scalar(text));
    if dice.percent(70) {
        config.set("editMode", scalar(mode));
    }
    for key in ["additionalNameFields", "fieldSpecs"] {
        if dice.percent(25) {
            config.set(key, field_specs(dice));
        }
    }
    config
}
