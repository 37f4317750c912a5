//! Functions that every program can name.

use super::{EVER, Entry, numbers, sequences, texts};
use crate::lang::{Call, Fallible, Thread, Value, dialect::Edition, show, table::Table};

pub(super) const GLOBALS: &[Entry] = &[
    ("abs", Edition::April2021, numbers::abs),
    ("any", EVER, sequences::any),
    ("all", EVER, sequences::all),
    ("bool", EVER, bool),
    ("bytes", Edition::April2021, texts::bytes),
    ("chr", EVER, texts::chr),
    ("dict", EVER, dict),
    ("dir", EVER, dir),
    ("enumerate", EVER, sequences::enumerate),
    ("fail", EVER, fail),
    ("float", EVER, numbers::float),
    ("getattr", EVER, getattr),
    ("hasattr", EVER, hasattr),
    ("hash", EVER, texts::hash),
    ("int", EVER, numbers::int),
    ("len", EVER, sequences::len),
    ("list", EVER, sequences::list),
    ("max", EVER, sequences::extreme),
    ("min", EVER, sequences::extreme),
    ("ord", EVER, texts::ord),
    ("print", EVER, print),
    ("range", EVER, sequences::range),
    ("repr", EVER, repr),
    ("reversed", EVER, sequences::reversed),
    ("set", EVER, set),
    ("sorted", EVER, sequences::sorted),
    ("str", EVER, texts::str),
    ("tuple", EVER, sequences::tuple),
    ("type", EVER, type_name),
    ("zip", EVER, sequences::zip),
];

/// `Err` unless there is exactly one argument, in the words of the older
/// functions.
pub(super) fn only<'a>(call: &'a Call, wanted: &str) -> Fallible<&'a Value> {
    let name = call.name;
    if !call.named.is_empty() {
        return Err(format!("{name} does not accept keyword arguments"));
    }
    match &call.args[..] {
        [one] => Ok(one),
        args => Err(format!(
            "{name}: got {} arguments, want {wanted}",
            args.len()
        )),
    }
}

fn bool(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    Ok(Value::Bool(call.args.first().is_some_and(Value::truth)))
}

fn dict(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    if call.args.len() > 1 {
        let got = call.args.len();
        return call.fail(format!("got {got} arguments, want at most 1"));
    }
    let table = Table::default();
    super::dicts::update_from(&table, call)?;
    Ok(Value::Dict(table.into()))
}

fn dir(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let value = only(call, "1")?;
    let names = thread.fields(value);
    Ok(Value::list(names.iter().map(Value::text).collect()))
}

/// What `print` and `fail` say of their arguments.
fn joined(call: &Call) -> Fallible<Vec<u8>> {
    let separator: Option<Vec<u8>> = call.only_named(["sep?"])?.optional(0)?;
    let separator = separator.unwrap_or_else(|| b" ".to_vec());
    let mut text = Vec::new();
    for (at, value) in call.args.iter().enumerate() {
        if at > 0 {
            text.extend_from_slice(&separator);
        }
        match value {
            Value::Bytes(bytes) if call.name == "print" => text.extend_from_slice(bytes),
            value => show::text(value, &mut text)?,
        }
    }
    Ok(text)
}

fn fail(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let text = joined(call)?;
    call.fail(String::from_utf8_lossy(&text))
}

fn print(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let text = joined(call)?;
    eprintln!("{}", String::from_utf8_lossy(&text));
    Ok(Value::None)
}

fn getattr(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(2, 3)?;
    let (object, name): (Value, String) = (call.arg(0)?, call.arg(1)?);
    let default = call.args.get(2).cloned();
    match (thread.find_field(&object, &name), default) {
        (Ok(Some(found)), _) => Ok(found),
        (_, Some(default)) => Ok(default),
        (Err(words), None) => call.fail(words),
        (Ok(None), None) => match &object {
            Value::Struct(_) => call.fail(format!("struct has no .{name} attribute")),
            _ => call.fail(format!(
                "{} has no .{name} field or method",
                object.type_name()
            )),
        },
    }
}

fn hasattr(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(2, 2)?;
    let (object, name): (Value, String) = (call.arg(0)?, call.arg(1)?);
    let has = match thread.find_field(&object, &name) {
        Ok(found) => found.is_some(),
        Err(_) => thread.fields(&object).contains(&name),
    };
    Ok(Value::Bool(has))
}

fn repr(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    show::repr(&call.args[0]).map(Value::text)
}

fn set(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let table = Table::default();
    if let Some(iterable) = call.optional::<crate::lang::args::Iterable>(0)? {
        for value in iterable.elems()? {
            crate::lang::memory::check()?;
            table
                .insert(value, Value::None)
                .map_err(|words| call.told(words))?;
        }
    }
    Ok(Value::Set(table.into()))
}

fn type_name(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    only(call, "exactly 1").map(|value| Value::text(value.type_name()))
}
