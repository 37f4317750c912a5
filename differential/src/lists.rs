//! Generated ResourceLists: objects, a configuration, and what people and tools leave in them.

use crate::{
    configs::{PATTERNS, config},
    dice::Dice,
    objects::{object, place, text},
    tree::{Style, Tree, list, map, scalar, write, wrong},
};

/// A list for a function.
pub(crate) fn generate(function: &str, dice: &mut Dice) -> String {
    let count = match dice.below(20) {
        0 => 0,
        1 => 13 + dice.below(8),
        _ => 1 + dice.below(4),
    };
    let mut items: Vec<Tree> = (0..count).map(|_| object(dice)).collect();
    const NEW: &str = "internal.config.kubernetes.io";
    const OLD: &str = "config.kubernetes.io";
    let choices: [&[&str]; 6] = [&[], &[], &[NEW], &[NEW], &[NEW, OLD], &[OLD]];
    let spellings = dice.pick(&choices);
    let is_mixed = dice.percent(4);
    for item in &mut items {
        let own = dice.pick(&choices);
        place(item, if is_mixed { own } else { spellings }, dice);
    }
    let is_setters = function.ends_with("-setters") || function == "search-replace";
    for item in &mut items {
        if is_setters || dice.percent(3) {
            name_setters(item, dice);
        }
        if dice.percent(3) {
            item.spoil(dice);
        }
        if dice.percent(15) {
            item.comment(8, dice);
        }
    }
    let mut fields = vec![
        ("apiVersion", scalar("config.kubernetes.io/v1")),
        ("kind", scalar("ResourceList")),
    ];
    match dice.below(100) {
        0 => fields[0].1 = scalar("config.kubernetes.io/v1alpha1"),
        1 => fields[0].1 = scalar("v1"),
        2 => fields[1].1 = scalar("List"),
        3 => {
            fields.remove(dice.below(2));
        }
        4..7 => fields.push(("results", results(dice))),
        7 => fields.push(("metadata", map([("name", scalar("list"))]))),
        _ => {}
    }
    match dice.below(60) {
        0 => fields.push(("items", wrong(dice))),
        1 => {}
        _ => fields.push(("items", list(items))),
    }
    if let Some(config) = config(function, dice) {
        let at = if dice.percent(15) {
            dice.below(fields.len() + 1)
        } else {
            fields.len()
        };
        fields.insert(at, ("functionConfig", config));
    }
    let mut tree = map([]);
    for (key, value) in fields {
        tree.set(key, value);
    }
    let style = Style {
        is_wide: dice.percent(35),
        flow: dice.pick(&[0, 0, 20, 80]),
    };
    let text = write(&tree, style, dice);
    if dice.percent(1) {
        damage(text, dice)
    } else {
        text
    }
}

/// What an earlier function reported.
fn results(dice: &mut Dice) -> Tree {
    let mut result = map([("message", scalar(text(dice)))]);
    let possible = [
        (
            "severity",
            scalar(dice.pick(&["info", "error", "odd", "7"])),
        ),
        (
            "resourceRef",
            map([
                ("apiVersion", scalar("v1")),
                ("kind", scalar("Pod")),
                ("name", scalar("web")),
            ]),
        ),
        (
            "field",
            map([
                ("path", scalar("spec.a")),
                ("currentValue", scalar(text(dice))),
            ]),
        ),
        (
            "file",
            map([("path", scalar("a.yaml")), ("index", scalar("1"))]),
        ),
        ("tags", map([("a", scalar("b"))])),
    ];
    for (key, value) in possible {
        if dice.percent(30) {
            result.set(key, value);
        }
    }
    if dice.percent(10) {
        map([("name", scalar("earlier")), ("items", list([result]))])
    } else {
        list([result])
    }
}

/// Names setters behind some fields.
fn name_setters(item: &mut Tree, dice: &mut Dice) {
    item.each(&mut |entry| {
        let is_block = matches!(&entry.value, Tree::Scalar(text) if text.contains('\n'));
        if !is_block && dice.percent(12) {
            entry.behind = Some(dice.pick(PATTERNS).to_owned());
        }
    });
}

/// One character more or less.
fn damage(mut text: String, dice: &mut Dice) -> String {
    let at = dice.below(text.len());
    let Some((at, _)) = text.char_indices().nth(at) else {
        return text;
    };
    if dice.percent(50) {
        text.remove(at);
    } else {
        text.insert(
            at,
            dice.pick(&[':', '\t', '"', '-', '{', '\'', '#', '&', '*', '!', '|']),
        );
    }
    text
}
