//! Methods of sets.

use std::rc::Rc;

use super::{EVER, Entry};
use crate::lang::{
    Call, Fallible, Thread, Value, args::Iterable, dialect::Edition, iterate::iterate, memory,
    table::Table,
};

const LATE: Edition = Edition::April2025;

pub(super) const METHODS: &[Entry] = &[
    ("add", LATE, add),
    ("clear", LATE, clear),
    ("difference", LATE, difference),
    ("discard", LATE, discard),
    ("intersection", LATE, intersection),
    ("issubset", LATE, issubset),
    ("issuperset", LATE, issuperset),
    ("pop", LATE, pop),
    ("remove", LATE, remove),
    ("symmetric_difference", LATE, symmetric_difference),
    ("union", EVER, union),
    ("update", LATE, update),
];

fn own(call: &Call) -> Fallible<&Rc<Table>> {
    match &call.receiver {
        Some(Value::Set(table)) => Ok(table),
        _ => call.fail("not a set"),
    }
}

/// The elements of the one argument.
fn others(call: &Call) -> Fallible<Vec<Value>> {
    call.positional(0, 1)?;
    match call.optional::<Iterable>(0)? {
        Some(iterable) => iterable.collect(),
        // The original breaks here.
        None => Err("runtime error: invalid memory address or nil pointer dereference".into()),
    }
}

fn add(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let inserted = own(call)?.insert(call.args[0].clone(), Value::None);
    inserted
        .map(|_| Value::None)
        .map_err(|words| call.told(words))
}

fn clear(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let table = own(call)?;
    if table.len() > 0 {
        table.clear().map_err(|words| call.told(words))?;
    }
    Ok(Value::None)
}

fn discard(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let removed = own(call)?.remove(&call.args[0]);
    removed
        .map(|_| Value::None)
        .map_err(|words| call.told(words))
}

fn remove(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    match own(call)?.remove(&call.args[0]) {
        Ok(Some(_)) => Ok(Value::None),
        Ok(None) => call.fail("missing key"),
        Err(words) => call.fail(words),
    }
}

fn pop(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let table = own(call)?;
    let Some(key) = table.first() else {
        return call.fail("empty set");
    };
    table.remove(&key).map_err(|words| call.told(words))?;
    Ok(key)
}

fn difference(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let others = others(call)?;
    let left = own(call)?.copy();
    for key in others {
        left.remove(&key).map_err(|words| call.told(words))?;
    }
    Ok(Value::Set(left.into()))
}

fn intersection(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let others = others(call)?;
    let table = own(call)?;
    let both = Table::default();
    for key in others {
        if table.has(&key).map_err(|words| call.told(words))? {
            both.insert(key, Value::None)?;
        }
    }
    Ok(Value::Set(both.into()))
}

fn symmetric_difference(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let others = others(call)?;
    let either = own(call)?.copy();
    for key in others {
        let removed = either.remove(&key).map_err(|words| call.told(words))?;
        if removed.is_none() {
            either.insert(key, Value::None)?;
        }
    }
    Ok(Value::Set(either.into()))
}

fn issubset(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let others = others(call)?;
    let table = own(call)?;
    let found = Table::default();
    for key in others {
        if table.has(&key).map_err(|words| call.told(words))? {
            found.insert(key, Value::None)?;
        }
    }
    Ok(Value::Bool(found.len() == table.len()))
}

fn issuperset(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let others = others(call)?;
    let table = own(call)?;
    for key in others {
        if !table.has(&key).map_err(|words| call.told(words))? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn union(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let union = own(call)?.copy();
    if thread.dialect.edition >= LATE {
        insert_all(&union, call)?
    } else {
        for key in others(call)? {
            union
                .insert(key, Value::None)
                .map_err(|words| call.told(words))?;
        }
    }
    Ok(Value::Set(union.into()))
}

fn update(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    insert_all(own(call)?, call)?;
    Ok(Value::None)
}

fn insert_all(table: &Table, call: &Call) -> Fallible<()> {
    if !call.named.is_empty() {
        return call.fail("does not accept keyword arguments");
    }
    for (at, arg) in call.args.iter().enumerate() {
        let Some(elems) = iterate(arg) else {
            let other = arg.type_name();
            return call.fail(format!("argument #{} is not iterable: {other}", at + 1));
        };
        for key in elems {
            memory::check()?;
            table
                .insert(key, Value::None)
                .map_err(|words| call.told(words))?;
        }
    }
    Ok(())
}
