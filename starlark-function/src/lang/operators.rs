//! Operators, indices and slices.

use num_bigint::BigInt;

use super::{
    Fallible, Int, Thread, Value, compare,
    dialect::Edition,
    library::format,
    memory, show,
    syntax::Token,
    table::Table,
    value::{Range, size},
};

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideFloor,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    In,
    NotIn,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// The operator of a token, or of the assignment that uses it.
    pub(super) fn of(token: Token) -> Option<Self> {
        Some(match token {
            Token::Plus | Token::PlusEq => Self::Add,
            Token::Minus | Token::MinusEq => Self::Subtract,
            Token::Star | Token::StarEq => Self::Multiply,
            Token::Slash | Token::SlashEq => Self::Divide,
            Token::SlashSlash | Token::SlashSlashEq => Self::DivideFloor,
            Token::Percent | Token::PercentEq => Self::Modulo,
            Token::Amp | Token::AmpEq => Self::And,
            Token::Pipe | Token::PipeEq => Self::Or,
            Token::Circumflex | Token::CircumflexEq => Self::Xor,
            Token::LtLt | Token::LtLtEq => Self::ShiftLeft,
            Token::GtGt | Token::GtGtEq => Self::ShiftRight,
            Token::In => Self::In,
            Token::NotIn => Self::NotIn,
            Token::EqEq => Self::Equal,
            Token::NotEq => Self::NotEqual,
            Token::Lt => Self::Less,
            Token::Le => Self::LessOrEqual,
            Token::Gt => Self::Greater,
            Token::Ge => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::DivideFloor => "//",
            Self::Modulo => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    pub(super) fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }
}

/// Applies an operator.
pub(super) fn binary(
    thread: &Thread<'_>,
    operator: Operator,
    a: &Value,
    b: &Value,
) -> Fallible<Value> {
    if operator as u8 >= Operator::Equal as u8 {
        return compare::compare(operator, a, b).map(Value::Bool);
    }
    let done = match operator {
        Operator::In | Operator::NotIn => {
            let is_in = contains(a, b)?;
            is_in.map(|is| Value::Bool(is == (operator == Operator::In)))
        }
        Operator::Modulo if a.as_text().is_some() => {
            let text = a.as_text().unwrap_or(b"");
            let edition = thread.dialect.edition;
            Some(Value::text(format::interpolate(text, b, edition)?))
        }
        _ => match (a, b) {
            (Value::Int(a), Value::Int(b)) => integers(operator, a, b)?,
            (Value::Float(a), Value::Float(b)) => floats(operator, *a, *b)?,
            (Value::Int(_), other)
                if matches!(operator, Operator::ShiftLeft | Operator::ShiftRight) =>
            {
                super::args::index(other)?;
                None
            }
            (Value::Int(a), Value::Float(b)) => match operator {
                operator if !is_arithmetic(operator) => None,
                _ => floats(operator, a.finite_float()?, *b)?,
            },
            (Value::Float(a), Value::Int(b)) => match operator {
                operator if !is_arithmetic(operator) => None,
                Operator::Modulo if b.is_zero() => floats(operator, *a, 0.0)?,
                _ => floats(operator, *a, b.finite_float()?)?,
            },
            (Value::Int(_), _) if operator == Operator::Divide => {
                if let Value::Int(a) = a {
                    a.finite_float()?;
                }
                None
            }
            _ => collections(thread, operator, a, b)?,
        },
    };
    if let Some(done) = done {
        return Ok(done);
    }
    if let Value::Object(own) = a
        && let Some(done) = own.operate(operator, b, true)?
    {
        return Ok(done);
    }
    if let Value::Object(own) = b
        && let Some(done) = own.operate(operator, a, false)?
    {
        return Ok(done);
    }
    let shown = match operator {
        Operator::NotIn => Operator::In,
        other => other,
    };
    Err(format!(
        "unknown binary op: {} {} {}",
        a.type_name(),
        shown.text(),
        b.type_name()
    ))
}

fn is_arithmetic(operator: Operator) -> bool {
    operator as u8 <= Operator::Modulo as u8
}

fn integers(operator: Operator, a: &Int, b: &Int) -> Fallible<Option<Value>> {
    let is_zero = b.is_zero();
    Ok(Some(Value::Int(match operator {
        Operator::Add => a.add(b),
        Operator::Subtract => a.subtract(b),
        Operator::Multiply => a.multiply(b)?,
        Operator::Divide => {
            return floats(operator, a.finite_float()?, b.finite_float()?);
        }
        Operator::DivideFloor if is_zero => return Err("floored division by zero".into()),
        Operator::DivideFloor => a.divide(b).0,
        Operator::Modulo if is_zero => return Err("integer modulo by zero".into()),
        Operator::Modulo => a.divide(b).1,
        Operator::And => a.bitwise(b, |a: BigInt, b| a & b),
        Operator::Or => a.bitwise(b, |a: BigInt, b| a | b),
        Operator::Xor => a.bitwise(b, |a: BigInt, b| a ^ b),
        Operator::ShiftLeft | Operator::ShiftRight => {
            let by = super::args::index(&Value::Int(b.clone()))?;
            let Ok(by) = usize::try_from(by) else {
                return Err(format!("negative shift count: {by}"));
            };
            match operator {
                Operator::ShiftLeft if by >= 512 => {
                    return Err(format!("shift count too large: {by}"));
                }
                Operator::ShiftLeft => a.shifted_left(by),
                _ => a.shifted_right(by),
            }
        }
        _ => return Ok(None),
    })))
}

fn floats(operator: Operator, a: f64, b: f64) -> Fallible<Option<Value>> {
    Ok(Some(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide if b == 0.0 => return Err("floating-point division by zero".into()),
        Operator::Divide => a / b,
        Operator::DivideFloor if b == 0.0 => return Err("floored division by zero".into()),
        Operator::DivideFloor => (a / b).floor(),
        Operator::Modulo if b == 0.0 => return Err("floating-point modulo by zero".into()),
        Operator::Modulo => {
            let rest = a % b;
            match (rest < 0.0) != (b < 0.0) && rest != 0.0 {
                true => rest + b,
                false => rest,
            }
        }
        _ => return Ok(None),
    })))
}

fn collections(
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
            let (through, other) = match has_set_operators || a.len() > b.len() {
                true => (b, a),
                false => (a, b),
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
fn contains(a: &Value, b: &Value) -> Fallible<Option<bool>> {
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

pub(super) fn unary(token: Token, value: &Value) -> Fallible<Value> {
    Ok(match (token, value) {
        (Token::Not, value) => Value::Bool(!value.truth()),
        (Token::Minus, Value::Int(number)) => Value::Int(number.negated()),
        (Token::Plus, Value::Int(_) | Value::Float(_)) => value.clone(),
        (Token::Tilde, Value::Int(number)) => Value::Int(number.inverted()),
        (Token::Minus, Value::Float(number)) => Value::Float(-number),
        _ => {
            return Err(format!(
                "unknown unary op: {} {}",
                token.text(),
                value.type_name()
            ));
        }
    })
}

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
