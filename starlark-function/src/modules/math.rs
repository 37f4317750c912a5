//! `math.star`: mathematics on numbers, whole or not.

use super::function;
use crate::lang::{Call, Fallible, Int, Thread, Value};

macro_rules! unary {
    ($($name:literal: $function:expr),* $(,)?) => {
        vec![$(function($name, |_, call| {
            call.positional(1, 1)?;
            let number: f64 = call.arg(0)?;
            let function: fn(f64) -> f64 = $function;
            Ok(Value::Float(function(number)))
        })),*]
    };
}

macro_rules! binary {
    ($($name:literal: $function:expr),* $(,)?) => {
        vec![$(function($name, |_, call| {
            call.positional(2, 2)?;
            let (x, y): (f64, f64) = (call.arg(0)?, call.arg(1)?);
            let function: fn(f64, f64) -> f64 = $function;
            Ok(Value::Float(function(x, y)))
        })),*]
    };
}

pub(super) fn members() -> super::Members {
    let mut members = unary! {
        "fabs": f64::abs, "round": f64::round, "exp": f64::exp, "sqrt": f64::sqrt,
        "acos": f64::acos, "asin": f64::asin, "atan": f64::atan, "cos": f64::cos,
        "sin": f64::sin, "tan": f64::tan, "acosh": f64::acosh, "asinh": f64::asinh,
        "atanh": f64::atanh, "cosh": f64::cosh, "sinh": f64::sinh, "tanh": f64::tanh,
        "degrees": |x| 360.0 * x / (2.0 * std::f64::consts::PI),
        "radians": |x| 2.0 * std::f64::consts::PI * x / 360.0,
        "gamma": libm::tgamma,
    };
    members.extend(binary! {
        "copysign": f64::copysign, "mod": |x, y| x % y, "pow": f64::powf,
        "remainder": libm::remainder, "atan2": f64::atan2, "hypot": f64::hypot,
    });
    members.extend([
        function("ceil", |_, call| rounded(call, f64::ceil)),
        function("floor", |_, call| rounded(call, f64::floor)),
        function("log", log),
        ("e", Value::Float(std::f64::consts::E)),
        ("pi", Value::Float(std::f64::consts::PI)),
    ]);
    members
}

fn rounded(call: &Call, round: fn(f64) -> f64) -> Fallible<Value> {
    call.positional(1, 1)?;
    match &call.args[0] {
        Value::Int(number) => Ok(Value::Int(number.clone())),
        Value::Float(number) => match Int::truncated(round(*number)) {
            Some(number) => Ok(Value::Int(number)),
            None => {
                let what = if number.is_nan() { "NaN" } else { "infinity" };
                Err(format!("cannot convert float {what} to integer"))
            }
        },
        other => Err(format!("got {}, want float or int", other.type_name())),
    }
}

fn log(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    call.positional(1, 2)?;
    let number: f64 = call.arg(0)?;
    let base: f64 = call.optional(1)?.unwrap_or(std::f64::consts::E);
    if base == 1.0 {
        Err("division by zero".into())
    } else {
        Ok(Value::Float(number.ln() / base.ln()))
    }
}
