//! Configurations as types: serde over our nodes, with the rules and the texts of
//! Go's `encoding/json`, through which the Go functions read theirs.
//!
//! Fields are found without regard to case, `null` leaves a field as it is (give
//! every field `#[serde(default)]`), unknown fields are ignored, keys are read in
//! alphabetical order, and the first value of a wrong type is the error. Go's
//! texts name Go's types: `#[serde(rename = "Replacement")]` names a struct, and a
//! newtype with a name such as `[]types.Replacement` any other type.

mod configs;
mod deserializer;
mod keys;

use std::fmt;

use serde::{Deserialize, de};

use crate::{
    go, json,
    yaml::{Content, Node, Tag, is_old_boolean},
};

pub use configs::{ConfigMap, check_own};
pub(crate) use keys::check_keys;

/// What becomes of scalars whose field is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalars {
    /// They have to be text: the SDK.
    Strict,
    /// Numbers and booleans become text: `sigs.k8s.io/yaml`, which also knows YAML
    /// 1.1's `yes` and `off`.
    ToText,
}

/// Reads a value. The error is what Go says.
pub(crate) fn read<'de, T: Deserialize<'de>>(
    node: &'de Node,
    scalars: Scalars,
) -> Result<T, String> {
    let value = Value {
        node,
        place: Place {
            scalars,
            of: "",
            path: String::new(),
            go_type: None,
        },
    };
    T::deserialize(value).map_err(|GoError(message)| message)
}

/// The text of a value as the SDK reads it; empty if it is none.
pub fn text(node: &Node) -> String {
    read(node, Scalars::Strict).unwrap_or_default()
}

#[derive(Debug)]
struct GoError(String);

impl fmt::Display for GoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GoError {}

impl de::Error for GoError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Where a value is, for messages.
#[derive(Clone)]
struct Place {
    scalars: Scalars,
    /// The innermost struct around it.
    of: &'static str,
    /// Names of fields since the outermost one.
    path: String,
    /// The name of the type that is wanted, if the type has one.
    go_type: Option<&'static str>,
}

struct Value<'de> {
    node: &'de Node,
    place: Place,
}

/// A date is midnight; other times are left as they are written.
fn time_of(value: &str) -> String {
    match value.len() {
        10 => format!("{value}T00:00:00Z"),
        _ => value.to_owned(),
    }
}

/// What JSON would make of a scalar.
enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

impl Value<'_> {
    fn scalar(&self) -> Option<Scalar> {
        let value = self.node.value()?;
        let old = self.place.scalars == Scalars::ToText;
        Some(match self.node.tag {
            Tag::Null => Scalar::Null,
            Tag::Bool => Scalar::Bool(value.eq_ignore_ascii_case("true")),
            Tag::Int | Tag::Float => match json::number(value) {
                Some(number) => Scalar::Number(number),
                None => Scalar::Text(value.to_owned()),
            },
            Tag::Str if old && self.node.is_plain() && is_old_boolean(value) => {
                let yes = ["y", "yes", "on"];
                Scalar::Bool(yes.iter().any(|yes| value.eq_ignore_ascii_case(yes)))
            }
            Tag::Timestamp if !old => Scalar::Text(time_of(value)),
            _ => Scalar::Text(value.to_owned()),
        })
    }

    fn is_null(&self) -> bool {
        self.node.is_null()
    }

    /// The error of a value that is not of the wanted type.
    fn wrong(&self, go_type: &str) -> GoError {
        let value = match &self.node.content {
            Content::Mapping { .. } => "object".to_owned(),
            Content::Sequence { .. } => "array".to_owned(),
            _ => match self.scalar() {
                Some(Scalar::Bool(_)) => "bool".to_owned(),
                Some(Scalar::Number(number)) if go_type.starts_with("int") => {
                    format!("number {}", go::json_float(number))
                }
                Some(Scalar::Number(_)) => "number".to_owned(),
                _ => "string".to_owned(),
            },
        };
        let go_type = self.place.go_type.unwrap_or(go_type);
        let Place { of, path, .. } = &self.place;
        GoError(if path.is_empty() {
            format!("json: cannot unmarshal {value} into Go value of type {go_type}")
        } else {
            format!(
                "json: cannot unmarshal {value} into Go struct field {of}.{path} of type {go_type}"
            )
        })
    }
}

impl<'de> Value<'de> {
    fn whole(self) -> Result<i64, GoError> {
        match self.scalar() {
            #[allow(clippy::cast_possible_truncation, reason = "it was looked at")]
            Some(Scalar::Number(number)) if number.fract() == 0.0 && number.abs() < 9e18 => {
                Ok(number as i64)
            }
            Some(Scalar::Null) => Ok(0),
            _ => Err(self.wrong("int")),
        }
    }

    fn text(self) -> Result<String, GoError> {
        match (self.scalar(), self.place.scalars) {
            (Some(Scalar::Text(text)), _) => Ok(text),
            (Some(Scalar::Null), _) => Ok(String::new()),
            (Some(Scalar::Bool(value)), Scalars::ToText) => Ok(value.to_string()),
            (Some(Scalar::Number(number)), Scalars::ToText) => Ok(go::json_float(number)),
            _ => Err(self.wrong("string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::yaml::parse_all;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, rename = "Shelf", rename_all = "camelCase")]
    struct Shelf {
        books: Books,
        open_at: i64,
        is_full: bool,
        labels: BTreeMap<String, String>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename = "[]library.Book")]
    struct Books(Vec<Book>);

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, rename = "library.Book")]
    struct Book {
        title: String,
        authors: Vec<String>,
    }

    fn shelf(text: &str, scalars: Scalars) -> Result<Shelf, String> {
        let documents = parse_all(text).unwrap();
        read(&documents[0].root, scalars)
    }

    #[test]
    fn fields_are_found_without_regard_to_case_and_null_is_nothing() {
        let text = "BOOKS:\n- {Title: a, authors: [b]}\nopenat: 3\nisFull: null\nother: 1\n";
        let read = shelf(text, Scalars::Strict).unwrap();
        assert_eq!(read.books.0[0].title, "a");
        assert_eq!(read.books.0[0].authors, ["b"]);
        assert_eq!((read.open_at, read.is_full), (3, false));
    }

    #[test]
    fn wrong_types_are_told_as_go_does() {
        for (text, told) in [
            (
                "books: a",
                "string into Go struct field Shelf.books of type []library.Book",
            ),
            (
                "books: [1]",
                "number into Go struct field Shelf.books of type library.Book",
            ),
            (
                "books: [{authors: a}]",
                "string into Go struct field Book.books.authors of type []string",
            ),
            (
                "books: [{title: 5}]",
                "number into Go struct field Book.books.title of type string",
            ),
            (
                "openAt: \"1\"",
                "string into Go struct field Shelf.openAt of type int",
            ),
            (
                "openAt: 1.5",
                "number 1.5 into Go struct field Shelf.openAt of type int",
            ),
            (
                "isFull: \"true\"",
                "string into Go struct field Shelf.isFull of type bool",
            ),
            (
                "labels: []",
                "array into Go struct field Shelf.labels of type map[string]string",
            ),
            ("[]", "array into Go value of type Shelf"),
        ] {
            let error = shelf(text, Scalars::Strict).unwrap_err();
            assert_eq!(error, format!("json: cannot unmarshal {told}"), "{text}");
        }
    }

    #[test]
    fn text_fields_take_other_scalars_where_the_library_turns_them_into_text() {
        let text = "labels: {a: 1.10, b: yes, c: 0x10, d: \"yes\", e: 1000000}";
        let labels = shelf(text, Scalars::ToText).unwrap().labels;
        let labels: Vec<&str> = labels.values().map(String::as_str).collect();
        assert_eq!(labels, ["1.1", "true", "16", "yes", "1000000"]);
        let error = shelf(text, Scalars::Strict).unwrap_err();
        assert!(error.contains("cannot unmarshal number"), "{error}");
    }
}
