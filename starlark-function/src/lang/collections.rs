//! Operators of texts, lists, tuples, dicts and sets.

use super::{
    Fallible, Int, Thread, Value, compare, dialect::Edition, memory, operators::Operator,
    table::Table, value::size,
};

pub(super) fn operate(
    thread: &Thread<'_>,
    operator: Operator,
    a: &Value,
    b: &Value,
) -> Fallible<Option<Value>> {
    let has_unions = thread.dialect.edition >= Edition::March2023;
    let has_set_operators = thread.dialect.edition >= Edition::April2025;
    Ok(Some(match (operator, a, b) {
        (Operator::Add, Value::Text(a), Value::Text(b)) => {
            memory::room(a.len() + b.len())?;
            Value::text([&a[..], b].concat())
        }
        (Operator::Add, Value::List(a), Value::List(b)) => {
            memory::room(size(a.len() + b.len()))?;
            let joined = [&a.items.borrow()[..], &b.items.borrow()[..]].concat();
            Value::list(joined)
        }
        (Operator::Add, Value::Tuple(a), Value::Tuple(b)) => {
            memory::room(size(a.len() + b.len()))?;
            Value::tuple([&a[..], b].concat())
        }
        (Operator::Add, Value::Struct(a), Value::Struct(b)) => {
            let mut fields: Vec<_> = b.to_vec();
            let own = a
                .iter()
                .filter(|(name, _)| !b.iter().any(|(other, _)| other == name));
            fields.extend(own.cloned());
            Value::structure(fields)
        }
        (Operator::Multiply, Value::Int(count), sequence)
        | (Operator::Multiply, sequence, Value::Int(count)) => {
            return repeated(sequence, count);
        }
        (Operator::Or, Value::Dict(a), Value::Dict(b)) if has_unions => {
            let union = a.copy();
            for (key, value) in b.items() {
                union.insert(key, value)?;
            }
            Value::Dict(union.into())
        }
        (Operator::Or, Value::Set(a), Value::Set(b)) => {
            let union = a.copy();
            for key in b.keys() {
                union.insert(key, Value::None)?;
            }
            Value::Set(union.into())
        }
        (Operator::And, Value::Set(a), Value::Set(b)) => {
            // Older versions go through the smaller set, newer ones through the second.
            let (through, other) = if has_set_operators || a.len() > b.len() {
                (b, a)
            } else {
                (a, b)
            };
            let both = Table::default();
            for key in through.keys() {
                if other.has(&key)? {
                    both.insert(key, Value::None)?;
                }
            }
            Value::Set(both.into())
        }
        (Operator::Xor, Value::Set(a), Value::Set(b)) => {
            let either = a.copy();
            for key in b.keys() {
                if either.remove(&key)?.is_none() {
                    either.insert(key, Value::None)?;
                }
            }
            Value::Set(either.into())
        }
        (Operator::Subtract, Value::Set(a), Value::Set(b)) if has_set_operators => {
            let left = a.copy();
            for key in b.keys() {
                left.remove(&key)?;
            }
            Value::Set(left.into())
        }
        _ => return Ok(None),
    }))
}

/// Elements that the original makes at most in one go.
const MOST_REPEATED: u128 = 1 << 30;

fn repeated(sequence: &Value, count: &Int) -> Fallible<Option<Value>> {
    let len = match sequence {
        Value::Text(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Tuple(items) => items.len(),
        _ => return Ok(None),
    };
    let times = match len {
        0 => 0,
        _ => match super::args::index(&Value::Int(count.clone())) {
            Ok(count) => usize::try_from(count).unwrap_or(0),
            Err(_) => return Err(format!("repeat count {count} too large")),
        },
    };
    if len as u128 * times as u128 >= MOST_REPEATED {
        return Err(format!("excessive repeat ({len} * {times} elements)"));
    }
    let total = len * times;
    Ok(Some(match sequence {
        Value::Text(text) => {
            memory::room(total)?;
            Value::text(text.repeat(times))
        }
        Value::Bytes(text) => {
            memory::room(total)?;
            Value::bytes(text.repeat(times))
        }
        Value::List(list) => {
            memory::room(size(total))?;
            let items = list.items.borrow();
            Value::list(items.iter().cycle().take(total).cloned().collect())
        }
        Value::Tuple(items) => {
            memory::room(size(total))?;
            Value::tuple(items.iter().cycle().take(total).cloned().collect())
        }
        _ => return Ok(None),
    }))
}

/// Whether `a` is in `b`; `None` if `b` has no elements.
pub(super) fn contains(a: &Value, b: &Value) -> Fallible<Option<bool>> {
    Ok(Some(match b {
        Value::List(list) => among(a, &list.items.borrow())?,
        Value::Tuple(items) => among(a, items)?,
        Value::Dict(table) => table.has(a).unwrap_or(false),
        Value::Set(table) => table.has(a)?,
        Value::Text(text) => match a {
            Value::Text(part) => find(text, part).is_some(),
            _ => {
                let other = a.type_name();
                return Err(format!(
                    "'in <string>' requires string as left operand, not {other}"
                ));
            }
        },
        Value::Bytes(text) => match a {
            Value::Bytes(part) => find(text, part).is_some(),
            Value::Int(number) => {
                let byte = number.small().and_then(|number| u8::try_from(number).ok());
                let byte = byte.ok_or_else(|| {
                    format!(
                        "int in bytes: {number} out of range (want value in unsigned 8-bit range)"
                    )
                })?;
                text.contains(&byte)
            }
            _ => {
                let other = a.type_name();
                return Err(format!(
                    "'in bytes' requires bytes or int as left operand, not {other}"
                ));
            }
        },
        Value::Range(range) => {
            let number = match a {
                Value::Int(number) => Some(number.clone()),
                Value::Float(number) => Int::truncated(*number),
                _ => None,
            };
            let Some(number) = number else {
                let other = a.type_name();
                return Err(format!(
                    "'in <range>' requires integer as left operand, not {other}"
                ));
            };
            let small = number
                .small()
                .filter(|number| i32::try_from(*number).is_ok());
            small.is_some_and(|number| {
                let delta = number - range.start;
                delta % range.step == 0 && (0..range.len).contains(&(delta / range.step))
            })
        }
        Value::Object(object) => match object.lookup(a) {
            Some(found) => found?.is_some(),
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

fn among(value: &Value, items: &[Value]) -> Fallible<bool> {
    for item in items {
        if compare::equal(item, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where a part begins in a text.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    match part.len() {
        0 => Some(0),
        // The search of `str` is fast for all inputs.
        len => match (std::str::from_utf8(text), std::str::from_utf8(part)) {
            (Ok(text), Ok(part)) => text.find(part),
            _ => text.windows(len).position(|window| window == part),
        },
    }
}
