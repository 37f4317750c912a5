//! Configurations of the functions about setters, and the comments that name setters.

use super::{config_map, data};
use crate::{
    dice::Dice,
    tree::{Tree, scalar},
};

/// Values that setters are given and that fields have.
pub(super) const VALUES: &[&str] = &[
    "value",
    "web",
    "\"7\"",
    "\"true\"",
    "nginx",
    "1.14.2",
    "\"\"",
    "\"[a, b]\"",
    "\"[]\"",
    "|\n- one\n- two\n",
    "\"a: b\"",
    "7",
    "true",
    "prod",
    "'[\"x\", 3]'",
    "quoted",
    "\"${host}\"",
    "\"a.b*c\"",
    "single",
];

/// How secrets begin that `apply-setters` v0.3.0 does not show, and how long they go on.
const SECRETS: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ghp_", 36),
    ("glpat-", 20),
    ("AIza", 35),
    ("sk_live_", 24),
    ("xoxb-123456789012-", 20),
    ("Bearer ", 24),
    ("Basic ", 16),
    ("postgres://user:", 12),
    ("-----BEGIN PRIVATE KEY-----", 8),
    ("", 200),
    ("", 64),
];

/// A text that is, or nearly is, what a secret looks like.
fn secret(dice: &mut Dice) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ234567abcdefghijkmnopqrstuvwxyz";
    let (begin, length) = dice.pick(SECRETS);
    let length = length + dice.pick(&[0, 0, 0, 1]) - dice.pick(&[0, 0, 0, 1]);
    let letters = match begin {
        "AKIA" => &LETTERS[..30],
        _ => LETTERS,
    };
    let mut text = begin.to_owned();
    text.extend((0..length).map(|_| char::from(dice.pick(letters))));
    if begin.contains("://") {
        text.push_str("@db.example.com/name");
    }
    format!("\"{text}\"")
}

const NAMES: &[&str] = &[
    "web",
    "host",
    "list",
    "tag",
    "image",
    "a-b",
    "secret-token",
    "password",
    "\"7\"",
    "with.dot",
];

pub(super) fn setters(function: &str, dice: &mut Dice) -> Tree {
    let mut config = config_map([]);
    for name in NAMES {
        if dice.percent(if function == "list-setters" { 10 } else { 45 }) {
            let value = if dice.percent(8) {
                secret(dice)
            } else {
                dice.pick(VALUES).to_owned()
            };
            data(&mut config).set(name, scalar(value));
        }
    }
    if dice.percent(5) {
        // The functions look at the data only.
        config.set(
            "kind",
            scalar(dice.pick(&["Setters", "ApplySetters", "CreateSetters"])),
        );
    }
    config
}

/// The comments that name setters.
pub(crate) const PATTERNS: &[&str] = &[
    "# kpt-set: ${web}",
    "# kpt-set: ${list}",
    "# kpt-set: ${image}:${tag}",
    "# kpt-set: pre-${web}-${host}",
    "# kpt-set: ${a-b}/x",
    "# kpt-set: ${absent}",
    "# kpt-set: ${web}${host}",
    "# kpt-set: constant",
    "# kpt-set: ${secret-token}",
    "# kpt-set:${web}",
    "# kpt-set: ${web} more",
    "# kpt-set: ${we",
    "# kpt-set: ${password}",
    "# kpt-set: user:${password}@${host}",
    "# kpt-set: ${7}",
    "# kpt-set: ${with.dot}-${web}",
    "# kpt-set: ${web}-${web}",
    "#kpt-set: ${web}",
    "# kpt-set: \"${web}\"",
];
