//! Configurations of `apply-replacements`.

use super::typed;
use crate::{
    dice::Dice,
    objects::{NAMES, NAMESPACES, text},
    tree::{Tree, list, map, scalar},
};

fn selector(dice: &mut Dice) -> Tree {
    let mut selector = map([]);
    if dice.percent(80) {
        let kind = dice.pick(&[
            "Deployment",
            "ConfigMap",
            "Service",
            "Widget",
            "Pod",
            "Depl.*",
            "Namespace",
        ]);
        selector.set("kind", scalar(kind));
    }
    if dice.percent(50) {
        let name = if dice.percent(10) {
            dice.pick(&[
                "'web.*'", "'.*'", "w", "'^web$'", "'a|db'", "'\\w+'", "'web('", "'*'", "'[a'",
            ])
        } else {
            dice.pick(NAMES)
        };
        selector.set("name", scalar(name));
    }
    if dice.percent(15) {
        selector.set("namespace", scalar(dice.pick(NAMESPACES)));
    }
    if dice.percent(10) {
        selector.set("group", scalar(dice.pick(&["apps", "example.com"])));
    }
    if dice.percent(10) {
        selector.set("version", scalar("v1"));
    }
    selector
}

const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.replicas",
    "spec.template.spec.containers.0.image",
    "spec.template.spec.containers.[name=web].image",
    "spec.template.spec.containers.*.image",
    "spec.list",
    "spec.list.0",
    "spec.list.-",
    "spec.nested",
    "spec.nested.items.[name=one].value",
    "spec.absent.deep",
    "spec.list.7",
    "data.web",
    "data.app\\.properties",
    "metadata.annotations.[note]",
    "metadata.labels.app",
    "spec.selector.matchLabels",
    "spec.nested.items.*.value",
    "kind",
    "spec.nested.items.[name=new].value",
    "spec.nested.items.0.value",
    "spec.nested.items.-.value",
    "metadata.annotations.new\\.one",
    "spec.template.metadata.labels.[app]",
    "metadata.labels",
    "",
];

fn options(dice: &mut Dice) -> Tree {
    let mut options = map([]);
    if dice.percent(60) {
        options.set(
            "delimiter",
            scalar(dice.pick(&["'-'", "'/'", "':'", "\"\"", "'.'"])),
        );
    }
    if dice.percent(50) {
        options.set("index", scalar(dice.pick(&["0", "1", "-1", "5", "\"1\""])));
    }
    if dice.percent(35) {
        options.set(
            "create",
            scalar(dice.pick(&["true", "true", "false", "\"true\""])),
        );
    }
    if dice.percent(5) {
        options.set("encoding", scalar(dice.pick(&["base64", "hex", "7"])));
    }
    options
}

fn replacement(dice: &mut Dice) -> Tree {
    let mut replacement = map([]);
    if dice.percent(92) {
        let mut source = selector(dice);
        if dice.percent(85) {
            source.set("fieldPath", scalar(dice.pick(FIELDS)));
        }
        if dice.percent(25) {
            source.set("options", options(dice));
        }
        replacement.set("source", source);
    }
    if dice.percent(10) {
        replacement.set("sourceValue", scalar(text(dice)));
    }
    let targets = 1 + dice.below(2);
    let targets: Vec<Tree> = (0..targets).map(|_| target(dice)).collect();
    if dice.percent(96) {
        replacement.set("targets", list(targets));
    }
    if dice.percent(2) {
        replacement.set("path", scalar("replacement.yaml"));
    }
    replacement
}

fn target(dice: &mut Dice) -> Tree {
    let mut select = selector(dice);
    if dice.percent(10) {
        let labels = dice.pick(&[
            "app=web",
            "'app in (web, db)'",
            "'!app'",
            "app",
            "'app!=web'",
            "'app notin (web)'",
            "'app==web,tier'",
            "'tier>1'",
            "''",
        ]);
        select.set("labelSelector", scalar(labels));
    }
    if dice.percent(5) {
        let notes = dice.pick(&["note=value", "note", "'!note'", "'note in (value, x)'"]);
        select.set("annotationSelector", scalar(notes));
    }
    let mut target = map([("select", select)]);
    if dice.percent(15) {
        let count = dice.below(3);
        let rejected: Vec<Tree> = (0..count).map(|_| selector(dice)).collect();
        target.set("reject", list(rejected));
    }
    let paths = 1 + dice.below(2);
    let paths: Vec<Tree> = (0..paths).map(|_| scalar(dice.pick(FIELDS))).collect();
    match dice.below(100) {
        0..92 => target.set("fieldPaths", list(paths)),
        92 => target.set("fieldPaths", scalar(dice.pick(FIELDS))),
        93 => target.set("fieldpaths", list(paths)),
        _ => {}
    }
    if dice.percent(40) {
        target.set("options", options(dice));
    }
    target
}

pub(super) fn apply_replacements(dice: &mut Dice) -> Tree {
    let mut config = typed("ApplyReplacements");
    let count = 1 + dice.below(2);
    let replacements: Vec<Tree> = (0..count).map(|_| replacement(dice)).collect();
    config.set("replacements", list(replacements));
    config
}
