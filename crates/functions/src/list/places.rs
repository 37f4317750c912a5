//! The two spellings of where an object is written to: kyaml from 0.13.3 on gives
//! a function both, and afterwards leaves those that the list had.

use crate::{
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    yaml::{Comments, Content, Late, Node, ScalarStyle, kind_name},
};

/// The spellings of each annotation, the newer one first.
const PAIRS: [(&str, [&str; 2]); 3] = [
    ("path", [PATH, LEGACY_PATH]),
    ("index", [INDEX, LEGACY_INDEX]),
    (
        "id",
        ["internal.config.kubernetes.io/id", "config.k8s.io/id"],
    ),
];

/// The annotation by which kyaml knows an object again after the function ran.
pub(crate) const MIGRATION: &str =
    "internal.config.kubernetes.io/annotations-migration-resource-id";

/// Where they are in an object. Objects are many: each looks for the place once.
const ANNOTATIONS: &[&str] = &["metadata", "annotations"];

/// What a list had before the function ran.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Which spellings: the newer one, and the older one. `None` up to the first object that
    /// has one.
    spellings: Option<[bool; 2]>,
    is_inconsistent: bool,
    /// Path and index of each object.
    places: Vec<[String; 2]>,
}

impl Before {
    fn note(&mut self, spelt: &Spelt<'_>) -> Result<(), String> {
        let used = spelt.used();
        if used != [false, false] {
            self.is_inconsistent |= *self.spellings.get_or_insert(used) != used;
        }
        let [path, index, _] = spelt.0;
        let places = [path, index].map(|[new, old]| new.or(old).unwrap_or("").to_owned());
        self.places.push(places);
        spelt.check()
    }
}

/// The texts of the pairs of annotations, where they are.
#[derive(Default)]
struct Spelt<'a>([[Option<&'a str>; 2]; PAIRS.len()]);

impl<'a> Spelt<'a> {
    fn of(annotations: &'a Node) -> Self {
        let mut spelt = Self::default();
        for (key, value) in annotations.fields() {
            spelt.add(key.value().unwrap_or(""), value.text_or_null());
        }
        spelt
    }

    /// Of an object that is text, if these annotations are all the same after [`restore`]
    /// when nobody has changed them.
    fn that_may_wait(item: &'a Node) -> Option<Self> {
        let mut spelt = Self::default();
        let mut has_number = false;
        let is_all = item.all_in_text(ANNOTATIONS, |key, text| {
            has_number |= key == MIGRATION;
            spelt.add(key, text);
        });
        (is_all && !has_number && spelt.gets_what_it_does_not_use()).then_some(spelt)
    }

    /// The first field of a name is the one that counts.
    fn add(&mut self, key: &str, text: &'a str) {
        let pairs = PAIRS.iter().zip(&mut self.0);
        let places = pairs.flat_map(|((_, names), pair)| names.iter().zip(pair));
        for (name, place) in places {
            if *name == key {
                place.get_or_insert(text);
            }
        }
    }

    fn used(&self) -> [bool; 2] {
        [0, 1].map(|at| self.0.iter().any(|pair| pair[at].is_some()))
    }

    fn check(&self) -> Result<(), String> {
        for ((what, _), pair) in PAIRS.iter().zip(&self.0) {
            let [new, old] = pair.map(|text| text.unwrap_or(""));
            if !new.is_empty() && !old.is_empty() && new != old {
                return Err(mismatched(what));
            }
        }
        Ok(())
    }

    /// Whether all that [`copy`] adds is a spelling that the object does not use: that is
    /// removed again.
    fn gets_what_it_does_not_use(&self) -> bool {
        let used = self.used();
        self.0.iter().all(|[new, old]| match [new, old] {
            [Some(""), None] | [None, Some("")] => true,
            [Some(_), None] => !used[1],
            [None, Some(_)] => !used[0],
            [Some(new), Some(old)] => new.is_empty() == old.is_empty(),
            [None, None] => true,
        })
    }
}

/// Gives every object both spellings, and its number. Objects that are text get them when
/// somebody looks at them.
pub(super) fn complete(items: &mut [Node]) -> Result<Before, String> {
    let mut before = Before::default();
    for (number, item) in (0..).zip(items.iter_mut()) {
        if let Some(spelt) = Spelt::that_may_wait(item) {
            before.note(&spelt)?;
            item.add_late(Late::new(ANNOTATIONS, add_to, number));
            continue;
        }
        annotate(item, MIGRATION, &number.to_string())?;
        match item.at_mut(ANNOTATIONS) {
            Some(annotations) => {
                before.note(&Spelt::of(annotations))?;
                copy(annotations);
            }
            None => before.places.push(Default::default()),
        }
    }
    if before.is_inconsistent {
        return Err("the annotation formatting in the input resources is not consistent".into());
    }
    if items.is_empty() {
        before.spellings = Some([true, true]);
    }
    Ok(before)
}

fn add_to(annotations: &mut Node, number: u32) {
    set(annotations, MIGRATION, &number.to_string());
    copy(annotations);
}

/// Leaves the objects the spellings that the list had.
pub(super) fn restore(items: &mut [Node], before: &Before) -> Result<(), String> {
    for item in items {
        if is_taken_back(item) {
            continue;
        }
        let Some(annotations) = item.at_mut(ANNOTATIONS) else {
            continue;
        };
        copy(annotations);
        follow(annotations, before)?;
        for (at, is_used) in before.spellings.unwrap_or_default().into_iter().enumerate() {
            if !is_used {
                for (_, names) in PAIRS {
                    annotations.remove(names[at]);
                }
            }
        }
        Spelt::of(annotations).check()?;
        annotations.remove(MIGRATION);
    }
    Ok(())
}

/// Takes back what was to be added to annotations, if nobody has changed them.
fn is_taken_back(item: &mut Node) -> bool {
    let mut node = item;
    for key in ANNOTATIONS {
        if node.take_late_back() {
            return true;
        }
        match node.get_mut(key) {
            Some(next) => node = next,
            None => return false,
        }
    }
    node.take_late_back()
}

/// Where the function changed one spelling, the other one follows.
fn follow(annotations: &mut Node, before: &Before) -> Result<(), String> {
    let number = text(annotations, MIGRATION);
    let known = number
        .parse()
        .ok()
        .and_then(|at: usize| before.places.get(at));
    let Some(places) = known else { return Ok(()) };
    for ((what, [new, old]), was) in PAIRS.iter().zip(places) {
        if was.is_empty() {
            continue;
        }
        let [is_new, is_old] = [new, old].map(|name| text(annotations, name));
        if is_new != was && is_old != was && is_new != is_old {
            return Err(mismatched(what));
        }
        if is_new != was {
            let value = is_new.to_owned();
            set(annotations, old, &value);
        } else if is_old != was {
            let value = is_old.to_owned();
            set(annotations, new, &value);
        }
    }
    Ok(())
}

/// Removes annotations and metadata in which nothing is. The error is kyaml's
/// where these cannot be looked into.
pub(super) fn clear_empty(item: &mut Node) -> Result<(), String> {
    let odd = |node: &Node| {
        format!(
            "wrong node kind: expected MappingNode but got {}",
            kind_name(node)
        )
    };
    if item.is_null() {
        return Ok(());
    }
    if !item.is_mapping() {
        return Err(odd(item));
    }
    let is_empty = |node: &Node| node.fields().is_empty() && node.items().is_empty();
    // Annotations that were there to be completed are lines of text.
    if item.was_late() {
        return Ok(());
    }
    let Some(metadata) = item.get_mut("metadata") else {
        return Ok(());
    };
    if !metadata.is_null() {
        if !metadata.is_mapping() {
            return Err(odd(metadata));
        }
        if metadata.get("annotations").is_some_and(is_empty) {
            metadata.remove("annotations");
        }
    }
    if is_empty(metadata) {
        item.remove("metadata");
    }
    Ok(())
}

/// Sets an annotation of any object.
pub(super) fn annotate(item: &mut Node, name: &str, value: &str) -> Result<(), String> {
    clear_empty(item)?;
    if item.is_null() {
        return Ok(());
    }
    let mut inner = item;
    for field in ["metadata", "annotations"] {
        if inner.get(field).is_none() {
            inner.insert(field, Node::mapping(Vec::new()));
        }
        let Some(next) = inner.get_mut(field) else {
            return Ok(());
        };
        inner = next;
    }
    if !inner.is_mapping() {
        return Err("wrong node kind: expected MappingNode".into());
    }
    set(inner, name, value);
    Ok(())
}

fn mismatched(what: &str) -> String {
    format!("resource input to function has mismatched legacy and internal {what} annotations")
}

/// Gives an object both spellings, the newer one's value where they differ.
pub(crate) fn equalise(item: &mut Node) {
    let differ = |annotations: &Node| {
        let mut pairs = PAIRS.iter();
        pairs.any(|(_, [new, old])| text(annotations, new) != text(annotations, old))
    };
    // Looked at before it is changed: what nobody changes stays text.
    if !item.at(ANNOTATIONS).is_some_and(differ) {
        return;
    }
    let Some(annotations) = item.at_mut(ANNOTATIONS) else {
        return;
    };
    for (_, [new, old]) in PAIRS {
        let value = text(annotations, new);
        if !value.is_empty() && text(annotations, old) != value {
            let value = value.to_owned();
            set(annotations, old, &value);
        }
    }
    copy(annotations);
}

/// Where an object has one spelling it gets the other.
fn copy(annotations: &mut Node) {
    for (_, [new, old]) in PAIRS {
        let (missing, value) = match [new, old].map(|name| text(annotations, name)) {
            [value, ""] if !value.is_empty() => (old, value.to_owned()),
            ["", value] if !value.is_empty() => (new, value.to_owned()),
            _ => continue,
        };
        set(annotations, missing, &value);
    }
}

/// The text of an annotation; empty if there is none.
fn text<'a>(annotations: &'a Node, name: &str) -> &'a str {
    annotations.get(name).map_or("", Node::text_or_null)
}

fn set(annotations: &mut Node, name: &str, value: &str) {
    match annotations.get_mut(name) {
        // Its comments go with the value that it had.
        Some(annotation) => {
            annotation.set_text(value);
            if *annotation.comments() != Comments::default() {
                *annotation.comments_mut() = Comments::default();
            }
        }
        None => {
            let mut text = Node::text(value);
            if let Content::Scalar { style, .. } = &mut text.content {
                *style = ScalarStyle::SingleQuoted;
            }
            annotations.insert(name, text);
        }
    }
}
