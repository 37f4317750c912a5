//! `apply-setters`: writes given values into the fields whose comments name them.

mod first;
mod secrets;

use std::collections::HashMap;

use super::{Visitor, list_comment, pattern, walk};
use crate::{
    function::{Clock, Function, Stop, report_failure},
    go,
    list::{ResourceList, W0, W1, W3_2026},
    meter::{charge, replaced},
    object::LEGACY_PATH,
    release::Release,
    results::{Report, Severity},
    yaml::{Content, Node, ScalarStyle, SequenceIndent, Tag, parse_all, write_node},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.3.0", W3_2026, &V0_3_0).of_2026(),
    Release::native("v0.2.5", W3_2026, &V0_2_5).of_2026(),
    Release::native("v0.2.2", W1, &V0_2_0)
        .with_digests(&["sha256:b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d"]),
    Release::native("v0.2.1", W1, &V0_2_0),
    Release::native("v0.2.0", W1, &V0_2_0),
    Release::native("v0.1.1", W0, &V0_1_1),
    Release::native("v0.1.0", W0, &first::ApplySetters),
];

/// Fields that were set are reported with their object, and with what they were
/// and are, unless that looks like a secret.
const V0_3_0: ApplySetters = ApplySetters {
    tells_values: true,
    ..V0_2_5
};
/// Files are also known by their newer annotation.
const V0_2_5: ApplySetters = ApplySetters {
    knows_internal_path: true,
    needs_metadata: false,
    ..V0_2_0
};
const V0_2_0: ApplySetters = ApplySetters {
    needs_metadata: true,
    nothing_to_set_fails: false,
    knows_internal_path: false,
    tells_values: false,
};
const V0_1_1: ApplySetters = ApplySetters {
    nothing_to_set_fails: true,
    ..V0_2_0
};

#[derive(Debug)]
struct ApplySetters {
    /// Whether an object that says nothing about itself is an error.
    needs_metadata: bool,
    nothing_to_set_fails: bool,
    knows_internal_path: bool,
    tells_values: bool,
}

impl Function for ApplySetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            let told = format!("failed to apply setters: {message}");
            report_failure(list, told, message)
        };
        let mut setting = Setting {
            setters: given(list.config.as_ref()),
            file: String::new(),
            object: self.tells_values.then(Default::default),
            results: Vec::new(),
        };
        if self.nothing_to_set_fails && setting.setters.all.is_empty() {
            let message = "input setters list cannot be empty";
            return Err(fail(list, message.into()));
        }
        let mark = pattern::mark();
        for item in &mut list.items {
            clock.check()?;
            if self.needs_metadata && !has_metadata(item) {
                return Err(fail(list, "missing Resource metadata".into()));
            }
            let path = if self.knows_internal_path {
                item.path()
            } else {
                item.annotation(LEGACY_PATH)
            };
            setting.file = path.to_owned();
            if let Some(object) = &mut setting.object {
                *object = named(item);
            }
            let told = setting.results.len();
            let edited = item.edit_text(&mark, |node, path| setting.scalar(node, path).ok());
            if edited.is_some() {
                continue;
            }
            setting.results.truncate(told);
            match walk(&mut setting, item, "") {
                Err(Stop::Failed(message)) => return Err(fail(list, message)),
                walked => walked?,
            }
        }
        list.results = setting.results;
        if list.results.is_empty() {
            if self.nothing_to_set_fails {
                let message = "no matches for the input list of setters";
                return Err(fail(list, message.into()));
            }
            list.results.push(Report {
                message: "no matches for input setter(s)".to_owned(),
                ..Report::default()
            });
        }
        Ok(())
    }
}

/// Whether an object has anything of what every object should have.
fn has_metadata(item: &Node) -> bool {
    let paths: [&[&str]; 6] = [
        &["apiVersion"],
        &["kind"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "labels"],
        &["metadata", "annotations"],
    ];
    let says_something = |node: &Node| match &node.content {
        Content::Scalar { .. } => !node.is_null(),
        _ => !node.fields().is_empty() || !node.items().is_empty(),
    };
    paths
        .iter()
        .any(|path| item.at(path).is_some_and(says_something))
}

/// What results call the object by: kind and version as they are written, `null` too.
fn named(item: &Node) -> [String; 4] {
    let written = |name: &str| match item.scalar_in_text(&[name]) {
        Some((text, _)) => text,
        None => item.get(name).and_then(Node::value).unwrap_or(""),
    };
    let known = |name: &str| {
        let path = ["metadata", name];
        let found = item.text_or_null_in_text(&path);
        found.unwrap_or_else(|| item.at(&path).map_or("", Node::text_or_null))
    };
    [
        written("apiVersion"),
        written("kind"),
        known("name"),
        known("namespace"),
    ]
    .map(str::to_owned)
}

/// The setters that a configuration gives, in its order.
struct Setters {
    all: Vec<(String, String)>,
    by_name: HashMap<String, usize>,
    /// Whether names and values are free of placeholders: then only the names in a
    /// pattern have to be looked at.
    is_plain: bool,
}

fn given(config: Option<&Node>) -> Setters {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let data = config.map_or_else(Vec::new, Node::data);
    let all: Vec<(String, String)> = data.into_iter().map(owned).collect();
    let is_plain = |text: &str| !text.contains(['$', '{', '}']);
    Setters {
        is_plain: all
            .iter()
            .all(|(name, value)| is_plain(name) && is_plain(value)),
        by_name: (0..all.len())
            .rev()
            .map(|at| (all[at].0.clone(), at))
            .collect(),
        all,
    }
}

impl Setters {
    /// The setters that a pattern may name.
    fn of<'a>(&'a self, pattern: &str) -> Vec<&'a (String, String)> {
        let names = pattern::names(pattern);
        if !self.is_plain || names.iter().any(|name| name.contains("${")) {
            return self.all.iter().collect();
        }
        let found = names.iter().filter_map(|name| self.by_name.get(*name));
        found.map(|at| &self.all[*at]).collect()
    }
}

struct Setting {
    setters: Setters,
    file: String,
    /// The object at hand, if results name it.
    object: Option<[String; 4]>,
    results: Vec<Report>,
}

impl Setting {
    fn report(&mut self, pattern: &str, was: &str, is: &str, path: &str) {
        charge(2 * is.len());
        let Some(object) = &self.object else {
            let message = format!("set field value to {}", go::quote(is));
            let report = Report::about_field(message, path.to_owned(), &self.file);
            self.results.push(report);
            return;
        };
        charge(was.len());
        let [was, is] = secrets::shown([was, is], path, pattern);
        let message = format!("set field value to {}", go::quote(&is));
        self.results.push(Report {
            severity: Some(Severity::Info),
            object: Some(object.clone()),
            values: Some([was, is]),
            ..Report::about_field(message, path.to_owned(), &self.file)
        });
    }
}

/// Whether the pattern names one of the setters.
fn concerns(setters: &Setters, pattern: &str) -> bool {
    let named = |(name, _): &&(String, String)| pattern.contains(&pattern::placeholder(name));
    setters.of(pattern).iter().any(named)
}

/// The value for a list; the pattern has to be one name and nothing else.
fn list_value(setters: &Setters, pattern: &str) -> Result<String, Stop> {
    let is_one_name = pattern::names(pattern).len() == 1;
    if !(is_one_name && pattern.starts_with("${") && pattern.ends_with('}')) {
        let pattern = go::quote(pattern);
        return Err(format!("invalid setter pattern for array node: {pattern}").into());
    }
    let name = pattern::bare(pattern);
    let given = setters.by_name.get(name).map(|at| &setters.all[*at].1);
    Ok(given.cloned().unwrap_or_default())
}

fn not_a_list(given: &str) -> Stop {
    let given = go::quote(given);
    format!("input to array setter must be an array of values, but found {given}").into()
}

/// The pattern with every given value in the place of its name.
fn filled(setters: &Setters, pattern: &str) -> Result<String, Stop> {
    let mut text = pattern.to_owned();
    for (name, value) in setters.of(pattern) {
        text = replaced(&text, &pattern::placeholder(name), value)?;
    }
    Ok(text)
}

/// Fails if names are left in the text.
fn check_resolved(text: &str) -> Result<(), Stop> {
    let names = pattern::names(text).into_iter();
    let missing: Vec<String> = names.map(pattern::placeholder).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = go::list(missing.iter().map(String::as_str));
    Err(format!("values for setters {missing} must be provided").into())
}

impl Visitor for Setting {
    fn may_be_in(&self, text: &str) -> bool {
        pattern::may_be_in(text)
    }

    fn list(&mut self, key: &mut Node, value: &mut Node, path: &str) -> Result<(), Stop> {
        let comment = list_comment(key, value).to_owned();
        let Some(pattern) = pattern::of_comment(&comment) else {
            return Ok(());
        };
        if !concerns(&self.setters, pattern) {
            return Ok(());
        }
        let given = list_value(&self.setters, pattern)?;
        let was = match self.object {
            Some(_) => write_node(value, SequenceIndent::Compact),
            None => String::new(),
        };
        if given.is_empty() {
            value.content = Content::Sequence {
                items: Vec::new().into(),
                flow: true,
            };
            value.comments_mut().line.clone_from(&comment);
            key.comments_mut().line.clear();
        } else {
            let parsed = parse_all(&given).ok();
            let document = parsed.and_then(|documents| documents.into_iter().next());
            let Some(Content::Sequence { items, .. }) =
                document.map(|document| document.root.content)
            else {
                return Err(not_a_list(&given));
            };
            value.content = Content::Sequence { items, flow: false };
            key.comments_mut().line.clone_from(&comment);
        }
        self.report(pattern, &was, &given, path);
        Ok(())
    }

    fn scalar(&mut self, node: &mut Node, path: &str) -> Result<(), Stop> {
        let Some(pattern) = pattern::of_comment(&node.comments().line) else {
            return Ok(());
        };
        if !concerns(&self.setters, pattern) {
            return Ok(());
        }
        let pattern = pattern.to_owned();
        let mut text = filled(&self.setters, &pattern)?;
        let was = node.value().unwrap_or("").to_owned();
        if !pattern::names(&text).is_empty() {
            // Names that are not given keep the values that they have.
            for (name, value) in pattern::values(&pattern, &was) {
                text = replaced(&text, &pattern::placeholder(name), value)?;
            }
        }
        check_resolved(&text)?;
        if let Content::Scalar { value, style } = &mut node.content {
            charge(text.len());
            *value = text.as_str().into();
            if text.is_empty() {
                *style = ScalarStyle::DoubleQuoted;
            }
        }
        node.tag = Tag::None;
        self.report(&pattern, &was, &text, path);
        Ok(())
    }
}
