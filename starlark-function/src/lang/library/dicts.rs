//! Methods of dictionaries.

use std::rc::Rc;

use super::{EVER, Entry};
use crate::lang::{Call, Fallible, Thread, Value, iterate::iterate, memory, show, table::Table};

pub(super) const METHODS: &[Entry] = &[
    ("clear", EVER, clear),
    ("get", EVER, get),
    ("items", EVER, items),
    ("keys", EVER, keys),
    ("pop", EVER, pop),
    ("popitem", EVER, popitem),
    ("setdefault", EVER, setdefault),
    ("update", EVER, update),
    ("values", EVER, values),
];

fn own(call: &Call) -> Fallible<&Rc<Table>> {
    match &call.receiver {
        Some(Value::Dict(table)) => Ok(table),
        _ => call.fail("not a dict"),
    }
}

fn clear(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    own(call)?.clear()?;
    Ok(Value::None)
}

fn get(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let found = own(call)?
        .get(&call.args[0])
        .map_err(|words| call.told(words))?;
    Ok(found
        .or_else(|| call.args.get(1).cloned())
        .unwrap_or(Value::None))
}

fn items(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let items = own(call)?.items();
    memory::room(items.len() * 128)?;
    let pair = |(key, value)| Value::tuple(vec![key, value]);
    Ok(Value::list(items.into_iter().map(pair).collect()))
}

fn keys(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    Ok(Value::list(own(call)?.keys()))
}

fn values(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let items = own(call)?.items();
    Ok(Value::list(
        items.into_iter().map(|(_, value)| value).collect(),
    ))
}

fn pop(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let removed = own(call)?
        .remove(&call.args[0])
        .map_err(|words| call.told(words))?;
    match removed.or_else(|| call.args.get(1).cloned()) {
        Some(value) => Ok(value),
        None => call.fail("missing key"),
    }
}

fn popitem(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 0)?;
    let table = own(call)?;
    let Some(key) = table.first() else {
        return call.fail("empty dict");
    };
    let value = table.remove(&key).map_err(|words| call.told(words))?;
    Ok(Value::tuple(vec![key, value.unwrap_or(Value::None)]))
}

fn setdefault(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let (table, key) = (own(call)?, &call.args[0]);
    if let Some(found) = table.get(key).map_err(|words| call.told(words))? {
        return Ok(found);
    }
    let default = call.args.get(1).cloned().unwrap_or(Value::None);
    table
        .insert(key.clone(), default.clone())
        .map_err(|words| call.told(words))?;
    Ok(default)
}

fn update(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    if call.args.len() > 1 {
        let got = call.args.len();
        return call.fail(format!("got {got} arguments, want at most 1"));
    }
    update_from(own(call)?, call)?;
    Ok(Value::None)
}

/// Takes over the entries of the argument, and those that are given by name.
pub(super) fn update_from(table: &Table, call: &Call) -> Fallible<()> {
    let told = |words: String| call.told(words);
    match call.args.first() {
        None => {}
        Some(Value::Dict(other)) => {
            for (key, value) in other.items() {
                table.insert(key, value).map_err(told)?;
            }
        }
        Some(other) => {
            let Some(elems) = iterate(other) else {
                return call.fail(format!("got {}, want iterable", other.type_name()));
            };
            for (at, pair) in elems.enumerate() {
                memory::check()?;
                let element = format!("dictionary update sequence element #{at}");
                let kind = pair.type_name();
                let Some(mut values) = iterate(&pair) else {
                    return call.fail(format!("{element} is not iterable ({kind})"));
                };
                match (pair.len(), values.next(), values.next()) {
                    (None, ..) => {
                        return call.fail(format!("{element} has unknown length ({kind})"));
                    }
                    (Some(2), Some(key), Some(value)) => {
                        table.insert(key, value).map_err(told)?;
                    }
                    (Some(len), ..) => {
                        return call.fail(format!("{element} has length {len}, want 2"));
                    }
                }
            }
        }
    }
    let mut seen: Vec<&Value> = Vec::new();
    for (key, value) in &call.named {
        table.insert(key.clone(), value.clone()).map_err(told)?;
        let is_repeated = seen.iter().any(|other| other.as_text() == key.as_text());
        if is_repeated {
            return call.fail(format!("duplicate keyword arg: {}", show::repr(key)?));
        }
        seen.push(key);
    }
    Ok(())
}
