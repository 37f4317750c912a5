//! Methods of strings. Strings are bytes; indices count them.

use std::rc::Rc;

use super::{EVER, Entry, format};
use crate::lang::{
    Call, Fallible, Thread, Value,
    args::Iterable,
    collections::find,
    dialect::Edition,
    index::bounds,
    memory, unicode,
    value::{Elements, first_char},
};

pub(super) const METHODS: &[Entry] = &[
    ("capitalize", EVER, capitalize),
    ("codepoint_ords", EVER, elements),
    ("codepoints", EVER, elements),
    ("count", EVER, count),
    ("elem_ords", EVER, elements),
    ("elems", EVER, elements),
    ("endswith", EVER, starts_or_ends),
    ("find", EVER, index),
    ("format", EVER, format::format),
    ("index", EVER, index),
    ("isalnum", EVER, is),
    ("isalpha", EVER, is),
    ("isdigit", EVER, is),
    ("islower", EVER, is_of_case),
    ("isspace", EVER, is),
    ("istitle", EVER, is_title),
    ("isupper", EVER, is_of_case),
    ("join", EVER, join),
    ("lower", EVER, change_case),
    ("lstrip", EVER, strip),
    ("partition", EVER, partition),
    ("removeprefix", Edition::March2023, remove_affix),
    ("removesuffix", Edition::March2023, remove_affix),
    ("replace", EVER, replace),
    ("rfind", EVER, index),
    ("rindex", EVER, index),
    ("rpartition", EVER, partition),
    ("rsplit", EVER, super::splits::split),
    ("rstrip", EVER, strip),
    ("split", EVER, super::splits::split),
    ("splitlines", EVER, super::splits::lines),
    ("startswith", EVER, starts_or_ends),
    ("strip", EVER, strip),
    ("title", EVER, title),
    ("upper", EVER, change_case),
];

pub(super) const BYTES_METHODS: &[Entry] = &[("elems", EVER, elements)];

/// The string whose method is called.
pub(super) fn own(call: &Call) -> &[u8] {
    match &call.receiver {
        Some(Value::Text(text) | Value::Bytes(text)) => text,
        _ => b"",
    }
}

/// The characters of a text; what is not UTF-8 is U+FFFD.
pub(super) fn chars(text: &[u8]) -> impl Iterator<Item = char> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (c, width) = (!rest.is_empty()).then(|| first_char(rest))?;
        rest = &rest[width..];
        Some(c)
    })
}

fn mapped(text: &[u8], mut map: impl FnMut(char) -> char) -> Value {
    Value::text(chars(text).map(&mut map).collect::<String>())
}

fn capitalize(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let mut is_first = true;
    Ok(mapped(own(call), |c| {
        if std::mem::take(&mut is_first) {
            unicode::to_title(c)
        } else {
            unicode::to_lower(c)
        }
    }))
}

fn title(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let mut follows = false;
    Ok(mapped(own(call), |c| {
        let c = if follows {
            unicode::to_lower(c)
        } else {
            unicode::to_title(c)
        };
        follows = unicode::is_cased(c);
        c
    }))
}

/// `lower` and `upper`
fn change_case(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    Ok(match call.name {
        "lower" => mapped(own(call), unicode::to_lower),
        _ => mapped(own(call), unicode::to_upper),
    })
}

fn elements(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let (of, of_bytes) = match &call.receiver {
        Some(Value::Text(text)) => (text, false),
        Some(Value::Bytes(text)) => (text, true),
        _ => return call.fail("not a string"),
    };
    Ok(Value::Elements(Rc::new(Elements {
        of: of.clone(),
        method: call.name,
        of_bytes,
    })))
}

/// The part of the string between the arguments at these positions.
fn part(call: &Call, start: usize) -> Fallible<(&[u8], usize)> {
    let text = own(call);
    let bounds = bounds(call.args.get(start), call.args.get(start + 1), text.len());
    let (start, end) = bounds.map_err(|words| call.told(words))?;
    Ok((text.get(start..end).unwrap_or(b""), start))
}

fn count(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 3)?;
    let wanted: Vec<u8> = call.arg(0)?;
    let (mut rest, _) = part(call, 1)?;
    if wanted.is_empty() {
        return Ok(Value::len_of(chars(rest).count() + 1));
    }
    let mut count = 0;
    while let Some(at) = find(rest, &wanted) {
        count += 1;
        rest = &rest[at + wanted.len()..];
    }
    Ok(Value::len_of(count))
}

/// `find`, `index`, `rfind` and `rindex`
fn index(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 3)?;
    let wanted: Vec<u8> = call.arg(0)?;
    let (text, start) = part(call, 1)?;
    let found = if call.name.starts_with('r') {
        find_last(text, &wanted)
    } else {
        find(text, &wanted)
    };
    match found {
        Some(at) => Ok(Value::len_of(at + start)),
        None if call.name.ends_with("find") => Ok(Value::int(-1)),
        None => call.fail("substring not found"),
    }
}

fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    match wanted.len() {
        0 => Some(text.len()),
        len => match (std::str::from_utf8(text), std::str::from_utf8(wanted)) {
            (Ok(text), Ok(wanted)) => text.rfind(wanted),
            _ => text.windows(len).rposition(|window| window == wanted),
        },
    }
}

/// `isalnum`, `isalpha`, `isdigit` and `isspace`
fn is(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let fits = |c| match call.name {
        "isalnum" => unicode::is_letter(c) || unicode::is_digit(c),
        "isalpha" => unicode::is_letter(c),
        "isdigit" => unicode::is_digit(c),
        _ => unicode::is_space(c),
    };
    let text = own(call);
    Ok(Value::Bool(!text.is_empty() && chars(text).all(fits)))
}

/// `islower` and `isupper`
fn is_of_case(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let to = match call.name {
        "islower" => unicode::to_lower,
        _ => unicode::to_upper,
    };
    let text = own(call);
    let has_case = chars(text).any(unicode::is_cased);
    Ok(Value::Bool(has_case && chars(text).all(|c| to(c) == c)))
}

fn is_title(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let (mut is_cased, mut follows) = (false, false);
    for c in chars(own(call)) {
        let fits = match c {
            c if c.is_ascii_uppercase() || unicode::is_title(c) => !follows,
            c if c.is_lowercase() => follows,
            c if c.is_uppercase() => false,
            _ => {
                follows = false;
                continue;
            }
        };
        if !fits {
            return Ok(Value::Bool(false));
        }
        (is_cased, follows) = (true, true);
    }
    Ok(Value::Bool(is_cased))
}

fn join(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let iterable: Iterable = call.arg(0)?;
    let separator = own(call);
    let mut out = Vec::new();
    for (at, value) in iterable.elems()?.enumerate() {
        if at > 0 {
            out.extend_from_slice(separator);
        }
        let Some(text) = value.as_text() else {
            return call.fail(format!("in list, want string, got {}", value.type_name()));
        };
        memory::room(2 * (out.len() + text.len()))?;
        out.extend_from_slice(text);
    }
    Ok(Value::text(out))
}

fn partition(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let separator: Vec<u8> = call.arg(0)?;
    if separator.is_empty() {
        return call.fail("empty separator");
    }
    let text = own(call);
    let from_left = call.name == "partition";
    let found = if from_left {
        find(text, &separator)
    } else {
        find_last(text, &separator)
    };
    let parts: [&[u8]; 3] = match (found, from_left) {
        (Some(at), _) => [&text[..at], &separator, &text[at + separator.len()..]],
        (None, true) => [text, b"", b""],
        (None, false) => [b"", b"", text],
    };
    Ok(Value::tuple(parts.map(Value::text).to_vec()))
}

fn remove_affix(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let affix: Vec<u8> = call.arg(0)?;
    let text = own(call);
    let left = match call.name {
        "removeprefix" => text.strip_prefix(&affix[..]),
        _ => text.strip_suffix(&affix[..]),
    };
    Ok(Value::text(left.unwrap_or(text)))
}

fn replace(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(2, 3)?;
    let (old, new): (Vec<u8>, Vec<u8>) = (call.arg(0)?, call.arg(1)?);
    let most: i64 = call.optional(2)?.unwrap_or(-1);
    let mut most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = own(call);
    let mut out = Vec::with_capacity(rest.len());
    if old.is_empty() {
        // Before each character, and at the end.
        while most > 0 {
            memory::room(2 * out.len())?;
            out.extend_from_slice(&new);
            most -= 1;
            if rest.is_empty() {
                break;
            }
            let (_, width) = first_char(rest);
            out.extend_from_slice(&rest[..width]);
            rest = &rest[width..];
        }
    } else {
        while most > 0
            && let Some(at) = find(rest, &old)
        {
            memory::room(2 * (out.len() + new.len()))?;
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(&new);
            rest = &rest[at + old.len()..];
            most -= 1;
        }
    }
    out.extend_from_slice(rest);
    Ok(Value::text(out))
}

/// `startswith` and `endswith`
fn starts_or_ends(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 3)?;
    let (text, _) = part(call, 1)?;
    let fits = |affix: &[u8]| match call.name {
        "endswith" => text.ends_with(affix),
        _ => text.starts_with(affix),
    };
    match &call.args[0] {
        Value::Text(affix) => Ok(Value::Bool(fits(affix))),
        Value::Tuple(affixes) => {
            for (at, affix) in affixes.iter().enumerate() {
                let Some(text) = affix.as_text() else {
                    let other = affix.type_name();
                    return call.fail(format!("want string, got {other}, for element {at}"));
                };
                if fits(text) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        other => call.fail(format!(
            "got {}, want string or tuple of string",
            other.type_name()
        )),
    }
}

fn strip(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let cutset: Vec<u8> = call.optional(0)?.unwrap_or_default();
    let cutset: Vec<char> = chars(&cutset).collect();
    let is_cut = |c: char| {
        if cutset.is_empty() {
            unicode::is_space(c)
        } else {
            cutset.contains(&c)
        }
    };
    let mut text = own(call);
    if call.name != "rstrip" {
        while !text.is_empty() && is_cut(first_char(text).0) {
            text = &text[first_char(text).1..];
        }
    }
    if call.name != "lstrip" {
        while let Some((c, width)) = super::splits::last_char(text)
            && is_cut(c)
        {
            text = &text[..text.len() - width];
        }
    }
    Ok(Value::text(text))
}
