//! One search through the objects of a list: what fits is set, commented, and reported.

use std::{fmt::Write as _, rc::Rc};

use memchr::memmem::{self, Finder};

use crate::{
    apply_replacements::{
        getter::{self, Wording},
        path::Leaf,
    },
    expression::Expression,
    function::Stop,
    go, meter,
    results::{Report, field_text},
    yaml::{Content, Node, ScalarStyle, SequenceIndent, Tag, kind_name, write_node},
};

#[derive(Default)]
pub(super) struct Search {
    pub(super) by_value: String,
    pub(super) by_regex: Option<Rc<Expression>>,
    /// Paths of files that are looked at; `None` for all.
    pub(super) by_file: Option<Result<Rc<Expression>, String>>,
    pub(super) puts_text: bool,
    pub(super) by_path: String,
    pub(super) put_value: String,
    pub(super) put_comment: String,
    pub(super) file: String,
    pub(super) results: Vec<Report>,
}

impl Search {
    /// Whether a plain path and a value are all that is given: then the field is
    /// created where it is missing.
    pub(super) fn sets_one_path(&self) -> bool {
        let mut parts = self.by_path.split('.');
        let plain = parts.all(|part| !part.is_empty() && !part.contains('*'));
        let by_path_only = self.by_value.is_empty() && self.by_regex.is_none();
        plain && !self.by_path.contains('[') && by_path_only && !self.put_value.is_empty()
    }

    /// Sets one field. Where the way to it ends at nothing, Go reports it all the same.
    pub(super) fn put_by_path(&mut self, object: &mut Node) -> Result<(), Stop> {
        let path: Vec<&str> = self.by_path.split('.').collect();
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let parent = if self.puts_text {
            let parents: Vec<String> = parents.iter().map(|part| (*part).to_owned()).collect();
            let create = Some(Leaf::Mapping);
            getter::get(object, &parents, create, Wording::WithContents)?
        } else {
            Some(self.old_parent(object, parents)?)
        };
        if let Some(node) = parent.filter(|node| !self.puts_text || !node.is_null()) {
            if !node.is_mapping() {
                return Err(self.wrong_kind(node, parents).into());
            }
            self.put(node, last);
        }
        let message = self.message(&self.put_value);
        let report = Report::about_field(message, self.by_path.clone(), &self.file);
        self.results.push(report);
        Ok(())
    }

    /// Up to v0.2.1 parts of the path are names, and what is null on the way is created.
    fn old_parent<'a>(
        &self,
        object: &'a mut Node,
        parents: &[&str],
    ) -> Result<&'a mut Node, String> {
        let mut node = object;
        for (at, key) in parents.iter().enumerate() {
            if !node.is_mapping() {
                return Err(self.wrong_kind(node, &parents[..at]));
            }
            if node.get(key).is_none_or(Node::is_null) {
                node.remove(key);
                append(node, key, Node::mapping(Vec::new()));
            }
            node = node.get_mut(key).expect("it was appended");
        }
        Ok(node)
    }

    fn put(&self, node: &mut Node, name: &str) {
        let mut value = if self.puts_text {
            field_text(&self.put_value)
        } else {
            Node::text(self.put_value.as_str())
        };
        value.tag = Tag::None;
        match node.get_mut(name) {
            // The comments of what was there go with it.
            Some(current) => {
                if let Content::Scalar { style: new, .. } = &mut value.content {
                    // As that was written; a list or a mapping had no quotes.
                    *new = match &current.content {
                        Content::Scalar { style, .. } => *style,
                        _ => ScalarStyle::Plain,
                    };
                }
                *current = value;
            }
            None => append(node, name, value),
        }
    }

    fn wrong_kind(&self, node: &Node, path: &[&str]) -> String {
        let kind = kind_name(node);
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

    /// What has to stand in a scalar's text for a match, and nothing but values of scalars
    /// will change.
    pub(super) fn mark(&self) -> Option<Finder<'static>> {
        let is_plain = self.is_by_value() && self.put_comment.is_empty();
        is_plain.then(|| Finder::new(&self.by_value).into_owned())
    }

    /// Searches an object, as text where that is enough.
    pub(super) fn object(
        &mut self,
        object: &mut Node,
        mark: Option<&Finder<'_>>,
    ) -> Result<(), String> {
        let told = self.results.len();
        let edited = mark
            .and_then(|mark| object.edit_text(mark, |scalar, path| self.scalar(scalar, path).ok()));
        if edited.is_some() {
            return Ok(());
        }
        self.results.truncate(told);
        self.walk(object, &mut String::new())
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
                    let _ = write!(path, "[{at}]");
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
        !self.is_by_value() || memmem::find(text.as_bytes(), self.by_value.as_bytes()).is_some()
    }

    fn is_by_value(&self) -> bool {
        !self.by_value.is_empty()
            && !self.by_value.contains('\n')
            && self.by_regex.is_none()
            && (self.put_comment.is_empty() || self.by_path.is_empty())
    }

    fn path_matches(&self, path: &str) -> bool {
        if self.by_path.is_empty() {
            return false;
        }
        let path: Vec<&str> = path.trim_start_matches('.').split('.').collect();
        let pattern: Vec<&str> = self.by_path.split('.').collect();
        super::path::matches(&path, &pattern)
    }

    /// A text with the groups of the expression filled in.
    fn resolved(&self, value: &str, text: &str) -> Result<String, String> {
        let Some(regex) = &self.by_regex else {
            return Ok(text.to_owned());
        };
        let mut resolved = text.to_owned();
        for (at, group) in regex.groups(value).into_iter().flatten().enumerate() {
            let place = format!("${{{}}}", at + 1);
            let filled = meter::replaced(&resolved, &place, group.unwrap_or(""));
            // Once the run is over nobody looks at the reason.
            resolved = filled.map_err(|_| String::new())?;
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
