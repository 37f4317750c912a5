//! `search-replace`: finds fields by value or path; sets them, or a comment
//! behind them.

mod path;

use regex::Regex;

use crate::{
    function::{Clock, Function, Stop, report_failure},
    go,
    list::{ResourceList, W0, W1, W2, W3_2026, places},
    meter,
    object::LEGACY_PATH,
    release::Release,
    results::{Report, field_text},
    yaml::{Content, Node, SequenceIndent, Tag, write_node},
};

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
        let mut searched = Ok(());
        for item in &mut list.items {
            clock.check()?;
            let path = match self.knows_internal_path {
                true => item.path(),
                false => item.annotation(LEGACY_PATH),
            };
            let path = path.to_owned();
            if self.copies_path {
                places::equalise(item);
            }
            match &search.by_file {
                Some(Ok(file)) if !file.is_match(&path) => continue,
                Some(Err(message)) => {
                    searched = Err(message.clone());
                    break;
                }
                _ => {}
            }
            search.file = path;
            searched = match search.sets_one_path() {
                true => search.put_by_path(item),
                false => search.walk(item, &mut String::new()),
            };
            if searched.is_err() {
                break;
            }
        }
        if let Err(message) = searched {
            return Err(fail(list, message));
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
            expression => Some(Regex::new(expression).map_err(|error| {
                let reason = error.to_string();
                let reason = reason
                    .lines()
                    .last()
                    .unwrap_or("")
                    .trim_start_matches("error: ");
                format!(
                    "error parsing regexp: {}: `{expression}`",
                    go_reason(reason)
                )
            })?),
        };
        Ok(Search { by_regex, ..search })
    }
}

/// What Go says where the engine here says this, for the frequent mistakes.
fn go_reason(reason: &str) -> &str {
    match reason {
        "unclosed group" => "missing closing )",
        "unopened group" => "unexpected )",
        "unclosed character class" => "missing closing ]",
        "repetition operator missing expression" => "missing argument to repetition operator",
        other => other,
    }
}

#[derive(Default)]
struct Search {
    by_value: String,
    by_regex: Option<Regex>,
    /// Paths of files that are looked at; `None` for all.
    by_file: Option<Result<Regex, String>>,
    puts_text: bool,
    by_path: String,
    put_value: String,
    put_comment: String,
    file: String,
    results: Vec<Report>,
}

impl Search {
    /// Whether a plain path and a value are all that is given: then the field is
    /// created where it is missing.
    fn sets_one_path(&self) -> bool {
        let mut parts = self.by_path.split('.');
        let plain = parts.all(|part| !part.is_empty() && !part.contains('*'));
        let by_path_only = self.by_value.is_empty() && self.by_regex.is_none();
        plain && !self.by_path.contains('[') && by_path_only && !self.put_value.is_empty()
    }

    fn put_by_path(&mut self, object: &mut Node) -> Result<(), String> {
        let path: Vec<&str> = self.by_path.split('.').collect();
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let mut node = object;
        let mut walked = Vec::new();
        for key in parents {
            if !node.is_mapping() {
                return Err(self.wrong_kind(node, &walked));
            }
            walked.push(*key);
            if node.get(key).is_none_or(Node::is_null) {
                node.remove(key);
                append(node, key, Node::mapping(Vec::new()));
            }
            let Some(child) = node.get_mut(key) else {
                return Ok(());
            };
            node = child;
        }
        if !node.is_mapping() {
            return Err(self.wrong_kind(node, &walked));
        }
        let mut value = match self.puts_text {
            true => field_text(&self.put_value),
            false => Node::text(self.put_value.as_str()),
        };
        value.tag = Tag::None;
        match node.get_mut(last) {
            // The comments of what was there go with it.
            Some(current) => {
                if let (Content::Scalar { style, .. }, Content::Scalar { style: new, .. }) =
                    (&current.content, &mut value.content)
                {
                    *new = *style;
                }
                *current = value;
            }
            None => append(node, last, value),
        }
        let message = self.message(&self.put_value);
        let report = Report::about_field(message, self.by_path.clone(), &self.file);
        self.results.push(report);
        Ok(())
    }

    fn wrong_kind(&self, node: &Node, path: &[&str]) -> String {
        let kind = match node.content {
            Content::Sequence { .. } => "SequenceNode",
            Content::Alias(_) => "AliasNode",
            _ => "ScalarNode",
        };
        let written = write_node(node, SequenceIndent::Compact);
        if self.puts_text {
            return format!(
                "wrong node kind: expected MappingNode but got {kind}: node contents:\n{written}"
            );
        }
        let (path, written) = (path.join("."), written.trim());
        format!("wrong Node Kind for {path} expected: MappingNode was {kind}: value: {{{written}}}")
    }

    fn message(&self, value: &str) -> String {
        let value = go::quote(value);
        if self.put_comment.is_empty() && self.put_value.is_empty() {
            format!("Matched field value {value}")
        } else {
            format!("Mutated field value to {value}")
        }
    }

    /// `path` is that of the node, and is so again afterwards.
    fn walk(&mut self, node: &mut Node, path: &mut String) -> Result<(), String> {
        // Once the run is over nobody looks at the rest.
        if !meter::charge(path.len()) {
            return Ok(());
        }
        if node.as_written().is_some_and(|text| !self.may_be_in(text)) {
            return Ok(());
        }
        match &mut node.content {
            Content::Mapping { fields, .. } => {
                let has_entries = |(_, value): &&mut (Node, Node)| !value.items().is_empty();
                if !self.put_comment.is_empty() {
                    for (key, value) in fields.iter_mut().filter(has_entries) {
                        self.comment_list(key, value, path);
                    }
                }
                let length = path.len();
                for (key, value) in fields {
                    path.push('.');
                    path.push_str(key.value().unwrap_or(""));
                    self.walk(value, path)?;
                    path.truncate(length);
                }
            }
            Content::Sequence { items, .. } => {
                let length = path.len();
                for (at, item) in items.iter_mut().enumerate() {
                    path.push_str(&format!("[{at}]"));
                    self.walk(item, path)?;
                    path.truncate(length);
                }
            }
            Content::Scalar { .. } => self.scalar(node, path)?,
            Content::Alias(_) => {}
        }
        Ok(())
    }

    /// A list gets its comment behind its key, and its entries lines of their own.
    fn comment_list(&mut self, key: &mut Node, value: &mut Node, path: &str) {
        let place = format!("{path}.{}", key.value().unwrap_or(""));
        if !self.path_matches(&place) {
            return;
        }
        self.put_comment.clone_into(&mut key.comments_mut().line);
        set_flow(value, true);
        let written = write_node(value, SequenceIndent::Compact);
        set_flow(value, false);
        let message = self.message(written.trim());
        let field = format!("{} # {}", self.by_path, self.put_comment);
        self.results
            .push(Report::about_field(message, field, &self.file));
    }

    fn scalar(&mut self, node: &mut Node, path: &str) -> Result<(), String> {
        let value = node.value().unwrap_or("");
        if !self.matches(value, path) {
            return Ok(());
        }
        if !self.put_comment.is_empty() {
            // What cannot be resolved leaves nothing behind.
            let resolved = self.resolved(value, &self.put_comment);
            node.comments_mut().line = resolved.clone().unwrap_or_default();
            resolved?;
        }
        if !self.put_value.is_empty() {
            let resolved = self.resolved(node.value().unwrap_or(""), &self.put_value);
            node.set_value(resolved.as_deref().unwrap_or(""));
            resolved?;
            node.tag = Tag::None;
        }
        if !self.file.is_empty() {
            let written = write_node(node, SequenceIndent::Compact);
            let message = self.message(written.trim());
            let field = path.trim_start_matches('.').to_owned();
            self.results
                .push(Report::about_field(message, field, &self.file));
        }
        Ok(())
    }

    fn matches(&self, value: &str, path: &str) -> bool {
        let by_path = self.path_matches(path);
        let by_value = (!self.by_value.is_empty() && self.by_value == value)
            || self
                .by_regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(value));
        let only_path = self.by_value.is_empty() && self.by_regex.is_none();
        (by_value && (by_path || self.by_path.is_empty())) || (by_path && only_path)
    }

    /// Whether a block of this text may hold a match: a value of one line stands in
    /// it as it is.
    fn may_be_in(&self, text: &str) -> bool {
        let is_by_value = !self.by_value.is_empty()
            && !self.by_value.contains('\n')
            && self.by_regex.is_none()
            && (self.put_comment.is_empty() || self.by_path.is_empty());
        !is_by_value || memchr::memmem::find(text.as_bytes(), self.by_value.as_bytes()).is_some()
    }

    fn path_matches(&self, path: &str) -> bool {
        if self.by_path.is_empty() {
            return false;
        }
        let path: Vec<&str> = path.trim_start_matches('.').split('.').collect();
        let pattern: Vec<&str> = self.by_path.split('.').collect();
        path::matches(&path, &pattern)
    }

    /// A text with the groups of the expression filled in.
    fn resolved(&self, value: &str, text: &str) -> Result<String, String> {
        let Some(regex) = &self.by_regex else {
            return Ok(text.to_owned());
        };
        let mut resolved = text.to_owned();
        if let Some(captures) = regex.captures(value) {
            for (at, group) in captures.iter().enumerate().skip(1) {
                let group = group.map_or("", |group| group.as_str());
                resolved = resolved.replace(&format!("${{{at}}}"), group);
            }
        }
        let is_group = |rest: &str| {
            let name = rest.split_once('}').map_or("", |(name, _)| name);
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
        };
        if resolved.split("${").skip(1).any(is_group) {
            return Err("unable to resolve capture groups".into());
        }
        Ok(resolved)
    }
}

fn set_flow(node: &mut Node, to: bool) {
    if let Content::Sequence { flow, .. } = &mut node.content {
        *flow = to;
    }
}

/// A new field at the end. Its name is written as it is, so that `true` is a boolean.
fn append(node: &mut Node, name: &str, value: Node) {
    if let Content::Mapping { fields, .. } = &mut node.content {
        fields.push((Node::plain(name), value));
    }
}
