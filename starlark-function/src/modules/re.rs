//! `re.star`: patterns in text.

use std::{any::Any, rc::Rc};

use regex::bytes::Regex;

use super::{function, pattern::compile};
use crate::lang::{Builtin, Call, Fallible, Int, Object, Thread, Value, args::Named, memory};

pub(super) fn members() -> super::Members {
    vec![
        function("compile", compiled),
        function("search", |_, call| {
            let taken = call.by_name(["pattern", "string", "flags?"])?;
            let (regex, text) = both(&taken, 1)?;
            checked(&taken, 2)?;
            Ok(search(&regex?, &text))
        }),
        function("match", |_, call| {
            let taken = call.by_name(["pattern", "string", "flags?"])?;
            let (regex, text) = both(&taken, 1)?;
            checked(&taken, 2)?;
            matches(&regex?, &text)
        }),
        function("split", |_, call| {
            let taken = call.by_name(["pattern", "string", "maxsplit?", "flags"])?;
            let (regex, text) = both(&taken, 1)?;
            let most: Option<Int> = taken.optional(2)?;
            checked(&taken, 3)?;
            split(&regex?, &text, most)
        }),
        function("findall", |_, call| {
            let taken = call.by_name(["pattern", "string", "flags?"])?;
            let (regex, text) = both(&taken, 1)?;
            checked(&taken, 2)?;
            find_all(&regex?, &text)
        }),
        function("sub", |_, call| {
            let taken = call.by_name(["pattern", "repl", "string", "count?", "flags"])?;
            let pattern: String = taken.arg(0)?;
            let (new, text): (Vec<u8>, Vec<u8>) = (taken.arg(1)?, taken.arg(2)?);
            checked(&taken, 3)?;
            checked(&taken, 4)?;
            // The original swallows errors of the pattern here.
            match compile(&pattern) {
                Ok(regex) => replace(&regex, &text, &new),
                Err(_) => Ok(Value::None),
            }
        }),
    ]
}

/// Numbers that are taken but count for nothing.
fn checked<const N: usize>(taken: &Named<N>, at: usize) -> Fallible<()> {
    taken.optional::<Int>(at).map(drop)
}

/// Pattern and text; a wrong pattern is reported after wrong arguments.
fn both<const N: usize>(taken: &Named<N>, at: usize) -> Fallible<(Fallible<Regex>, Vec<u8>)> {
    let pattern: String = taken.arg(0)?;
    Ok((compile(&pattern), taken.arg(at)?))
}

fn compiled(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name(["pattern", "flags?"])?;
    let pattern: String = taken.arg(0)?;
    checked(&taken, 1)?;
    let regex = compile(&pattern)?;
    Ok(Value::object(Compiled { regex, pattern }))
}

fn search(regex: &Regex, text: &[u8]) -> Value {
    match regex.find(text) {
        Some(found) => Value::list(vec![
            Value::len_of(found.start()),
            Value::len_of(found.end()),
        ]),
        None => Value::None,
    }
}

fn matches(regex: &Regex, text: &[u8]) -> Fallible<Value> {
    let mut all = Vec::new();
    for captures in regex.captures_iter(text) {
        memory::room(all.len() * 64)?;
        let groups = captures.iter().map(|group| match group {
            Some(group) => Value::text(group.as_bytes()),
            None => Value::text(""),
        });
        all.push(Value::tuple(groups.collect()));
    }
    Ok(Value::list(all))
}

fn find_all(regex: &Regex, text: &[u8]) -> Fallible<Value> {
    let mut all = Vec::new();
    for found in regex.find_iter(text) {
        memory::room(all.len() * 64)?;
        all.push(Value::text(found.as_bytes()));
    }
    Ok(Value::tuple(all))
}

fn split(regex: &Regex, text: &[u8], most: Option<Int>) -> Fallible<Value> {
    let most = most.and_then(|most| most.small()).unwrap_or(0);
    let most = usize::try_from(most).ok().filter(|most| *most > 0);
    if !regex.as_str().is_empty() && text.is_empty() {
        return Ok(Value::tuple(vec![Value::text("")]));
    }
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in regex.find_iter(text).take(most.unwrap_or(usize::MAX)) {
        memory::room(parts.len() * 64)?;
        if most.is_some_and(|most| parts.len() == most - 1) {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(Value::text(&text[begin..end]));
        }
        begin = found.end();
    }
    if end != text.len() {
        parts.push(Value::text(&text[begin..]));
    }
    Ok(Value::tuple(parts))
}

fn replace(regex: &Regex, text: &[u8], new: &[u8]) -> Fallible<Value> {
    let mut out = Vec::new();
    let mut last = 0;
    for captures in regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        out.extend_from_slice(&text[last..whole.start()]);
        captures.expand(new, &mut out);
        last = whole.end();
        memory::room(out.len() * 2)?;
    }
    out.extend_from_slice(&text[last..]);
    Ok(Value::text(out))
}

/// A pattern that is compiled once.
#[derive(Debug)]
struct Compiled {
    regex: Regex,
    pattern: String,
}

fn own(call: &Call) -> Fallible<&Regex> {
    let compiled = call.receiver.as_ref().and_then(Value::downcast::<Compiled>);
    compiled
        .map(|compiled| &compiled.regex)
        .ok_or_else(|| call.told("not a pattern"))
}

impl Object for Compiled {
    fn type_name(&self) -> &'static str {
        "regexp"
    }

    fn show(&self) -> String {
        self.pattern.clone()
    }

    fn truth(&self) -> bool {
        !self.pattern.is_empty()
    }

    fn key(&self) -> Option<String> {
        Some(self.pattern.clone())
    }

    fn field(&self, name: &str, own_value: &Value) -> Fallible<Option<Value>> {
        type Run = fn(&mut Thread<'_>, &Call) -> Fallible<Value>;
        let (name, run): (&'static str, Run) = match name {
            "search" => ("search", |_, call| {
                let taken = call.by_name(["string", "flags?"])?;
                let text: Vec<u8> = taken.arg(0)?;
                checked(&taken, 1)?;
                Ok(search(own(call)?, &text))
            }),
            "match" => ("match", |_, call| {
                let taken = call.by_name(["string", "flags?"])?;
                let text: Vec<u8> = taken.arg(0)?;
                checked(&taken, 1)?;
                matches(own(call)?, &text)
            }),
            "findall" => ("findall", |_, call| {
                let taken = call.by_name(["string", "flags?"])?;
                let text: Vec<u8> = taken.arg(0)?;
                checked(&taken, 1)?;
                find_all(own(call)?, &text)
            }),
            "split" => ("split", |_, call| {
                let taken = call.by_name(["string", "maxsplit?", "flags"])?;
                let text: Vec<u8> = taken.arg(0)?;
                let most: Option<Int> = taken.optional(1)?;
                checked(&taken, 2)?;
                split(own(call)?, &text, most)
            }),
            "sub" => ("sub", |_, call| {
                let taken = call.by_name(["repl", "string", "count?", "flags"])?;
                let (new, text): (Vec<u8>, Vec<u8>) = (taken.arg(0)?, taken.arg(1)?);
                checked(&taken, 2)?;
                checked(&taken, 3)?;
                replace(own(call)?, &text, &new)
            }),
            _ => return Ok(None),
        };
        let receiver = Some(own_value.clone());
        Ok(Some(Value::Builtin(Rc::new(Builtin {
            name,
            receiver,
            run,
        }))))
    }

    fn fields(&self) -> Vec<&'static str> {
        vec!["findall", "match", "search", "split", "sub"]
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
