//! Kubernetes' label selectors: `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1`.

use std::cmp::Ordering;

/// One condition on a label.
#[derive(Debug, PartialEq, Eq)]
enum Condition {
    Exists(String),
    Missing(String),
    In(String, Vec<String>),
    /// Also true of what has no such label.
    NotIn(String, Vec<String>),
    /// Whether the label is a number greater, or less, than this.
    Compare(String, Ordering, i64),
}

/// Conditions that all have to hold.
#[derive(Debug, Default)]
pub(crate) struct Selector(Vec<Condition>);

impl Selector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut conditions = Vec::new();
        for part in parts(text) {
            conditions.push(condition(part.trim()).ok_or_else(|| {
                format!("unable to parse requirement: {part:?} is not a label selector")
            })?);
        }
        Ok(Self(conditions))
    }

    pub(crate) fn matches(&self, labels: &[(&str, &str)]) -> bool {
        let value = |key: &str| {
            labels
                .iter()
                .find(|(own, _)| *own == key)
                .map(|(_, value)| *value)
        };
        self.0.iter().all(|condition| match condition {
            Condition::Exists(key) => value(key).is_some(),
            Condition::Missing(key) => value(key).is_none(),
            Condition::In(key, values) => {
                value(key).is_some_and(|own| values.iter().any(|value| value == own))
            }
            Condition::NotIn(key, values) => {
                value(key).is_none_or(|own| values.iter().all(|value| value != own))
            }
            Condition::Compare(key, wanted, bound) => {
                let own = value(key).and_then(|own| own.parse::<i64>().ok());
                own.is_some_and(|own| own.cmp(bound) == *wanted)
            }
        })
    }
}

/// Splits at commas that are not in brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(&text[from..]);
    }
    parts
}

fn condition(text: &str) -> Option<Condition> {
    let key = |text: &str| {
        let text = text.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        (!text.is_empty() && text.chars().all(word)).then(|| text.to_owned())
    };
    if let Some((name, list)) = text.split_once('(') {
        let list = list.trim_end().strip_suffix(')')?;
        let values = list
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let name = name.trim();
        return match (name.strip_suffix(" notin"), name.strip_suffix(" in")) {
            (Some(name), _) => Some(Condition::NotIn(key(name)?, values)),
            (None, Some(name)) => Some(Condition::In(key(name)?, values)),
            (None, None) => None,
        };
    }
    let one = |value: &str| vec![value.trim().to_owned()];
    let is_word = |value: &str| !value.trim().contains(char::is_whitespace);
    if !text.rsplit('=').next().is_none_or(is_word) {
        return None;
    }
    if let Some((name, value)) = text.split_once("!=") {
        return Some(Condition::NotIn(key(name)?, one(value)));
    }
    if let Some((name, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Condition::In(key(name)?, one(value)));
    }
    for (sign, order) in [('>', Ordering::Greater), ('<', Ordering::Less)] {
        if let Some((name, bound)) = text.split_once(sign) {
            let bound = bound.trim().parse().ok()?;
            return Some(Condition::Compare(key(name)?, order, bound));
        }
    }
    match text.strip_prefix('!') {
        Some(name) => Some(Condition::Missing(key(name)?)),
        None => Some(Condition::Exists(key(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_conditions_have_to_hold() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "3")];
        for (text, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (web, db), tier notin (back)", true),
            ("other!=x", true),
            ("app", true),
            ("n>2", true),
            ("n<3", false),
            ("a>1", false),
            ("!app", false),
            ("app=db", false),
            ("other", false),
        ] {
            assert_eq!(
                Selector::parse(text).unwrap().matches(&labels),
                expected,
                "{text}"
            );
        }
        for bad in ["a b", "=x", "app in web", "a in (x", "n>x"] {
            assert!(Selector::parse(bad).is_err(), "{bad}");
        }
    }
}
