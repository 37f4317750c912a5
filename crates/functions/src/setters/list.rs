//! `list-setters`: reports which setters a package has, from its Kptfile and from
//! its comments.

use std::collections::BTreeMap;

use super::{Visitor, list_comment, pattern, walk};
use crate::{
    function::{Clock, Function, Stop, report_failure},
    kptfile::Types,
    list::{ResourceList, W2, W3_PLACES},
    object::{LEGACY_PATH, PATH},
    release::Release,
    results::{Report, Severity},
    yaml::{Content, Node, SequenceIndent, parse_all, write_node},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.1", W3_PLACES, &V0_1_1),
    Release::native("v0.1.0", W2, &V0_1_0),
    // What was in the catalog's source before v0.1.1.
    Release::native("head", W2, &HEAD),
];

const V0_1_1: ListSetters = ListSetters {
    none_fails: false,
    types: Types::Kpt,
    path: PATH,
};
const HEAD: ListSetters = ListSetters {
    none_fails: false,
    ..V0_1_0
};
const V0_1_0: ListSetters = ListSetters {
    none_fails: true,
    types: Types::Sdk,
    path: LEGACY_PATH,
};

#[derive(Debug)]
struct ListSetters {
    /// Whether a package without setters is an error.
    none_fails: bool,
    types: Types,
    /// The annotation that names an object's file.
    path: &'static str,
}

impl Function for ListSetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            let told = format!("failed to list setters: {message}");
            report_failure(list, told, message)
        };
        let mut found = Found::default();
        match self.declared(&list.items) {
            Ok(setters) => found.declare(setters),
            Err(message) => return Err(fail(list, message)),
        }
        for item in &mut list.items {
            clock.check()?;
            walk(&mut found, item, "")?;
        }
        let lists = found.lists.into_iter().map(|(name, (values, count))| {
            let value = format!("[{}]", values.join(", "));
            (name, value, "array".to_owned(), count)
        });
        let scalars = found.scalars.into_iter();
        let scalars = scalars.map(|(name, found)| (name, found.value, found.kind, found.count));
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
            let message = "no setters found";
            if self.none_fails {
                return Err(fail(list, message.into()));
            }
            list.results.push(Report::new(Severity::Warning, message));
        }
        Ok(())
    }
}

impl ListSetters {
    /// The setters that the package's Kptfile gives to apply-setters.
    fn declared(&self, items: &[Node]) -> Result<Vec<(String, String)>, String> {
        let Some(kptfile) = items
            .iter()
            .find(|item| item.annotation(self.path) == "Kptfile")
        else {
            return Ok(Vec::new());
        };
        self.types
            .check(kptfile, 0)
            .map_err(|error| format!("unable to read Kptfile: {error}"))?;
        let mut setters = Vec::new();
        let mutators = kptfile
            .at(&["pipeline", "mutators"])
            .map_or(&[][..], Node::items);
        let is_apply = |function: &&Node| function.text_at(&["image"]).contains("apply-setters");
        for function in mutators.iter().filter(is_apply) {
            let path = function.text_at(&["configPath"]);
            let given = match function.get("configMap").filter(|map| !map.is_null()) {
                Some(data) => data.texts(),
                None if !path.is_empty() => {
                    let Some(file) = items.iter().find(|item| item.annotation(self.path) == path)
                    else {
                        return Ok(Vec::new());
                    };
                    file.data()
                }
                // Nothing more can be learnt from this Kptfile.
                None => return Ok(Vec::new()),
            };
            let given = given
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            setters.extend(given);
        }
        Ok(setters)
    }
}

/// Values and counts by name.
#[derive(Default)]
struct Found {
    scalars: BTreeMap<String, Scalar>,
    lists: BTreeMap<String, (Vec<String>, usize)>,
}

struct Scalar {
    value: String,
    /// The YAML type of the value, as far as it is known.
    kind: String,
    count: usize,
}

/// The type of a value, unless a field is more specific.
const TEXT: &str = "str";

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
                    let kind = TEXT.to_owned();
                    let count = 0;
                    self.scalars.insert(name, Scalar { value, kind, count });
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
            let tag = node.tag_name();
            let kind = tag.strip_prefix("!!").unwrap_or(tag);
            for (name, value) in pattern::values(pattern, node.value().unwrap_or("")) {
                let found = self.scalars.entry(name.to_owned());
                let found = found.or_insert_with(|| Scalar {
                    value: value.to_owned(),
                    kind: kind.to_owned(),
                    count: 0,
                });
                if found.kind == TEXT {
                    kind.clone_into(&mut found.kind);
                }
                found.count += 1;
            }
        }
        Ok(())
    }
}
