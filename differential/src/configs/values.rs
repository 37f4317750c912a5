//! Configurations of the functions that set labels, annotations, images and the like, and of the one
//! that adds objects.

use super::{config_map, field_specs, typed};
use crate::{
    dice::Dice,
    objects::object,
    tree::{Tree, list, map, scalar},
};

pub(super) fn pairs(kind: &str, former: &str, field: &str, dice: &mut Dice) -> Tree {
    let mut pairs = map([]);
    for key in ["app", "env", "example.com/a", "note"] {
        if dice.percent(40) {
            let value = dice.pick(&[
                "web", "\"7\"", "\"true\"", "prod", "7", "true", "\"\"", "a b", "1.10", "yes",
                "0x10", "null",
            ]);
            pairs.set(key, scalar(value));
        }
    }
    if dice.percent(60) {
        let mut config = config_map([]);
        config.set("data", pairs);
        return config;
    }
    let mut config = typed(dice.pick(&[kind, kind, former]));
    config.set(field, pairs);
    for key in [
        "additionalLabelFields",
        "additionalAnnotationFields",
        "fieldSpecs",
    ] {
        if dice.percent(15) {
            config.set(key, field_specs(dice));
        }
    }
    config
}

pub(super) fn set_image(dice: &mut Dice) -> Tree {
    let mut image = map([(
        "name",
        scalar(dice.pick(&[
            "nginx",
            "redis",
            "busybox",
            "registry.example.com:5000/team/nginx",
        ])),
    )]);
    if dice.percent(60) {
        image.set(
            "newName",
            scalar(dice.pick(&["bitnami/nginx", "new", "\"\""])),
        );
    }
    if dice.percent(60) {
        image.set(
            "newTag",
            scalar(dice.pick(&["1.21", "\"2\"", "v1", "\"\"", "1.20"])),
        );
    }
    if dice.percent(25) {
        image.set(
            "digest",
            scalar(dice.pick(&["sha256:24a0c4b4", "\"\"", "7"])),
        );
    }
    if dice.percent(10) {
        image.set("tagSuffix", scalar(dice.pick(&["-slim", "\"7\""])));
    }
    if dice.percent(5) {
        image.remove("name");
    }
    if dice.percent(4) {
        image.set("other", scalar("x"));
    }
    if dice.percent(60) {
        let mut config = config_map([]);
        config.set("data", image);
        return config;
    }
    let mut config = typed("SetImage");
    config.set("image", image);
    if dice.percent(20) {
        config.set("additionalImageFields", field_specs(dice));
    }
    config
}

pub(super) fn set_enforcement_action(dice: &mut Dice) -> Tree {
    let action = dice.pick(&[
        "deny", "dryrun", "warn", "\"deny\"", "other", "7", "\"\"", "null",
    ]);
    config_map([("enforcementAction", scalar(action))])
}

pub(super) fn set_project_id(dice: &mut Dice) -> Tree {
    let project = dice.pick(&["my-project", "\"7\"", "7", "\"\"", "null"]);
    config_map([("project-id", scalar(project))])
}

pub(super) fn upsert_resource(dice: &mut Dice) -> Tree {
    if dice.percent(30) {
        let count = dice.below(4);
        let items: Vec<Tree> = (0..count).map(|_| upserted(dice)).collect();
        return map([
            ("apiVersion", scalar("v1")),
            ("kind", scalar("List")),
            ("metadata", map([("name", scalar("list"))])),
            ("items", list(items)),
        ]);
    }
    upserted(dice)
}

fn upserted(dice: &mut Dice) -> Tree {
    let mut object = object(dice);
    if dice.percent(30)
        && let Some(metadata) = object.get_mut("metadata")
    {
        if metadata.get_mut("annotations").is_none() {
            metadata.set("annotations", map([]));
        }
        if let Some(annotations) = metadata.get_mut("annotations") {
            let path = dice.pick(&["a.yaml", "new.yaml", "\"\"", "dir/b.yaml", "7", "null"]);
            annotations.set("config.kubernetes.io/target-path", scalar(path));
        }
    }
    object
}
