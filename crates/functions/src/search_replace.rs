//! `search-replace`: finds fields by value or path; sets them, or a comment
//! behind them.

mod path;
mod search;

use crate::{
    expression,
    function::{Clock, Function, Stop, report_failure},
    go,
    list::{ResourceList, W0, W1, W2, W3_2026, places},
    object::LEGACY_PATH,
    release::Release,
    results::Report,
    yaml::Node,
};
use search::Search;

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.4", W3_2026, &V0_2_4).of_2026(),
    Release::native("v0.2.1", W2, &V0_2_1)
        .with_digests(&["sha256:68149a9d65ff8e0da26c57a74f828ac93573fb7211b06c63802107b8d159145d"]),
    Release::native("v0.2.0", W1, &V0_2_0),
    Release::native("v0.1.1", W1, &V0_1_1),
    Release::native("v0.1.0", W0, &V0_1_0),
];

/// A value that is put into a new field is text, whatever it looks like.
const V0_2_4: SearchReplace = SearchReplace {
    puts_text: true,
    copies_path: false,
    ..V0_2_1
};
/// Files are also known by their newer annotation.
const V0_2_1: SearchReplace = SearchReplace {
    knows_internal_path: true,
    copies_path: true,
    ..V0_2_0
};
const V0_2_0: SearchReplace = SearchReplace {
    is_first: false,
    matchers: &[
        "by-value",
        BY_FILE,
        "by-value-regex",
        "by-path",
        "put-value",
        "put-comment",
    ],
    needs_matcher: false,
    knows_internal_path: false,
    copies_path: false,
    puts_text: false,
};
const V0_1_1: SearchReplace = SearchReplace {
    matchers: &[
        "by-value",
        "by-value-regex",
        "by-path",
        "put-value",
        "put-comment",
    ],
    needs_matcher: true,
    ..V0_2_0
};
/// Nothing is checked, and finding nothing is not reported.
const V0_1_0: SearchReplace = SearchReplace {
    is_first: true,
    needs_matcher: false,
    ..V0_1_1
};

const BY_FILE: &str = "by-file-path";

#[derive(Debug)]
struct SearchReplace {
    is_first: bool,
    /// The names that a configuration may have.
    matchers: &'static [&'static str],
    needs_matcher: bool,
    knows_internal_path: bool,
    /// Whether both spellings of an object's place become the same.
    copies_path: bool,
    puts_text: bool,
}

impl Function for SearchReplace {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            let told = format!(
                "failed to perform search-replace operation: {}",
                go::quote(&message)
            );
            match report_failure(list, told.clone(), message) {
                Stop::Failed(_) if self.is_first => Stop::Printed(told),
                stop => stop,
            }
        };
        let mut search = match self.configure(list.config.as_ref()) {
            Ok(search) => search,
            Err(message) => return Err(fail(list, message)),
        };
        let mark = search.mark();
        let mut searched = Ok(());
        for item in &mut list.items {
            clock.check()?;
            let path = if self.knows_internal_path {
                item.path()
            } else {
                item.annotation(LEGACY_PATH)
            };
            let path = path.to_owned();
            if self.copies_path {
                places::equalise(item);
            }
            match &search.by_file {
                Some(Ok(file)) if !file.is_match(&path) => continue,
                Some(Err(message)) => {
                    searched = Err(Stop::Failed(message.clone()));
                    break;
                }
                _ => {}
            }
            search.file = path;
            searched = if search.sets_one_path() {
                search.put_by_path(item)
            } else {
                search.object(item, mark.as_ref()).map_err(Stop::Failed)
            };
            if searched.is_err() {
                break;
            }
        }
        match searched {
            Ok(()) => {}
            Err(Stop::Failed(message)) => return Err(fail(list, message)),
            Err(stop) => return Err(stop),
        }
        list.results = search.results;
        if list.results.is_empty() && !self.is_first {
            let message = "no matches".to_owned();
            list.results.push(Report {
                message,
                ..Report::default()
            });
        }
        Ok(())
    }
}

impl SearchReplace {
    fn configure(&self, config: Option<&Node>) -> Result<Search, String> {
        let data = config.map_or_else(Vec::new, Node::data);
        let is_unknown = |key: &str| !self.is_first && !self.matchers.contains(&key);
        if let Some((key, _)) = data.iter().find(|(key, _)| is_unknown(key)) {
            let matchers = self.matchers.iter().map(|matcher| go::quote(matcher));
            let matchers: Vec<String> = matchers.collect();
            let matchers = go::list(matchers.iter().map(String::as_str));
            return Err(format!(
                "invalid matcher {}, must be one of {matchers}",
                go::quote(key)
            ));
        }
        let datum = |name: &str| {
            let found = data.iter().find(|(key, _)| *key == name);
            found.map_or(String::new(), |(_, value)| (*value).to_owned())
        };
        let expression = datum("by-value-regex");
        let by_file = match datum(BY_FILE).as_str() {
            "" => None,
            glob if self.matchers.contains(&BY_FILE) => Some(path::glob(glob)),
            _ => None,
        };
        let search = Search {
            by_value: datum("by-value"),
            by_path: datum("by-path"),
            put_value: datum("put-value"),
            put_comment: datum("put-comment"),
            puts_text: self.puts_text,
            by_file,
            ..Search::default()
        };
        let has_matcher =
            !(search.by_value.is_empty() && expression.is_empty() && search.by_path.is_empty());
        if self.needs_matcher && !has_matcher {
            return Err(
                "at least one of [\"by-value\", \"by-value-regex\", \"by-path\"] must be provided"
                    .into(),
            );
        }
        if !search.by_value.is_empty() && !expression.is_empty() {
            return Err("only one of [\"by-value\", \"by-value-regex\"] can be provided".into());
        }
        let by_regex = match expression.as_str() {
            "" => None,
            expression => Some(expression::compile(expression)?),
        };
        Ok(Search { by_regex, ..search })
    }
}
