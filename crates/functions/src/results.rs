//! What a function reports, and how it is written into the list.

use crate::yaml::{Content, Node, ScalarStyle, Tag, is_old_boolean, parse_all, resolve};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
    Info,
}

/// Whose results these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Sdk,
    Framework,
    OldFramework,
}

/// One result. Missing parts are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) message: String,
    pub(crate) severity: Option<Severity>,
    /// apiVersion, kind, name and namespace of the object that it is about.
    pub(crate) object: Option<[String; 4]>,
    /// The path of the field that it is about.
    pub(crate) field: Option<String>,
    /// What the field was and what it becomes.
    pub(crate) values: Option<[String; 2]>,
    /// The file that it is about, and the object's place in the file.
    pub(crate) file: Option<(String, i64)>,
}

impl Report {
    pub(crate) fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            severity: Some(severity),
            ..Self::default()
        }
    }

    pub(crate) fn info(message: impl Into<String>) -> Self {
        Self::new(Severity::Info, message)
    }

    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    pub(crate) fn is_error(&self) -> bool {
        self.severity == Some(Severity::Error)
    }

    /// About a field of a file.
    pub(crate) fn about_field(message: String, field: String, path: &str) -> Self {
        Self {
            message,
            field: Some(field),
            file: Some((path.to_owned(), 0)),
            ..Self::default()
        }
    }

    /// As a mapping. The functions SDK writes the parts in alphabetical order;
    /// kustomize's older framework leaves out parts that are empty.
    pub(crate) fn node(&self, form: Form) -> Node {
        let alphabetical = form == Form::Sdk;
        let mut node = Node::mapping(Vec::new());
        let severity = self.severity.map_or("", |severity| match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        });
        let reference = self
            .object
            .as_ref()
            .map(|[api_version, kind, name, namespace]| {
                let named = [("name", name), ("namespace", namespace)];
                let typed = [("apiVersion", api_version), ("kind", kind)];
                let parts = match form {
                    Form::Sdk => [named, typed],
                    Form::Framework | Form::OldFramework => [typed, named],
                };
                let mut node = Node::mapping(Vec::new());
                for (key, text) in parts.concat() {
                    put(&mut node, key, text);
                }
                node
            });
        let field = self.field.as_ref().map(|path| {
            let mut node = Node::mapping(Vec::new());
            let [current, proposed] = match &self.values {
                Some(values) => values.each_ref().map(|value| Some(encoded(value))),
                None => [None, None],
            };
            let path = (!path.is_empty()).then(|| encoded(path));
            let mut parts = [("path", path), ("currentValue", current)];
            if alphabetical {
                parts.reverse();
            }
            let parts = parts.into_iter().chain([("proposedValue", proposed)]);
            for (name, part) in parts {
                if let Some(part) = part {
                    node.insert(name, part);
                }
            }
            node
        });
        let file = self.file.as_ref().map(|(path, index)| {
            let mut node = Node::mapping(Vec::new());
            if *index != 0 && alphabetical {
                node.insert("index", Node::plain(index.to_string()));
            }
            put(&mut node, "path", path);
            if *index != 0 && !alphabetical {
                node.insert("index", Node::plain(index.to_string()));
            }
            node
        });
        let put_part = |node: &mut Node, name: &str, part: Option<Node>| {
            if let Some(part) = part
                && (form != Form::OldFramework || !part.fields().is_empty())
            {
                node.insert(name, part);
            }
        };
        if alphabetical {
            put_part(&mut node, "field", field);
            put_part(&mut node, "file", file);
            put(&mut node, "message", &self.message);
            put_part(&mut node, "resourceRef", reference);
            put(&mut node, "severity", severity);
        } else {
            put(&mut node, "message", &self.message);
            put(&mut node, "severity", severity);
            put_part(&mut node, "resourceRef", reference);
            put_part(&mut node, "field", field);
            put_part(&mut node, "file", file);
        }
        node
    }
}

fn put(node: &mut Node, key: &str, text: &str) {
    if !text.is_empty() {
        node.insert(key, encoded(text));
    }
}

/// Text as yaml.v3 encodes a Go string: in a style that no reader, not even one
/// of YAML 1.1, takes for something else.
pub fn encoded(text: &str) -> Node {
    let style = if text.contains('\n') {
        ScalarStyle::Literal
    } else if resolve(text) == Tag::Str && !is_old_boolean(text) && !is_base_60(text) {
        ScalarStyle::Plain
    } else {
        ScalarStyle::DoubleQuoted
    };
    let mut node = Node::text(text);
    if let Content::Scalar { style: of, .. } = &mut node.content {
        *of = style;
    }
    node
}

/// Text as kyaml sets it into a field: quoted where YAML 1.1 would read something
/// else than text from it, a mapping for example.
pub(crate) fn field_text(text: &str) -> Node {
    let means_text = || {
        let Ok(documents) = parse_all(text) else {
            return true;
        };
        let root = documents.into_iter().next().map(|document| document.root);
        root.is_some_and(|root| match &root.content {
            Content::Scalar {
                value,
                style: ScalarStyle::Plain,
            } => {
                // A date is text to YAML 1.1's reader.
                matches!(root.tag, Tag::Str | Tag::Timestamp)
                    && !is_old_boolean(value)
                    && !is_base_60(value)
            }
            Content::Scalar { .. } => true,
            _ => false,
        })
    };
    let mut node = Node::text(text);
    if !text.contains('\n')
        && !means_text()
        && let Content::Scalar { style, .. } = &mut node.content
    {
        *style = ScalarStyle::DoubleQuoted;
    }
    node
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`, a number to YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or("");
    let rest: Vec<&str> = parts.collect();
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && !rest.is_empty()
        && rest
            .iter()
            .all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}
