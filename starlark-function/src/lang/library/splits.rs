//! Methods that split strings.

use super::strings::own;
use crate::lang::{Call, Fallible, Thread, Value, collections::find, unicode, value::first_char};

/// The last character, and its width.
pub(super) fn last_char(text: &[u8]) -> Option<(char, usize)> {
    let last = text.len().checked_sub(1)?;
    let begins = (last.saturating_sub(3)..=last)
        .rev()
        .find(|at| text[*at] & 0xc0 != 0x80)
        .unwrap_or(last);
    let (c, width) = first_char(&text[begins..]);
    if begins + width == text.len() {
        Some((c, width))
    } else {
        Some(('\u{fffd}', 1))
    }
}

/// `split` and `rsplit`
pub(super) fn split(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 2)?;
    let most: i64 = call.optional(1)?.unwrap_or(-1);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let text = own(call);
    let from_left = call.name == "split";
    let parts = match call.args.first() {
        None | Some(Value::None) if from_left => by_space(text, most),
        None | Some(Value::None) => by_space_from_right(text, most),
        Some(Value::Text(separator)) => {
            if separator.is_empty() {
                return Err("split: empty separator".into());
            }
            by_separator(text, separator, most, from_left)
        }
        Some(other) => {
            return Err(format!(
                "split: got {} for separator, want string",
                other.type_name()
            ));
        }
    };
    Ok(Value::list(parts.into_iter().map(Value::text).collect()))
}

fn by_separator<'a>(
    text: &'a [u8],
    separator: &[u8],
    most: usize,
    from_left: bool,
) -> Vec<&'a [u8]> {
    let mut starts = vec![0];
    let mut at = 0;
    while let Some(found) = find(&text[at..], separator) {
        at += found + separator.len();
        starts.push(at);
    }
    let splits = starts.len() - 1;
    if from_left {
        starts.truncate(most.saturating_add(1))
    } else {
        starts.drain(1..=splits.saturating_sub(most).min(splits));
    }
    let ends = starts[1..].iter().map(|start| start - separator.len());
    let ends: Vec<usize> = ends.chain([text.len()]).collect();
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &text[*start..end])
        .collect()
}

fn by_space(text: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at < text.len() {
        let (c, width) = first_char(&text[at..]);
        match (unicode::is_space(c), start) {
            (true, Some(from)) => {
                if parts.len() == most {
                    break;
                }
                parts.push(&text[from..at]);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
        at += width;
    }
    parts.extend(start.map(|from| &text[from..]));
    parts
}

fn by_space_from_right(text: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut end = None;
    let mut at = text.len();
    while let Some((c, width)) = last_char(&text[..at]) {
        match (unicode::is_space(c), end) {
            (true, Some(to)) => {
                if parts.len() == most {
                    break;
                }
                parts.push(&text[at..to]);
                end = None;
            }
            (false, None) => end = Some(at),
            _ => {}
        }
        at -= width;
    }
    parts.extend(end.map(|to| &text[..to]));
    parts.reverse();
    parts
}

pub(super) fn lines(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let keep_ends: bool = call.optional(0)?.unwrap_or(false);
    let lines = own(call).split_inclusive(|byte| *byte == b'\n');
    let line = |line: &[u8]| {
        if keep_ends {
            Value::text(line)
        } else {
            Value::text(line.strip_suffix(b"\n").unwrap_or(line))
        }
    };
    Ok(Value::list(lines.map(line).collect()))
}
