//! What is part of the language: functions that every program can name, and the
//! methods of its values.

mod builtins;
mod dicts;
pub(super) mod format;
mod lists;
mod numbers;
mod sequences;
mod sets;
mod splits;
mod strings;
mod texts;

use super::{Call, Dialect, Fallible, Thread, Value, dialect::Edition};

type Run = fn(&mut Thread<'_>, &Call) -> Fallible<Value>;

/// A function or method, and the first edition that has it.
type Entry = (&'static str, Edition, Run);

/// Since the first edition.
const EVER: Edition = Edition::March2020;

/// A function or constant of the language.
pub(super) fn global(name: &str, dialect: Dialect) -> Option<Value> {
    match name {
        "None" => return Some(Value::None),
        "True" => return Some(Value::Bool(true)),
        "False" => return Some(Value::Bool(false)),
        _ => {}
    }
    let (name, run) = find(builtins::GLOBALS, name, dialect)?;
    Some(Value::builtin(name, run))
}

fn find(table: &[Entry], name: &str, dialect: Dialect) -> Option<(&'static str, Run)> {
    let entry = table
        .iter()
        .find(|(own, since, _)| *own == name && dialect.edition >= *since);
    entry.map(|(name, _, run)| (*name, *run))
}

fn methods_of(value: &Value) -> &'static [Entry] {
    match value {
        Value::Text(_) => strings::METHODS,
        Value::Bytes(_) => strings::BYTES_METHODS,
        Value::List(_) => lists::METHODS,
        Value::Dict(_) => dicts::METHODS,
        Value::Set(_) => sets::METHODS,
        _ => &[],
    }
}

pub(super) fn method(value: &Value, name: &str, dialect: Dialect) -> Option<(&'static str, Run)> {
    find(methods_of(value), name, dialect)
}

pub(super) fn methods(value: &Value, dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let known = methods_of(value).iter();
    let known = known.filter(move |(_, since, _)| dialect.edition >= *since);
    known.map(|(name, ..)| *name)
}
