//! Finding values in text that was proven, without reading the levels above it.

use super::{
    super::{
        block::Written,
        node::{Content, Node, ScalarStyle, Tag},
        resolve::resolve,
    },
    part,
    part::{Column, Part, Value},
    walk::Walk,
};

impl Node {
    /// The text of the scalar at the end of a path, and what it means, if this is text that
    /// nobody has changed. What is not found so may still be there.
    pub(crate) fn scalar_in_text(&self, path: &[&str]) -> Option<(&str, Tag)> {
        let text = self.mapping_text()?;
        let (last, parents) = path.split_last()?;
        let (mut walk, column) = mapping(text, parents)?;
        let found = field(&mut walk, column, last)?;
        scalar(text, &found.value)
    }

    /// Goes over keys and texts of the mapping at the end of a path, if this is text that
    /// nobody has changed. Whether that is all that is in the mapping.
    pub(crate) fn all_in_text<'a>(
        &'a self,
        path: &[&str],
        mut each: impl FnMut(&'a str, &'a str),
    ) -> bool {
        let Some(text) = self.mapping_text().filter(|_| self.is_as_written()) else {
            return false;
        };
        let Some((mut walk, column)) = mapping(text, path) else {
            return false;
        };
        loop {
            let Some(field) = walk.field(column) else {
                return false;
            };
            let Some((value, tag)) = scalar(text, &field.value) else {
                return false;
            };
            each(
                part(text, &field.key),
                if tag == Tag::Null { "" } else { value },
            );
            match walk.goes_on(column, false) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    fn mapping_text(&self) -> Option<&Written> {
        match &self.content {
            Content::Mapping { fields, .. } => fields.text().map(|(text, _)| text),
            _ => None,
        }
    }
}

fn scalar<'a>(text: &'a Written, value: &Value) -> Option<(&'a str, Tag)> {
    let Value::Scalar(style, range) = value else {
        return None;
    };
    let value = part(text, range);
    let tag = match style {
        ScalarStyle::Plain => resolve(value),
        _ => Tag::Str,
    };
    Some((value, tag))
}

/// The walk at the mapping at the end of a path, and its column.
fn mapping<'a>(text: &'a Written, path: &[&str]) -> Option<(Walk<'a>, Column)> {
    let (mut walk, mut column) = (Walk::over(text), Column::proven(text.column));
    for key in path {
        column = match field(&mut walk, column, key)?.value {
            Value::Block(block) if block.is_mapping => block.column,
            _ => return None,
        };
    }
    Some((walk, column))
}

/// The first field of this name, from here on.
fn field(walk: &mut Walk<'_>, column: Column, name: &str) -> Option<Part> {
    while !walk.is_at_key(name) {
        walk.skip_field(column, usize::MAX);
        if walk.spaces(walk.at) != column.read {
            return None;
        }
        walk.at += column.read;
    }
    walk.field(column)
}
