//! Functions over things with elements.

use crate::lang::{
    Call, Fallible, Operator, Thread, Value,
    args::{Callable, Iterable},
    compare,
    iterate::{Elems, collect, iterate},
    memory,
    value::{Range, size},
};

pub(super) fn any(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let iterable: Iterable = call.arg(0)?;
    Ok(Value::Bool(iterable.elems()?.any(|value| value.truth())))
}

pub(super) fn all(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let iterable: Iterable = call.arg(0)?;
    Ok(Value::Bool(iterable.elems()?.all(|value| value.truth())))
}

pub(super) fn len(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    match call.args[0].len() {
        Some(len) => Ok(Value::len_of(len)),
        None => {
            let other = call.args[0].type_name();
            call.fail(format!("value of type {other} has no len"))
        }
    }
}

pub(super) fn list(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let iterable: Option<Iterable> = call.optional(0)?;
    let items = iterable.map(|iterable| iterable.collect()).transpose()?;
    Ok(Value::list(items.unwrap_or_default()))
}

pub(super) fn tuple(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(0, 1)?;
    let iterable: Option<Iterable> = call.optional(0)?;
    let items = iterable.map(|iterable| iterable.collect()).transpose()?;
    Ok(Value::tuple(items.unwrap_or_default()))
}

pub(super) fn reversed(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 1)?;
    let iterable: Iterable = call.arg(0)?;
    let mut items = iterable.collect()?;
    items.reverse();
    Ok(Value::list(items))
}

pub(super) fn enumerate(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let iterable: Iterable = call.arg(0)?;
    let start: i64 = call.optional(1)?.unwrap_or(0);
    memory::room(size(8 * iterable.0.len().unwrap_or(0)))?;
    let items = iterable.collect()?;
    let pair = |(at, value)| Value::tuple(vec![Value::int(start.wrapping_add(at)), value]);
    Ok(Value::list((0..).zip(items).map(pair).collect()))
}

pub(super) fn zip(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    if !call.named.is_empty() {
        return Err("zip does not accept keyword arguments".into());
    }
    let mut columns: Vec<Elems> = Vec::new();
    for (at, value) in call.args.iter().enumerate() {
        let Some(elems) = iterate(value) else {
            let other = value.type_name();
            return call.fail(format!("argument #{} is not iterable: {other}", at + 1));
        };
        columns.push(elems);
    }
    let mut rows = Vec::new();
    while !columns.is_empty() {
        memory::room(size(rows.len()))?;
        let row: Option<Vec<Value>> = columns.iter_mut().map(Iterator::next).collect();
        match row {
            Some(row) => rows.push(Value::tuple(row)),
            None => break,
        }
    }
    Ok(Value::list(rows))
}

pub(super) fn range(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 3)?;
    let (first, second): (i64, Option<i64>) = (call.arg(0)?, call.optional(1)?);
    let step: i64 = call.optional(2)?.unwrap_or(1);
    let (start, stop) = match second {
        Some(stop) => (first, stop),
        None => (0, first),
    };
    if step == 0 {
        return call.fail("step argument must not be zero");
    }
    Ok(Value::Range(Range::new(start, stop, step).into()))
}

/// `max` and `min`
pub(super) fn extreme(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    if call.args.is_empty() {
        let name = call.name;
        return Err(format!("{name} requires at least one positional argument"));
    }
    let key: Option<Callable> = call.only_named(["key?"])?.optional(0)?;
    let operator = match call.name {
        "max" => Operator::Greater,
        _ => Operator::Less,
    };
    let iterable = match &call.args[..] {
        [one] => one.clone(),
        several => Value::tuple(several.to_vec()),
    };
    let Some(elems) = iterate(&iterable) else {
        let other = iterable.type_name();
        return call.fail(format!("{other} value is not iterable"));
    };
    let mut best: Option<(Value, Value)> = None;
    for value in elems {
        let own = match &key {
            Some(key) => thread.call(&key.0, vec![value.clone()], Vec::new())?,
            None => value.clone(),
        };
        let is_better = match &best {
            Some((_, best)) => {
                compare::compare(operator, &own, best).map_err(|words| call.told(words))?
            }
            None => true,
        };
        if is_better {
            best = Some((value, own));
        }
    }
    match best {
        Some((best, _)) => Ok(best),
        None => call.fail("argument is an empty sequence"),
    }
}

pub(super) fn sorted(thread: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name(["iterable", "key?", "reverse?"])?;
    let iterable: Iterable = taken.arg(0)?;
    let key: Option<Callable> = taken.optional(1)?;
    let is_reversed: bool = taken.optional(2)?.unwrap_or(false);
    let values = collect(&iterable.0, iterable.elems()?)?;
    let mut pairs = Vec::with_capacity(values.len());
    for value in values {
        let own = match &key {
            Some(key) => thread.call(&key.0, vec![value.clone()], Vec::new())?,
            None => value.clone(),
        };
        pairs.push((own, value));
    }
    // The original goes on after an error and reports the last; which one that is
    // depends on its algorithm. Up to 20 values are compared in the same order here.
    let mut failed = None;
    let mut less = |a: &Value, b: &Value| {
        let is_less = compare::compare(Operator::Less, a, b);
        is_less.unwrap_or_else(|words| {
            failed = Some(words);
            false
        })
    };
    let less = &mut |a: &(Value, Value), b: &(Value, Value)| {
        if is_reversed {
            less(&b.0, &a.0)
        } else {
            less(&a.0, &b.0)
        }
    };
    match pairs.len() {
        0..=20 => insertion_sort(&mut pairs, less),
        _ => pairs = merge_sorted(pairs, less),
    }
    match failed {
        Some(words) => Err(words),
        None => Ok(Value::list(
            pairs.into_iter().map(|(_, value)| value).collect(),
        )),
    }
}

/// Each value moves to the front as long as it is less than its neighbour.
fn insertion_sort<T>(items: &mut [T], less: &mut impl FnMut(&T, &T) -> bool) {
    for last in 1..items.len() {
        let mut at = last;
        while at > 0 && less(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// A stable sort that takes any answer of `less`; the library's own may panic if
/// the order makes no sense.
fn merge_sorted<T>(mut items: Vec<T>, less: &mut impl FnMut(&T, &T) -> bool) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let right = items.split_off(items.len() / 2);
    let left = merge_sorted(items, less);
    let right = merge_sorted(right, less);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(b, a) {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}
