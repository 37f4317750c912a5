//! `list-setters`: tells which setters a package has, from its Kptfile and from
//! its comments.

use std::collections::BTreeMap;

use super::{Visitor, list_comment, pattern, walk};
use crate::{
    function::{Clock, Function, Stop, report_failure},
    kptfile,
    list::{ResourceList, W2},
    object::PATH,
    release::Release,
    results::{Report, Severity},
    yaml::{Content, Node, SequenceIndent, parse_all, write_node},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
    // What was in the catalog's source before v0.1.1.
    Release::native("head", W2, &ListSetters),
];

#[derive(Debug)]
pub(crate) struct ListSetters;

impl Function for ListSetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let mut found = Found::default();
        match declared(&list.items) {
            Ok(setters) => found.declare(setters),
            Err(message) => {
                let told = format!("failed to list setters: {message}");
                return Err(report_failure(list, told, message));
            }
        }
        for item in &mut list.items {
            clock.check()?;
            walk(&mut found, item, "")?;
        }
        let lists = found.lists.into_iter().map(|(name, (values, count))| {
            (name, format!("[{}]", values.join(", ")), "list", count)
        });
        let scalars = found
            .scalars
            .into_iter()
            .map(|(name, (value, count))| (name, value, "string", count));
        let mut all: Vec<_> = lists.chain(scalars).collect();
        all.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        list.results = all
            .into_iter()
            .map(|(name, value, kind, count)| Report {
                message: format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}"),
                ..Report::default()
            })
            .collect();
        if list.results.is_empty() {
            list.results
                .push(Report::new(Severity::Warning, "no setters found"));
        }
        Ok(())
    }
}

/// The setters that the package's Kptfile gives to apply-setters.
fn declared(items: &[Node]) -> Result<Vec<(String, String)>, String> {
    let Some(kptfile) = items.iter().find(|item| item.annotation(PATH) == "Kptfile") else {
        return Ok(Vec::new());
    };
    kptfile::check(kptfile, 0).map_err(|error| format!("unable to read Kptfile: {error}"))?;
    let mut setters = Vec::new();
    let mutators = kptfile
        .at(&["pipeline", "mutators"])
        .map_or(&[][..], Node::items);
    let is_apply = |function: &&Node| function.text_at(&["image"]).contains("apply-setters");
    for function in mutators.iter().filter(is_apply) {
        let path = function.text_at(&["configPath"]);
        let given = match function.get("configMap") {
            Some(data) => data.texts(),
            None if !path.is_empty() => {
                let Some(file) = items.iter().find(|item| item.annotation(PATH) == path) else {
                    return Err(kptfile::missing_file(path));
                };
                file.data()
            }
            // Nothing more can be told from this Kptfile.
            None => return Ok(Vec::new()),
        };
        let given = given
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        setters.extend(given);
    }
    Ok(setters)
}

/// Values and counts by name.
#[derive(Default)]
struct Found {
    scalars: BTreeMap<String, (String, usize)>,
    lists: BTreeMap<String, (Vec<String>, usize)>,
}

impl Found {
    fn declare(&mut self, setters: Vec<(String, String)>) {
        for (name, value) in setters {
            let parsed = parse_all(&value)
                .ok()
                .and_then(|documents| documents.into_iter().next());
            match parsed.map(|document| document.root.content) {
                Some(Content::Sequence { items, .. }) => {
                    let written =
                        |item: &Node| write_node(item, SequenceIndent::Compact).replace('\n', "");
                    self.lists
                        .insert(name, (items.iter().map(written).collect(), 0));
                }
                _ => {
                    self.scalars.insert(name, (value, 0));
                }
            }
        }
    }
}

impl Visitor for Found {
    fn list(&mut self, key: &mut Node, value: &mut Node, _: &str) -> Result<(), Stop> {
        if let Some(pattern) = pattern::of_comment(list_comment(key, value)) {
            let text = |item: &Node| item.value().unwrap_or("").to_owned();
            let mut values: Vec<String> = value.items().iter().map(text).collect();
            values.sort();
            let name = pattern::bare(pattern).to_owned();
            self.lists.entry(name).or_insert((values, 0)).1 += 1;
        }
        Ok(())
    }

    fn scalar(&mut self, node: &mut Node, _: &str) -> Result<(), Stop> {
        if let Some(pattern) = pattern::of_comment(&node.comments().line) {
            for (name, value) in pattern::values(pattern, node.value().unwrap_or("")) {
                self.scalars
                    .entry(name.to_owned())
                    .or_insert((value.to_owned(), 0))
                    .1 += 1;
            }
        }
        Ok(())
    }
}
