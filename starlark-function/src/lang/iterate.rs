//! Going through the elements of a value. While that goes on, the value cannot
//! change.

use std::rc::Rc;

use super::{
    Fallible, Int, Value, memory,
    table::Table,
    value::{Elements, List, Range, Tuple, size},
};

#[derive(Debug)]
enum Source {
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Table(Rc<Table>),
    Range(Rc<Range>),
    Elements(Rc<Elements>),
}

#[derive(Debug)]
pub(crate) struct Elems {
    source: Source,
    at: usize,
}

/// The elements of a value, if it has some.
pub(crate) fn iterate(value: &Value) -> Option<Elems> {
    let source = match value {
        Value::List(list) => {
            list.iterations.set(list.iterations.get() + 1);
            Source::List(list.clone())
        }
        Value::Tuple(items) => Source::Tuple(items.clone()),
        Value::Dict(table) | Value::Set(table) => {
            table.begin_iteration();
            Source::Table(table.clone())
        }
        Value::Range(range) => Source::Range(range.clone()),
        Value::Elements(elements) => Source::Elements(elements.clone()),
        _ => return None,
    };
    Some(Elems { source, at: 0 })
}

impl Drop for Elems {
    fn drop(&mut self) {
        match &self.source {
            Source::List(list) => list.iterations.set(list.iterations.get() - 1),
            Source::Table(table) => table.end_iteration(),
            _ => {}
        }
    }
}

impl Iterator for Elems {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let (value, width) = match &self.source {
            Source::List(list) => (list.get(self.at)?, 1),
            Source::Tuple(items) => (items.get(self.at)?.clone(), 1),
            Source::Table(table) => (table.at(self.at)?.0, 1),
            Source::Range(range) => {
                let at = i64::try_from(self.at).ok().filter(|at| *at < range.len)?;
                (Value::Int(Int::from(range.get(at))), 1)
            }
            Source::Elements(elements) => elements.at(self.at)?,
        };
        self.at += width;
        Some(value)
    }
}

/// All elements of a value.
pub(crate) fn collect(value: &Value, elems: Elems) -> Fallible<Vec<Value>> {
    let known = value.len().unwrap_or(0);
    memory::room(size(known))?;
    let mut items = Vec::with_capacity(known);
    for (at, item) in elems.enumerate() {
        if at % 1024 == 0 {
            memory::room(size(items.len()))?;
        }
        items.push(item);
    }
    Ok(items)
}
