//! Configurations of `search-replace`.

use super::{config_map, data, setters::VALUES};
use crate::{
    dice::Dice,
    objects::NAMES,
    tree::{Tree, scalar},
};

const PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.replicas",
    "spec.template.spec.containers[0].image",
    "spec.template.spec.containers[*].image",
    "spec.list[*]",
    "spec.list[1]",
    "spec.nested.items[name=one].value",
    "data.web",
    "data.*",
    "**.name",
    "spec.**.image",
    "metadata.labels.app",
    "metadata.annotations.new-one",
    "spec.absent.deep.er",
    "**",
    "spec.nested.*",
    "data['app.properties']",
    "spec.list.0",
    "spec.nested.items.0.value",
    "spec.nested.items.1.new",
    "spec.nested.items.7.value",
    "spec.list.-",
    "spec.nested.items.-.new",
    "spec.new.0.value",
    "metadata.annotations.note",
    "metadata.name.deep",
    "*.name",
    "spec.template.**.name",
    ".spec.replicas",
    "spec..a",
    "",
];

const EXPRESSIONS: &[&str] = &[
    "\"web.*\"",
    "'(.*)-(.*)'",
    "\"^v\"",
    "'nginx:(\\d+)\\.(.*)'",
    "'['",
    "\".*\"",
    "\"\"",
    "'([a-z]+)'",
    "'(?i)WEB'",
    "'web|db'",
    "'^$'",
    "'[[:alpha:]]+-(\\w*)'",
    "'('",
    // What Go and other engines read differently, or refuse in other words.
    "'\\w+é|^\\W+$'",
    "'\\bweb\\b'",
    "'(?P<n>we)(b?)'",
    "'a{'",
    "'a**'",
    "'*'",
    "'a)'",
    "'[b-a]'",
    "'[[:none:]]'",
    "'x{2000}'",
    "'((a{100}){100})'",
    "'(?z)'",
    "'\\C'",
    "'\\pX'",
    "'\\Qweb.\\E'",
];

const GLOBS: &[&str] = &[
    "'a.yaml'",
    "'**/*.yaml'",
    "'*.yaml'",
    "'dir/**'",
    "'{a,b}.yaml'",
    "'['",
    "'[a-b].yaml'",
    "'?.yaml'",
    "'**'",
    "'dir/*'",
];

const REPLACEMENTS: &[&str] = &[
    "put",
    "\"7\"",
    "\"true\"",
    "\"\"",
    "'new-$1'",
    "'${1}x${2}'",
    "\"a: b\"",
    "7",
    "'$0'",
];

const COMMENTS: &[&str] = &[
    "'kpt-set: ${web}'",
    "note",
    "'kpt-set: ${1}'",
    "\"two\\nlines\"",
    "\"\"",
    "'kpt-set: ${1}-${2}'",
];

pub(super) fn search_replace(dice: &mut Dice) -> Tree {
    let mut config = config_map([]);
    let data = data(&mut config);
    let by = dice.below(10);
    if by < 4 || by == 9 {
        let value = if dice.percent(50) {
            dice.pick(VALUES)
        } else {
            dice.pick(NAMES)
        };
        data.set("by-value", scalar(value));
    }
    if (3..6).contains(&by) {
        data.set("by-value-regex", scalar(dice.pick(EXPRESSIONS)));
    }
    if by >= 5 {
        data.set("by-path", scalar(format!("{:?}", dice.pick(PATHS))));
    }
    for (chance, key, values) in [
        (10, "by-file-path", GLOBS),
        (70, "put-value", REPLACEMENTS),
        (30, "put-comment", COMMENTS),
    ] {
        if dice.percent(chance) {
            data.set(key, scalar(dice.pick(values)));
        }
    }
    if dice.percent(3) {
        let key = dice.pick(&["by-nothing", "By-Value", "put"]);
        data.set(key, scalar("x"));
    }
    config
}
