//! The first release, v0.1.0: it reports nothing, leaves empty values and lists in
//! one line alone, and takes a pattern's text for a regular expression.

use std::rc::Rc;

use super::{Setters, check_resolved, concerns, filled, given, list_value, not_a_list};
use crate::{
    expression::{self, Expression},
    function::{Clock, Function, Stop},
    list::ResourceList,
    meter::replaced,
    setters::{Visitor, pattern, walk},
    yaml::{Content, Node, Tag, parse_all},
};

#[derive(Debug)]
pub(super) struct ApplySetters;

impl Function for ApplySetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let mut setting = Setting(given(list.config.as_ref()));
        for item in &mut list.items {
            clock.check()?;
            match walk(&mut setting, item, "") {
                Err(Stop::Failed(message)) => {
                    return Err(Stop::Printed(format!("failed to apply setters: {message}")));
                }
                walked => walked?,
            }
        }
        Ok(())
    }
}

struct Setting(Setters);

/// The values that the names of a pattern have in a text.
fn values(pattern: &str, text: &str) -> Vec<(String, String)> {
    let Some(groups) = expression_of(pattern).and_then(|it| it.groups(text)) else {
        return Vec::new();
    };
    let names = pattern::names(pattern).into_iter();
    let value = |(name, group): (&str, Option<&str>)| {
        let group = group.unwrap_or("");
        (name.to_owned(), group.to_owned())
    };
    names.zip(groups).map(value).collect()
}

/// The pattern with a group for each of its names, which have to be words.
fn expression_of(pattern: &str) -> Option<Rc<Expression>> {
    let mut expression = pattern.to_owned();
    for name in pattern::names(pattern) {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_word) {
            return None;
        }
        expression = expression.replace(&pattern::placeholder(name), "(.*)");
    }
    expression::compile(&expression).ok()
}

impl Visitor for Setting {
    fn list(&mut self, key: &mut Node, value: &mut Node, _: &str) -> Result<(), Stop> {
        let Some(pattern) = pattern::of_comment(&key.comments().line) else {
            return Ok(());
        };
        if value.items().is_empty() || !concerns(&self.0, pattern) {
            return Ok(());
        }
        let given = list_value(&self.0, pattern)?;
        let documents = parse_all(&given).map_err(|error| error.to_string())?;
        let Some(document) = documents.into_iter().next() else {
            return Err("EOF".to_owned().into());
        };
        let Content::Sequence { items, .. } = document.root.content else {
            return Err(not_a_list(&given));
        };
        value.content = Content::Sequence { items, flow: false };
        Ok(())
    }

    fn scalar(&mut self, node: &mut Node, _: &str) -> Result<(), Stop> {
        let Some(pattern) = pattern::of_comment(&node.comments().line) else {
            return Ok(());
        };
        if node.is_null() || !concerns(&self.0, pattern) {
            return Ok(());
        }
        let pattern = pattern.to_owned();
        let mut text = filled(&self.0, &pattern)?;
        for (name, value) in values(&pattern, node.value().unwrap_or("")) {
            text = replaced(&text, &pattern::placeholder(&name), &value)?;
        }
        check_resolved(&text)?;
        node.set_value(&text);
        node.tag = Tag::None;
        Ok(())
    }
}
