//! `encoding/yaml.star`: values as YAML, and back, as yaml.v2 does it.

use std::cell::RefCell;

use functions::yaml::{
    Content, Node, ScalarStyle, SequenceIndent, Tag, is_old_boolean, parse_all, write_node,
};

use super::function;
use crate::{
    convert,
    lang::{Call, Fallible, Thread, Value, memory},
};

/// The column behind which yaml.v2 breaks lines.
const WIDTH: usize = 80;

pub(super) fn members() -> super::Members {
    vec![function("loads", loads), function("dumps", dumps)]
}

fn loads(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let text: String = call.by_name(["source"])?.arg(0)?;
    memory::room(text.len() * 32)?;
    let documents = parse_all(&text).map_err(|error| error.to_string())?;
    match documents.into_iter().next() {
        Some(mut document) => {
            age(&mut document.root)?;
            convert::to_value(&document.root)
        }
        None => Ok(Value::None),
    }
}

/// What yaml.v2 takes for something else than yaml.v3: `yes` and its kind are
/// booleans, and times are text.
fn age(node: &mut Node) -> Fallible<()> {
    memory::check_depth()?;
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                age(key)?;
                age(value)?;
            }
        }
        Content::Sequence { items, .. } => items.iter_mut().try_for_each(age)?,
        Content::Scalar { value, style } => {
            let is_plain = *style == ScalarStyle::Plain && !node.tagged;
            if is_plain && node.tag == Tag::Str && is_old_boolean(value) {
                let is = matches!(value.to_ascii_lowercase().as_str(), "y" | "yes" | "on");
                *value = if is { "true" } else { "false" }.into();
                node.tag = Tag::Bool;
            } else if is_plain && node.tag == Tag::Timestamp {
                node.tag = Tag::Str;
            }
        }
        Content::Alias(_) => {}
    }
    Ok(())
}

fn dumps(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let value: Value = call.by_name(["source"])?.arg(0)?;
    let node = convert::to_node(&value, &RefCell::default())?;
    let text = write_node(&node, SequenceIndent::Compact);
    memory::room(text.len() * 2)?;
    Ok(Value::text(folded(&text)))
}

/// Breaks long lines at spaces, except in blocks of text.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut block: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let in_block = block.is_some_and(|of| line.trim().is_empty() || indent > of);
        if !in_block {
            block = None;
        }
        if in_block || line.len() <= WIDTH {
            out.push_str(line)
        } else {
            fold(line, indent, &mut out)
        }
        out.push('\n');
        if !in_block {
            let value = line.rsplit(' ').next().unwrap_or("");
            let is_block = value.starts_with('|') && value.len() <= 3;
            // Text in a list stands below its dash.
            block = is_block.then_some(indent);
        }
    }
    out
}

fn fold(line: &str, indent: usize, out: &mut String) {
    let dashes = line[indent..].len() - line[indent..].trim_start_matches("- ").len();
    let begins = value_start(line, indent + dashes);
    let is_item = dashes > 0 && begins == indent + dashes;
    let below = " ".repeat(indent + dashes + if is_item { 0 } else { 2 });
    let mut column = 0;
    let mut chars = line.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_break = c == ' '
            && at > begins
            && column > WIDTH
            && before != ' '
            && next.is_some_and(|next| next != ' ');
        if is_break {
            out.push('\n');
            out.push_str(&below);
            column = below.len();
        } else {
            out.push(c);
            column += 1;
        }
        before = c;
    }
}

/// Where the value of a line begins: behind its key, if it has one.
fn value_start(line: &str, from: usize) -> usize {
    let text = &line[from..];
    let key = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote).map(|end| end + 2),
        _ => text.find(": "),
    };
    match key {
        Some(end) if text[end..].starts_with(": ") => from + end + 2,
        _ => from,
    }
}
