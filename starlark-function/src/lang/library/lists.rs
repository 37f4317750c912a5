//! Methods of lists.

use std::rc::Rc;

use super::{EVER, Entry};
use crate::lang::{
    Call, Fallible, Thread, Value,
    args::Iterable,
    compare, index, memory,
    value::{List, size},
};

pub(super) const METHODS: &[Entry] = &[
    ("append", EVER, append),
    ("clear", EVER, clear),
    ("extend", EVER, extend),
    ("index", EVER, index),
    ("insert", EVER, insert),
    ("pop", EVER, pop),
    ("remove", EVER, remove),
];

fn own(call: &Call) -> Fallible<&Rc<List>> {
    match &call.receiver {
        Some(Value::List(list)) => Ok(list),
        _ => call.fail("not a list"),
    }
}

/// `Err` if the list cannot change.
fn mutable<'a>(call: &'a Call, verb: &str) -> Fallible<&'a Rc<List>> {
    let list = own(call)?;
    list.check_mutable(verb).map_err(|words| call.told(words))?;
    Ok(list)
}

fn append(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let list = mutable(call, "append to")?;
    list.edit(|items| items.push(call.args[0].clone()));
    Ok(Value::None)
}

fn clear(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    mutable(call, "clear")?.edit(Vec::clear);
    Ok(Value::None)
}

fn extend(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let iterable: Iterable = call.arg(0)?;
    let list = mutable(call, "extend")?;
    let added = iterable.collect()?;
    memory::room(size(list.len() + added.len()))?;
    list.edit(|items| items.extend(added));
    Ok(Value::None)
}

fn index(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 3)?;
    let list = own(call)?;
    let bounds = index::bounds(call.args.get(1), call.args.get(2), list.len());
    let (start, end) = bounds.map_err(|words| call.told(words))?;
    for at in start..end {
        let Some(item) = list.get(at) else { break };
        if compare::equal(&item, &call.args[0]).map_err(|words| call.told(words))? {
            return Ok(Value::len_of(at));
        }
    }
    call.fail("value not in list")
}

fn insert(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(2, 2)?;
    let at: i64 = call.arg(0)?;
    let list = mutable(call, "insert into")?;
    let len = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let at = if at < 0 { at.saturating_add(len) } else { at };
    let at = usize::try_from(at.clamp(0, len)).unwrap_or(0);
    list.edit(|items| items.insert(at, call.args[1].clone()));
    Ok(Value::None)
}

fn pop(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let list = own(call)?;
    let len = list.len();
    let signed_len = i64::try_from(len).unwrap_or(i64::MAX);
    let wanted: i64 = call.optional(0)?.unwrap_or(signed_len - 1);
    let at = if wanted < 0 {
        wanted.saturating_add(signed_len)
    } else {
        wanted
    };
    let Some(at) = usize::try_from(at).ok().filter(|at| *at < len) else {
        let receiver = Value::List(list.clone());
        return call.fail(index::out_of_range(&receiver, wanted, len));
    };
    let list = mutable(call, "pop from")?;
    Ok(list.edit(|items| items.remove(at)))
}

fn remove(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let list = mutable(call, "remove from")?;
    for at in 0..list.len() {
        let Some(item) = list.get(at) else { break };
        if compare::equal(&item, &call.args[0]).map_err(|words| call.told(words))? {
            list.edit(|items| items.remove(at));
            return Ok(Value::None);
        }
    }
    call.fail("element not found")
}
