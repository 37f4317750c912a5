//! Equality, order and hashes.

use std::{
    cmp::Ordering,
    hash::{Hash as _, Hasher},
    rc::Rc,
};

use super::{Fallible, Operator, Value, table::Table};

/// How deep values are compared.
const DEEPEST: usize = 10;

pub(super) fn equal(a: &Value, b: &Value) -> Fallible<bool> {
    compare(Operator::Equal, a, b)
}

/// Compares two values with one of the comparing operators.
pub(super) fn compare(operator: Operator, a: &Value, b: &Value) -> Fallible<bool> {
    compare_to(operator, a, b, DEEPEST)
}

fn holds(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn compare_to(operator: Operator, a: &Value, b: &Value, depth: usize) -> Fallible<bool> {
    if depth == 0 {
        return Err("comparison exceeded maximum recursion depth".into());
    }
    let order = match (a, b) {
        (Value::None, Value::None) => return identity(operator, a, b, true),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => floats(*a, *b),
        (Value::Int(a), Value::Float(b)) => a.compare_float(*b),
        (Value::Float(a), Value::Int(b)) => b.compare_float(*a).reverse(),
        (Value::Text(a), Value::Text(b)) | (Value::Bytes(a), Value::Bytes(b)) => a[..].cmp(&b[..]),
        (Value::List(one), Value::List(other)) => {
            let (one, other) = (one.items.borrow(), other.items.borrow());
            return sequences(operator, &one, &other, depth);
        }
        (Value::Tuple(one), Value::Tuple(other)) => {
            return sequences(operator, one, other, depth);
        }
        (Value::Dict(one), Value::Dict(other)) if operator.is_equality() => {
            return Ok(dicts(one, other, depth)? == (operator == Operator::Equal));
        }
        (Value::Set(one), Value::Set(other)) => return sets(operator, one, other, a, b),
        (Value::Range(one), Value::Range(other)) if operator.is_equality() => {
            let same = one.len == other.len
                && (one.len == 0
                    || one.start == other.start && (one.len == 1 || one.step == other.step));
            return Ok(same == (operator == Operator::Equal));
        }
        (Value::Struct(one), Value::Struct(other)) if operator.is_equality() => {
            let mut same = one.len() == other.len();
            for ((a_name, a), (b_name, b)) in one.iter().zip(other.iter()) {
                same = same && a_name == b_name && compare_to(Operator::Equal, a, b, depth - 1)?;
            }
            return Ok(same == (operator == Operator::Equal));
        }
        (Value::Object(one), Value::Object(other)) if one.type_name() == other.type_name() => {
            match one.order(b) {
                Some(order) => order,
                None => return identity(operator, a, b, Rc::ptr_eq(one, other)),
            }
        }
        (Value::Function(one), Value::Function(other)) => {
            return identity(operator, a, b, Rc::ptr_eq(one, other));
        }
        (Value::Builtin(one), Value::Builtin(other)) => {
            return identity(operator, a, b, Rc::ptr_eq(one, other));
        }
        (Value::Module(one), Value::Module(other)) => {
            return identity(operator, a, b, Rc::ptr_eq(one, other));
        }
        (Value::Elements(one), Value::Elements(other)) => {
            let same = one.of[..] == other.of[..] && one.method == other.method;
            return identity(operator, a, b, same);
        }
        _ => return identity(operator, a, b, false),
    };
    Ok(holds(operator, order))
}

fn refused<T>(operator: Operator, a: &Value, b: &Value) -> Fallible<T> {
    Err(format!(
        "{} {} {} not implemented",
        a.type_name(),
        operator.text(),
        b.type_name()
    ))
}

/// For values that are only equal to themselves.
fn identity(operator: Operator, a: &Value, b: &Value, same: bool) -> Fallible<bool> {
    match operator {
        Operator::Equal => Ok(same),
        Operator::NotEqual => Ok(!same),
        _ => refused(operator, a, b),
    }
}

/// Not-a-number is above all others, and equal to itself.
fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn sequences(operator: Operator, a: &[Value], b: &[Value], depth: usize) -> Fallible<bool> {
    if operator.is_equality() && a.len() != b.len() {
        return Ok(operator == Operator::NotEqual);
    }
    for (a, b) in a.iter().zip(b) {
        if compare_to(Operator::Equal, a, b, depth - 1)? {
            continue;
        }
        return match operator {
            Operator::Equal => Ok(false),
            Operator::NotEqual => Ok(true),
            _ => compare_to(operator, a, b, depth - 1),
        };
    }
    Ok(holds(operator, a.len().cmp(&b.len())))
}

fn dicts(a: &Table, b: &Table, depth: usize) -> Fallible<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (key, value) in a.items() {
        let other = b.get(&key).ok().flatten();
        match other {
            Some(other) if compare_to(Operator::Equal, &value, &other, depth - 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn sets(operator: Operator, one: &Table, other: &Table, a: &Value, b: &Value) -> Fallible<bool> {
    let contains =
        |set: &Table, part: &Table| part.keys().iter().all(|key| set.has(key) == Ok(true));
    let (len, other_len) = (one.len(), other.len());
    Ok(match operator {
        Operator::Equal => len == other_len && contains(other, one),
        Operator::NotEqual => !(len == other_len && contains(other, one)),
        Operator::GreaterOrEqual => len >= other_len && contains(one, other),
        Operator::LessOrEqual => len <= other_len && contains(other, one),
        Operator::Greater => len > other_len && contains(one, other),
        Operator::Less => len < other_len && contains(other, one),
        _ => return refused(operator, a, b),
    })
}

/// `Err` if a value cannot be a key.
pub(super) fn check_hashable(value: &Value) -> Fallible<()> {
    match value {
        Value::List(_) | Value::Dict(_) | Value::Set(_) => {
            Err(format!("unhashable type: {}", value.type_name()))
        }
        Value::Range(_) | Value::Elements(_) | Value::Module(_) => {
            Err(format!("unhashable: {}", value.type_name()))
        }
        Value::Tuple(items) => {
            super::memory::check_depth()?;
            items.iter().try_for_each(check_hashable)
        }
        Value::Struct(fields) => fields
            .iter()
            .try_for_each(|(_, value)| check_hashable(value)),
        Value::Object(object) if object.key().is_none() => {
            Err(format!("unhashable: {}", value.type_name()))
        }
        _ => Ok(()),
    }
}

/// The hash of a value: the same for values that are equal.
pub(super) fn hash(value: &Value, state: &mut impl Hasher) {
    match value {
        Value::None => 0_u8.hash(state),
        Value::Bool(is) => is.hash(state),
        Value::Int(number) => match number.small() {
            Some(number) => number.hash(state),
            None => number.float().to_bits().hash(state),
        },
        Value::Float(number) => match super::Int::truncated(*number) {
            Some(whole) => hash(&Value::Int(whole), state),
            None => number.to_bits().hash(state),
        },
        Value::Text(text) | Value::Bytes(text) => text[..].hash(state),
        Value::Tuple(items) => items.iter().for_each(|item| hash(item, state)),
        Value::Struct(fields) => fields.iter().for_each(|(_, value)| hash(value, state)),
        Value::Object(object) => object.key().hash(state),
        Value::Function(function) => Rc::as_ptr(function).hash(state),
        Value::Builtin(builtin) => builtin.name.hash(state),
        _ => {}
    }
}
