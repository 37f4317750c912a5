//! `apply-setters`: writes given values into the fields whose comments name them.

use super::{Visitor, list_comment, pattern, walk};
use crate::{
    function::{Clock, Function, Stop, report_failure},
    go,
    list::{ResourceList, W1, W3},
    meter::{charge, replaced},
    object::LEGACY_PATH,
    release::Release,
    results::Report,
    yaml::{Content, Node, ScalarStyle, Tag, parse_all},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.3.0").of_2026(),
    Release::native("v0.2.5", W3, &ApplySetters).of_2026(),
    Release::native("v0.2.2", W1, &ApplySetters)
        .with_digests(&["sha256:b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d"]),
    Release::native("v0.2.1", W1, &ApplySetters),
    Release::native("v0.2.0", W1, &ApplySetters),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

#[derive(Debug)]
pub(crate) struct ApplySetters;

impl Function for ApplySetters {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let data = list.config.as_ref().map_or_else(Vec::new, Node::data);
        let mut setting = Setting {
            setters: data.into_iter().map(owned).collect(),
            file: String::new(),
            results: Vec::new(),
        };
        let mut walked = Ok(());
        for item in &mut list.items {
            clock.check()?;
            setting.file = item.annotation(LEGACY_PATH).to_owned();
            walked = walk(&mut setting, item, "");
            if walked.is_err() {
                break;
            }
        }
        if let Err(stop) = walked {
            let Stop::Failed(message) = stop else {
                return Err(stop);
            };
            let told = format!("failed to apply setters: {message}");
            return Err(report_failure(list, told, message));
        }
        list.results = setting.results;
        if list.results.is_empty() {
            let message = "no matches for input setter(s)".to_owned();
            list.results.push(Report {
                message,
                ..Report::default()
            });
        }
        Ok(())
    }
}

struct Setting {
    setters: Vec<(String, String)>,
    file: String,
    results: Vec<Report>,
}

impl Setting {
    fn concerns(&self, pattern: &str) -> bool {
        let named = |(name, _): &(String, String)| pattern.contains(&pattern::placeholder(name));
        self.setters.iter().any(named)
    }

    fn report(&mut self, value: &str, path: &str) {
        charge(2 * value.len());
        let message = format!("set field value to {}", go::quote(value));
        self.results
            .push(Report::about_field(message, path.to_owned(), &self.file));
    }
}

impl Visitor for Setting {
    fn list(&mut self, key: &mut Node, value: &mut Node, path: &str) -> Result<(), Stop> {
        let comment = list_comment(key, value).to_owned();
        let Some(pattern) = pattern::of_comment(&comment).filter(|pattern| self.concerns(pattern))
        else {
            return Ok(());
        };
        let is_one_name = pattern::names(pattern).len() == 1;
        if !(is_one_name && pattern.starts_with("${") && pattern.ends_with('}')) {
            let pattern = go::quote(pattern);
            return Err(format!("invalid setter pattern for array node: {pattern}").into());
        }
        let name = pattern::bare(pattern);
        let given = self.setters.iter().find(|(setter, _)| setter == name);
        let given = given.map_or(String::new(), |(_, value)| value.clone());
        if given.is_empty() {
            value.content = Content::Sequence {
                items: Vec::new(),
                flow: true,
            };
            value.comments_mut().line = comment;
            key.comments_mut().line.clear();
        } else {
            let parsed = parse_all(&given)
                .ok()
                .and_then(|documents| documents.into_iter().next());
            let Some(Content::Sequence { items, .. }) =
                parsed.map(|document| document.root.content)
            else {
                let given = go::quote(&given);
                return Err(format!(
                    "input to array setter must be an array of values, but found {given}"
                )
                .into());
            };
            value.content = Content::Sequence { items, flow: false };
            key.comments_mut().line = comment;
        }
        self.report(&given, path);
        Ok(())
    }

    fn scalar(&mut self, node: &mut Node, path: &str) -> Result<(), Stop> {
        let comment = &node.comments().line;
        let Some(pattern) = pattern::of_comment(comment).filter(|pattern| self.concerns(pattern))
        else {
            return Ok(());
        };
        let mut text = pattern.to_owned();
        for (name, value) in &self.setters {
            text = replaced(&text, &pattern::placeholder(name), value)?;
        }
        // Names that are not given keep the values that they have.
        for (name, value) in pattern::values(pattern, node.value().unwrap_or("")) {
            text = replaced(&text, &pattern::placeholder(name), &value)?;
        }
        let missing: Vec<String> = pattern::names(&text)
            .into_iter()
            .map(pattern::placeholder)
            .collect();
        if !missing.is_empty() {
            let missing = go::list(missing.iter().map(String::as_str));
            return Err(format!("values for setters {missing} must be provided").into());
        }
        if let Content::Scalar { value, style } = &mut node.content {
            charge(text.len());
            *value = text.as_str().into();
            if text.is_empty() {
                *style = ScalarStyle::DoubleQuoted;
            }
        }
        node.tag = Tag::None;
        self.report(&text, path);
        Ok(())
    }
}
