//! Setters: values of a package that comments such as `# kpt-set: ${name}` name.
//! Applying, creating and listing them walk all fields of all objects.

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod list;
mod pattern;

use crate::{
    function::Stop,
    meter,
    yaml::{Content, Node},
};

/// What is done at the fields and scalars of an object.
trait Visitor {
    /// A field whose value is a list, before the list's entries are visited.
    fn list(&mut self, key: &mut Node, value: &mut Node, path: &str) -> Result<(), Stop>;
    fn scalar(&mut self, node: &mut Node, path: &str) -> Result<(), Stop>;
    /// Whether there may be something to do in a block of this text.
    fn may_be_in(&self, _text: &str) -> bool {
        true
    }
}

/// Visits the lists among a mapping's fields, then everything in its fields.
fn walk(visitor: &mut impl Visitor, node: &mut Node, path: &str) -> Result<(), Stop> {
    meter::charge(path.len());
    meter::check()?;
    if let Some(text) = node.as_written()
        && !visitor.may_be_in(text)
    {
        return Ok(());
    }
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (key, value) in fields.iter_mut().filter(|(_, value)| value.is_sequence()) {
                let path = join(path, key);
                visitor.list(key, value, &path)?;
            }
            for (key, value) in fields {
                walk(visitor, value, &join(path, key))?;
            }
            Ok(())
        }
        Content::Sequence { items, .. } => {
            for (at, item) in items.iter_mut().enumerate() {
                walk(visitor, item, &format!("{path}[{at}]"))?;
            }
            Ok(())
        }
        Content::Scalar { .. } => visitor.scalar(node, path),
        Content::Alias(_) => Ok(()),
    }
}

fn join(path: &str, key: &Node) -> String {
    let key = key.value().unwrap_or("");
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

/// The comment that can hold a list's setter: behind the list if it is in one
/// line, else behind its key.
fn list_comment<'a>(key: &'a Node, value: &'a Node) -> &'a str {
    match value.content {
        Content::Sequence { flow: true, .. } => &value.comments().line,
        _ => &key.comments().line,
    }
}
