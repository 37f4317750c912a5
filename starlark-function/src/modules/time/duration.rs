//! Durations, in nanoseconds.

use std::cmp::Ordering;

use super::Time;
use crate::{
    lang::{Fallible, Object, Operator, Value, args::FromValue, show::quoted},
    modules::gotime::{read_duration, write_duration},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Duration(pub(super) i64);

impl FromValue for Duration {
    fn from_value(value: &Value) -> Fallible<Self> {
        match (value.downcast::<Self>(), value.as_text()) {
            (Some(duration), _) => Ok(*duration),
            (_, Some(text)) => read_duration(&String::from_utf8_lossy(text)).map(Self),
            _ => Err(format!(
                "got {}, want a duration, string, or int",
                value.type_name()
            )),
        }
    }
}

impl Object for Duration {
    fn type_name(&self) -> &'static str {
        "time.duration"
    }

    fn show(&self) -> String {
        write_duration(self.0)
    }

    fn truth(&self) -> bool {
        self.0 != 0
    }

    fn key(&self) -> Option<String> {
        Some(self.0.to_string())
    }

    fn field(&self, name: &str, _: &Value) -> Fallible<Option<Value>> {
        let Self(total) = *self;
        let float = |unit: i64| {
            let (whole, rest) = (total / unit, total % unit);
            Value::Float(whole as f64 + rest as f64 / unit as f64)
        };
        Ok(Some(match name {
            "hours" => float(3_600_000_000_000),
            "minutes" => float(60_000_000_000),
            "seconds" => float(1_000_000_000),
            "milliseconds" => Value::int(total / 1_000_000),
            "microseconds" => Value::int(total / 1_000),
            "nanoseconds" => Value::int(total),
            name => {
                let name = quoted(name.as_bytes());
                return Err(format!("unrecognized time.duration attribute {name}"));
            }
        }))
    }

    fn fields(&self) -> Vec<&'static str> {
        vec![
            "hours",
            "minutes",
            "seconds",
            "milliseconds",
            "microseconds",
            "nanoseconds",
        ]
    }

    fn order(&self, other: &Value) -> Option<Ordering> {
        Some(self.0.cmp(&other.downcast::<Self>()?.0))
    }

    fn operate(&self, operator: Operator, other: &Value, is_left: bool) -> Fallible<Option<Value>> {
        let Self(own) = *self;
        let by_zero = || "time.duration division by zero".to_owned();
        let made = |nanoseconds| Ok(Some(Value::object(Self(nanoseconds))));
        if let Some(Self(other)) = other.downcast::<Self>() {
            return match operator {
                Operator::Add => made(own.wrapping_add(*other)),
                Operator::Subtract => made(own.wrapping_sub(*other)),
                Operator::Divide | Operator::DivideFloor if *other == 0 => Err(by_zero()),
                Operator::Divide => Ok(Some(Value::Float(own as f64 / *other as f64))),
                Operator::DivideFloor => Ok(Some(Value::int(own.wrapping_div(*other)))),
                _ => Ok(None),
            };
        }
        if let Some(time) = other.downcast::<Time>() {
            return Ok((operator == Operator::Add).then(|| Value::object(time.plus(own))));
        }
        match (operator, other) {
            (Operator::Divide, Value::Int(_)) if !is_left => Err("unsupported operation".into()),
            (Operator::Divide | Operator::Multiply, Value::Int(number)) => {
                let Some(number) = number.small() else {
                    return Err("int value out of range (want signed 64-bit value)".into());
                };
                match operator {
                    Operator::Multiply => made(own.wrapping_mul(number)),
                    _ if number == 0 => Err(by_zero()),
                    _ => made(own.wrapping_div(number)),
                }
            }
            (Operator::Divide, Value::Float(number)) => {
                if *number == 0.0 {
                    Err(by_zero())
                } else {
                    made((own as f64 / number) as i64)
                }
            }
            _ => Ok(None),
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
