//! `create-setters`: writes setter comments behind fields that have given values.

use super::{Visitor, pattern, walk};
use crate::{
    function::{Clock, Function, Stop, report_failure},
    go,
    list::{ResourceList, W0, W1, W3_2026},
    meter::charge,
    object::LEGACY_PATH,
    release::Release,
    results::Report,
    yaml::{Content, Node, parse_all},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.4", W3_2026, &V0_1_4).of_2026(),
    Release::native("v0.1.1", W1, &V0_1_1),
    Release::native("v0.1.0", W0, &V0_1_0),
];

/// What kpt notes in annotations is left alone.
const V0_1_4: CreateSetters = CreateSetters {
    skips_annotations_of_kpt: true,
    search: Search::LongestFirst,
};
const V0_1_1: CreateSetters = CreateSetters {
    skips_annotations_of_kpt: false,
    search: Search::LongestFirst,
};
const V0_1_0: CreateSetters = CreateSetters {
    skips_annotations_of_kpt: false,
    search: Search::InTurn,
};

#[derive(Debug)]
struct CreateSetters {
    skips_annotations_of_kpt: bool,
    search: Search,
}

/// How values of setters are looked for in a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Search {
    /// From left to right, the longest first; never in text of several lines.
    #[default]
    LongestFirst,
    /// One setter after the other in all of the text, what others put there included.
    InTurn,
}

impl Function for CreateSetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            let told = format!("failed to create setters: {message}");
            report_failure(list, told, message)
        };
        let mut creation = match configure(list.config.as_ref()) {
            Ok(creation) => creation,
            Err(message) => return Err(fail(list, message)),
        };
        creation.skips_annotations_of_kpt = self.skips_annotations_of_kpt;
        creation.search = self.search;
        creation.order();
        for item in &mut list.items {
            clock.check()?;
            let path = if self.skips_annotations_of_kpt {
                item.path()
            } else {
                item.annotation(LEGACY_PATH)
            };
            creation.file = path.to_owned();
            match walk(&mut creation, item, "") {
                Err(Stop::Failed(message)) => return Err(fail(list, message)),
                walked => walked?,
            }
        }
        if creation.results.is_empty() {
            let message = "no matches for the input list of setters".to_owned();
            return Err(fail(list, message));
        }
        list.results = creation.results;
        Ok(())
    }
}

fn configure(config: Option<&Node>) -> Result<Creation, String> {
    let data = config.map_or_else(Vec::new, Node::data);
    if data.is_empty() {
        return Err("config map cannot be empty".into());
    }
    let mut creation = Creation::default();
    for (name, value) in data {
        let parsed = parse_all(value)
            .ok()
            .and_then(|documents| documents.into_iter().next());
        let Some(document) = parsed else {
            return Err("parsing error".into());
        };
        match document.root.content {
            Content::Sequence { items, .. } => {
                creation
                    .lists
                    .push((name.to_owned(), sorted_values(&items)));
            }
            Content::Scalar { .. } => creation.scalars.push((name.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    Ok(creation)
}

/// Whether the path leads to an annotation that kpt keeps for itself.
fn is_of_kpt(path: &str) -> bool {
    let mut names = path
        .match_indices("annotations.")
        .filter(|(at, _)| *at == 0 || path.as_bytes()[at - 1] == b'.');
    names.any(|(at, word)| {
        let name = &path[at + word.len()..];
        let name = name.strip_prefix("internal.").unwrap_or(name);
        name.starts_with("config.kubernetes.io")
    })
}

fn sorted_values(items: &[Node]) -> Vec<String> {
    let value = |item: &Node| item.value().unwrap_or("").to_owned();
    let mut values: Vec<String> = items.iter().map(value).collect();
    values.sort();
    values
}

#[derive(Default)]
struct Creation {
    scalars: Vec<(String, String)>,
    lists: Vec<(String, Vec<String>)>,
    file: String,
    skips_annotations_of_kpt: bool,
    search: Search,
    results: Vec<Report>,
}

impl Creation {
    /// Puts the setters into the order in which they are looked for.
    fn order(&mut self) {
        let scalars = &mut self.scalars;
        if self.search == Search::LongestFirst {
            // A value may be part of another one: the longer is looked for first.
            scalars.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
            return;
        }
        // Go's sort of a few, with a comparison that is none: setters whose value names another
        // one go behind it. It begins with an order of chance, here with the configuration's.
        for from in 1..scalars.len() {
            for at in (1..=from).rev() {
                if scalars[at].1.contains(&scalars[at - 1].0) {
                    break;
                }
                scalars.swap(at, at - 1);
            }
        }
    }

    /// What the comment says of a value; `None` if no setter has a part of it.
    fn comment(&self, value: &str) -> Option<String> {
        if self.search == Search::LongestFirst {
            let pattern = self.pattern(value);
            return (pattern != value && !value.contains('\n')).then_some(pattern);
        }
        let mut found = self
            .scalars
            .iter()
            .filter(|(_, part)| value.contains(part.as_str()));
        let mut pattern = value.to_owned();
        let mut is_found = false;
        found.try_for_each(|(name, part)| {
            is_found = true;
            pattern = pattern.replace(part.as_str(), &pattern::placeholder(name));
            charge(pattern.len()).then_some(())
        });
        is_found.then_some(pattern)
    }

    fn report(&mut self, comment: &str, value: &str, path: &str) {
        charge(2 * (comment.len() + value.len()));
        let (comment, value) = (go::quote(comment), go::quote(value));
        let message = format!("Added line comment {comment} for field with value {value}");
        self.results
            .push(Report::about_field(message, path.to_owned(), &self.file));
    }

    /// The value with every setter's value replaced by the setter's name.
    fn pattern(&self, value: &str) -> String {
        let mut pattern = String::new();
        let mut rest = value;
        while let Some(c) = rest.chars().next() {
            let found = self
                .scalars
                .iter()
                .find(|(_, value)| !value.is_empty() && rest.starts_with(value.as_str()));
            if let Some((name, value)) = found {
                pattern.push_str(&pattern::placeholder(name));
                rest = &rest[value.len()..];
            } else {
                pattern.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        pattern
    }
}

impl Visitor for Creation {
    fn list(&mut self, key: &mut Node, value: &mut Node, path: &str) -> Result<(), Stop> {
        let Content::Sequence { items, flow } = &mut value.content else {
            return Ok(());
        };
        let values = sorted_values(items);
        let has_setter = |value: &String| {
            self.scalars
                .iter()
                .any(|(_, setter)| value.contains(setter.as_str()))
        };
        if *flow && values.iter().any(has_setter) {
            // The entries get comments: each needs a line.
            *flow = false;
        }
        let Some((name, _)) = self.lists.iter().find(|(_, wanted)| *wanted == values) else {
            return Ok(());
        };
        let comment = format!("kpt-set: {}", pattern::placeholder(name));
        if *flow && !values.is_empty() {
            *flow = false;
        }
        let behind_list = *flow;
        let place = if behind_list { value } else { key };
        charge(comment.len());
        comment.clone_into(&mut place.comments_mut().line);
        let printed = go::list(values.iter().map(String::as_str));
        self.report(&comment, &printed, path);
        Ok(())
    }

    fn scalar(&mut self, node: &mut Node, path: &str) -> Result<(), Stop> {
        let value = node.value().unwrap_or("").to_owned();
        if self.skips_annotations_of_kpt && is_of_kpt(path) {
            return Ok(());
        }
        if let Some(pattern) = self.comment(&value) {
            let comment = format!("kpt-set: {pattern}");
            charge(comment.len());
            comment.clone_into(&mut node.comments_mut().line);
            self.report(&comment, &value, path);
        }
        Ok(())
    }
}
