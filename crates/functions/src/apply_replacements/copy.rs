//! Putting a value where a path of a target leads.

use super::{
    config::Options,
    getter::{self, Wording},
    path,
};
use crate::{
    function::Stop,
    go,
    meter::charge,
    yaml::{Content, Node},
};

/// The target becomes what the source is.
pub(super) fn copy_node(
    item: &mut Node,
    field: &str,
    value: &Node,
    options: &Options,
) -> Result<(), Stop> {
    let create = options.create.then(|| path::Leaf::of(value));
    let path = path::split(field, true);
    let Some(node) = getter::get(item, &path, create, Wording::WithPath)? else {
        return Ok(());
    };
    let text = joined(node, value, options)?;
    *node = value.clone();
    if let Some(text) = text {
        node.set_value(&text);
    }
    Ok(())
}

pub(super) fn copy(
    item: &mut Node,
    path: &[String],
    field: &str,
    value: &Node,
    options: &Options,
) -> Result<(), String> {
    let verb = if options.create {
        "find or create"
    } else {
        "find"
    };
    let missing = format!(
        "unable to {verb} field {} in replacement target",
        go::quote(field)
    );
    let create = options.create.then(|| path::Leaf::of(value));
    let mut failed = None;
    let count = path::visit(item, path, create, &mut |node| {
        if let Err(error) = set(node, value, options) {
            failed.get_or_insert(error);
        }
    });
    match (failed, count) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(format!("{missing}: {error}")),
        (None, Ok(0)) => Err(missing),
        (None, Ok(_)) => Ok(()),
    }
}

fn set(node: &mut Node, value: &Node, options: &Options) -> Result<(), String> {
    let text = joined(node, value, options)?;
    let text = text.as_deref().or(value.value()).unwrap_or("");
    match &node.content {
        // Only the text: whether it is quoted is the target's affair.
        Content::Scalar { .. } => node.set_value(text),
        _ => *node = value.clone(),
    }
    Ok(())
}

/// The target's text with the value in its place among the parts, if the text is
/// made of parts.
fn joined(node: &Node, value: &Node, options: &Options) -> Result<Option<String>, String> {
    if options.delimiter.is_empty() {
        return Ok(None);
    }
    let Some(old) = node.value() else {
        return Err("delimiter option can only be used with scalar nodes".into());
    };
    let text = value.value().unwrap_or("");
    charge(text.len() + old.len());
    let mut parts: Vec<&str> = old.split(&options.delimiter).collect();
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, text),
        Ok(index) if index >= parts.len() => parts.push(text),
        Ok(index) => parts[index] = text,
    }
    Ok(Some(parts.join(&options.delimiter)))
}
