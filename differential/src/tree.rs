//! Generated YAML: a tree that is written in one of many styles.

use functions::yaml::{Content, Node, parse_all};

use crate::dice::Dice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// As it is written, quotes included; several lines are a block scalar, header first.
    Scalar(String),
    List(Vec<Entry>),
    Map(Vec<(String, Entry)>),
}

/// A value, and the comments at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) value: Tree,
    pub(crate) behind: Option<String>,
    above: Option<String>,
}

impl From<Tree> for Entry {
    fn from(value: Tree) -> Self {
        Self {
            value,
            behind: None,
            above: None,
        }
    }
}

pub(crate) fn scalar(text: impl Into<String>) -> Tree {
    Tree::Scalar(text.into())
}

pub(crate) fn map<const N: usize>(fields: [(&str, Tree); N]) -> Tree {
    let field = |(key, value): (&str, Tree)| (key.to_owned(), value.into());
    Tree::Map(fields.into_iter().map(field).collect())
}

pub(crate) fn list(items: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::List(items.into_iter().map(Entry::from).collect())
}

/// The tree of a template of ours.
pub(crate) fn template(text: &str) -> Tree {
    let documents = parse_all(text).expect("templates are YAML");
    documents
        .first()
        .map_or(map([]), |document| of_node(&document.root))
}

fn of_node(node: &Node) -> Tree {
    match &node.content {
        Content::Mapping { fields, .. } => {
            let field = |(key, value): &(Node, Node)| {
                let key = key.value().unwrap_or("").to_owned();
                (key, of_node(value).into())
            };
            Tree::Map(fields.iter().map(field).collect())
        }
        Content::Sequence { items, .. } => list(items.iter().map(of_node)),
        _ => scalar(node.value().unwrap_or("")),
    }
}

impl Tree {
    pub(crate) fn set(&mut self, key: &str, value: Tree) {
        if let Self::Map(fields) = self {
            match fields.iter_mut().find(|(name, _)| name == key) {
                Some((_, entry)) => entry.value = value,
                None => fields.push((key.to_owned(), value.into())),
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        if let Self::Map(fields) = self {
            fields.retain(|(name, _)| name != key);
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        let Self::Map(fields) = self else { return None };
        let found = fields.iter_mut().find(|(name, _)| name == key);
        found.map(|(_, entry)| &mut entry.value)
    }

    fn children(&mut self) -> Vec<&mut Entry> {
        match self {
            Self::Scalar(_) => Vec::new(),
            Self::List(items) => items.iter_mut().collect(),
            Self::Map(fields) => fields.iter_mut().map(|(_, entry)| entry).collect(),
        }
    }

    /// Does something at every entry below.
    pub(crate) fn each(&mut self, does: &mut impl FnMut(&mut Entry)) {
        for entry in self.children() {
            does(entry);
            entry.value.each(does);
        }
    }

    fn count(&mut self) -> usize {
        let mut count = 0;
        self.each(&mut |_| count += 1);
        count
    }

    /// Spoils one place: another type, a missing or a doubled field.
    pub(crate) fn spoil(&mut self, dice: &mut Dice) {
        let chosen = dice.below(self.count());
        let mut at = 0;
        let how = dice.below(3);
        let wrong = wrong(dice);
        self.each(&mut |entry| {
            if at == chosen {
                match (how, &mut entry.value) {
                    (0, Tree::Map(fields)) if !fields.is_empty() => {
                        fields.remove(dice.below(fields.len()));
                    }
                    (1, Tree::List(items)) if !items.is_empty() => {
                        items.push(items[0].clone());
                    }
                    _ => entry.value = wrong.clone(),
                }
            }
            at += 1;
        });
    }

    /// Writes the name of one field in another case: Go's JSON does not mind.
    pub(crate) fn respell(&mut self, dice: &mut Dice) {
        if let Self::Map(fields) = self
            && !fields.is_empty()
        {
            let at = dice.below(fields.len());
            if dice.percent(40) {
                fields[at].0 = fields[at].0.to_lowercase();
            } else {
                fields[at].1.value.respell(dice);
            }
        } else if let Self::List(items) = self
            && let Some(first) = items.first_mut()
        {
            first.value.respell(dice);
        }
    }

    /// Puts comments here and there.
    pub(crate) fn comment(&mut self, chance: usize, dice: &mut Dice) {
        self.each(&mut |entry| {
            if dice.percent(chance) {
                entry.above = Some(dice.pick(&["# above", "# two\n# lines", "#"]).to_owned());
            }
            if entry.behind.is_none() && dice.percent(chance) {
                entry.behind = Some(dice.pick(&["# behind", "#x", "# a: b"]).to_owned());
            }
        });
    }
}

/// A value of a type that nobody expects.
pub(crate) fn wrong(dice: &mut Dice) -> Tree {
    match dice.below(12) {
        0 => scalar("null"),
        1 => scalar(""),
        2 => scalar("7"),
        3 => scalar("true"),
        4 => scalar("1.5"),
        5 => scalar("\"\""),
        6 => list([]),
        7 => map([]),
        8 => list([scalar("x"), scalar("3")]),
        9 => map([("odd", scalar("value"))]),
        10 => scalar("2020-01-01"),
        _ => scalar("text"),
    }
}

/// How a tree is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether lists are indented below their key.
    pub(crate) is_wide: bool,
    /// How many of a hundred small collections are in one line.
    pub(crate) flow: usize,
}

pub(crate) fn write(tree: &Tree, style: Style, dice: &mut Dice) -> String {
    let mut text = String::new();
    let mut writer = Writer { style, dice };
    writer.block(tree, 0, &mut text);
    text
}

struct Writer<'a> {
    style: Style,
    dice: &'a mut Dice,
}

impl Writer<'_> {
    fn block(&mut self, tree: &Tree, indent: usize, text: &mut String) {
        let margin = " ".repeat(indent);
        match tree {
            Tree::Scalar(value) => text.push_str(&format!("{margin}{value}\n")),
            Tree::Map(fields) => {
                for (key, entry) in fields {
                    above(entry, &margin, text);
                    text.push_str(&format!("{margin}{key}:"));
                    self.value(entry, indent, text);
                }
            }
            Tree::List(items) => {
                for entry in items {
                    above(entry, &margin, text);
                    self.item(entry, indent, text);
                }
            }
        }
    }

    /// What is behind `key:`, the end of the line included.
    fn value(&mut self, entry: &Entry, indent: usize, text: &mut String) {
        let behind = behind(entry);
        match &entry.value {
            Tree::Scalar(value) => scalar_lines(value, indent, &behind, text),
            tree if self.is_flow(tree) => text.push_str(&format!(" {}{behind}\n", flow(tree))),
            Tree::Map(_) => {
                text.push_str(&format!("{behind}\n"));
                self.block(&entry.value, indent + 2, text);
            }
            Tree::List(_) => {
                text.push_str(&format!("{behind}\n"));
                let more = if self.style.is_wide { 2 } else { 0 };
                self.block(&entry.value, indent + more, text);
            }
        }
    }

    fn item(&mut self, entry: &Entry, indent: usize, text: &mut String) {
        let margin = " ".repeat(indent);
        let behind = behind(entry);
        match &entry.value {
            Tree::Scalar(value) => {
                text.push_str(&format!("{margin}-"));
                scalar_lines(value, indent, &behind, text);
            }
            tree if self.is_flow(tree) => {
                text.push_str(&format!("{margin}- {}{behind}\n", flow(tree)));
            }
            tree => {
                let mut inner = String::new();
                self.block(tree, indent + 2, &mut inner);
                // The first line begins behind the dash, unless a comment stands above it.
                if inner.trim_start().starts_with('#') {
                    text.push_str(&format!("{margin}-\n{inner}"));
                } else {
                    let inner = inner.get(indent + 2..).unwrap_or("");
                    text.push_str(&format!("{margin}- {inner}"));
                }
            }
        }
    }

    fn is_flow(&mut self, tree: &Tree) -> bool {
        match flat(tree) {
            None => false,
            Some(0) => true,
            Some(size) => size < 8 && self.dice.percent(self.style.flow),
        }
    }
}

fn above(entry: &Entry, margin: &str, text: &mut String) {
    for line in entry.above.iter().flat_map(|above| above.lines()) {
        text.push_str(&format!("{margin}{line}\n"));
    }
}

fn behind(entry: &Entry) -> String {
    entry
        .behind
        .as_ref()
        .map_or(String::new(), |comment| format!(" {comment}"))
}

fn scalar_lines(value: &str, indent: usize, behind: &str, text: &mut String) {
    let mut lines = value.split('\n');
    let first = lines.next().unwrap_or("");
    let gap = if first.is_empty() { "" } else { " " };
    text.push_str(&format!("{gap}{first}{behind}\n"));
    for line in lines {
        match line {
            "" => text.push('\n'),
            line => text.push_str(&format!("{}{line}\n", " ".repeat(indent + 2))),
        }
    }
}

/// How many scalars a tree has that can stand in one line.
fn flat(tree: &Tree) -> Option<usize> {
    let fits = |entry: &Entry| match (&entry.behind, &entry.above) {
        (None, None) => flat(&entry.value),
        _ => None,
    };
    match tree {
        Tree::Scalar(text) => {
            let is_plain = !text.contains(['\n', ',', '[', ']', '{', '}', '#']) && !text.is_empty();
            is_plain.then_some(1)
        }
        Tree::List(items) => items.iter().map(fits).sum(),
        Tree::Map(fields) => fields.iter().map(|(_, entry)| fits(entry)).sum(),
    }
}

fn flow(tree: &Tree) -> String {
    match tree {
        Tree::Scalar(text) => text.clone(),
        Tree::List(items) => {
            let items: Vec<String> = items.iter().map(|entry| flow(&entry.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Tree::Map(fields) => {
            let field = |(key, entry): &(String, Entry)| format!("{key}: {}", flow(&entry.value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}
