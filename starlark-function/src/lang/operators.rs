//! Operators. What they mean for more than numbers is in [`collections`].

use num_bigint::BigInt;

use super::{Fallible, Int, Thread, Value, collections, compare, library::format, syntax::Token};

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
            let is_in = collections::contains(a, b)?;
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
            _ => collections::operate(thread, operator, a, b)?,
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
            if (rest < 0.0) != (b < 0.0) && rest != 0.0 {
                rest + b
            } else {
                rest
            }
        }
        _ => return Ok(None),
    })))
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
