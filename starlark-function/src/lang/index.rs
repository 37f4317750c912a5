//! Indices and slices: `x[i]`, `x[i] = y`, `x[i:j:k]`.

use super::{
    Fallible, Value, memory, show,
    value::{Range, size},
};

/// The position that an index stands for.
fn position(value: &Value, index: i64, len: usize) -> Fallible<usize> {
    let signed_len = i64::try_from(len).unwrap_or(i64::MAX);
    let at = if index < 0 { index + signed_len } else { index };
    let at = usize::try_from(at).ok().filter(|at| *at < len);
    at.ok_or_else(|| out_of_range(value, index, len))
}

pub(super) fn out_of_range(value: &Value, index: i64, len: usize) -> String {
    let name = value.type_name();
    match len {
        0 => format!("index {index} out of range: empty {name}"),
        len => format!("{name} index {index} out of range [-{len}:{}]", len - 1),
    }
}

/// `object[index]`
pub(super) fn get_index(object: &Value, index: &Value) -> Fallible<Value> {
    let found = match object {
        Value::Dict(table) => table.get(index)?,
        Value::Object(own) => match own.lookup(index) {
            Some(found) => found?,
            None => return unhandled(object, index),
        },
        Value::Text(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Tuple(_)
        | Value::Range(_)
        | Value::Elements(_) => {
            let Some(len) = object.len() else {
                return unhandled(object, index);
            };
            let number = super::args::index(index);
            let number =
                number.map_err(|words| format!("{} index: {words}", object.type_name()))?;
            let at = position(object, number, len)?;
            return Ok(match object {
                Value::Text(text) => Value::text(&text[at..=at]),
                Value::Bytes(text) => Value::bytes(&text[at..=at]),
                Value::List(list) => list.get(at).unwrap_or(Value::None),
                Value::Tuple(items) => items[at].clone(),
                Value::Range(range) => Value::int(range.get(at as i64)),
                Value::Elements(elements) => elements.at(at).map_or(Value::None, |(it, _)| it),
                _ => Value::None,
            });
        }
        _ => return unhandled(object, index),
    };
    match found {
        Some(value) => Ok(value),
        None => Err(format!(
            "key {} not in {}",
            show::repr(index)?,
            object.type_name()
        )),
    }
}

fn unhandled<T>(object: &Value, index: &Value) -> Fallible<T> {
    Err(format!(
        "unhandled index operation {}[{}]",
        object.type_name(),
        index.type_name()
    ))
}

/// `object[index] = value`
pub(super) fn set_index(object: &Value, index: &Value, value: Value) -> Fallible<()> {
    match object {
        Value::Dict(table) => table.insert(index.clone(), value).map(drop),
        Value::List(list) => {
            let number = super::args::index(index)?;
            let at = position(object, number, list.len())?;
            list.check_mutable("assign to element of")?;
            list.edit(|items| items[at] = value);
            Ok(())
        }
        _ => Err(format!(
            "{} value does not support item assignment",
            object.type_name()
        )),
    }
}

/// Start and end of a part, between nothing and all.
pub(super) fn bounds(
    start: Option<&Value>,
    end: Option<&Value>,
    len: usize,
) -> Fallible<(usize, usize)> {
    let signed_len = i64::try_from(len).unwrap_or(i64::MAX);
    let clamp = |index: i64| usize::try_from(index.clamp(0, signed_len)).unwrap_or(0);
    let start =
        as_index(start, signed_len, 0).map_err(|words| format!("invalid start index: {words}"))?;
    let end = as_index(end, signed_len, signed_len)
        .map_err(|words| format!("invalid end index: {words}"))?;
    Ok((clamp(start), clamp(end)))
}

fn as_index(value: Option<&Value>, len: i64, default: i64) -> Fallible<i64> {
    match value {
        None | Some(Value::None) => Ok(default),
        Some(value) => {
            let index = super::args::index(value)?;
            Ok(if index < 0 { index + len } else { index })
        }
    }
}

/// `object[start:end:step]`
pub(super) fn slice(object: &Value, parts: [Option<&Value>; 3]) -> Fallible<Value> {
    let is_sliceable = matches!(
        object,
        Value::Text(_) | Value::Bytes(_) | Value::List(_) | Value::Tuple(_) | Value::Range(_)
    );
    let (Some(len), true) = (object.len(), is_sliceable) else {
        return Err(format!("invalid slice operand {}", object.type_name()));
    };
    let signed_len = i64::try_from(len).unwrap_or(i64::MAX);
    let step = match parts[2] {
        None | Some(Value::None) => 1,
        Some(step) => {
            super::args::index(step).map_err(|words| format!("invalid slice step: {words}"))?
        }
    };
    if step == 0 {
        return Err("zero is not a valid slice step".into());
    }
    let (start, end) = if step > 0 {
        let (start, end) = bounds(parts[0], parts[1], len)?;
        (start as i64, end.max(start) as i64)
    } else {
        let start = as_index(parts[0], signed_len, signed_len - 1)
            .map_err(|words| format!("invalid start index: {words}"))?
            .min(signed_len - 1);
        let end = as_index(parts[1], signed_len, -1)
            .map_err(|words| format!("invalid end index: {words}"))?
            .max(-1);
        (start.max(end), end)
    };
    if let Value::Range(range) = object {
        let (new_start, new_stop) = (range.get(start), range.get(end));
        let sliced = Range::new(new_start, new_stop, range.step.wrapping_mul(step));
        return Ok(Value::Range(sliced.into()));
    }
    let chosen = Range::new(start, end, step);
    memory::room(size(usize::try_from(chosen.len).unwrap_or(0)))?;
    let at = (0..chosen.len).map(|at| chosen.get(at) as usize);
    Ok(match object {
        Value::Text(text) => Value::text(at.map(|at| text[at]).collect::<Vec<_>>()),
        Value::Bytes(text) => Value::bytes(at.map(|at| text[at]).collect::<Vec<_>>()),
        Value::Tuple(items) => Value::tuple(at.map(|at| items[at].clone()).collect()),
        Value::List(list) => {
            let items = list.items.borrow();
            Value::list(at.map(|at| items[at].clone()).collect())
        }
        _ => Value::None,
    })
}
