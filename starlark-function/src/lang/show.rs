//! Values as text.

use std::rc::Rc;

use super::{Fallible, Value, memory, syntax::quote};

/// A value as `repr` writes it, in bytes that are UTF-8.
pub(crate) fn repr(value: &Value) -> Fallible<String> {
    let mut text = String::new();
    write(value, &mut text, &mut Vec::new())?;
    Ok(text)
}

/// A value as `str` writes it.
pub(crate) fn text(value: &Value, out: &mut Vec<u8>) -> Fallible<()> {
    match value {
        Value::Text(text) => out.extend_from_slice(text),
        other => out.extend_from_slice(repr(other)?.as_bytes()),
    }
    Ok(())
}

/// `path` has the lists and dictionaries around the value: they may be inside of
/// themselves.
fn write(value: &Value, out: &mut String, path: &mut Vec<*const ()>) -> Fallible<()> {
    memory::check_depth()?;
    memory::room(out.len())?;
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&float(*number, 'g')),
        Value::Text(text) => out.push_str(&quote(text, false)),
        Value::Bytes(text) => out.push_str(&quote(text, true)),
        Value::List(list) => {
            out.push('[');
            let own = Rc::as_ptr(list).cast();
            if path.contains(&own) {
                out.push_str("...");
            } else {
                path.push(own);
                sequence(&list.items.borrow(), out, path)?;
                path.pop();
            }
            out.push(']');
        }
        Value::Tuple(items) => {
            out.push('(');
            sequence(items, out, path)?;
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        Value::Dict(table) => {
            out.push('{');
            let own = Rc::as_ptr(table).cast();
            if path.contains(&own) {
                out.push_str("...");
            } else {
                path.push(own);
                for (at, (key, value)) in table.items().iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    write(key, out, path)?;
                    out.push_str(": ");
                    write(value, out, path)?;
                }
                path.pop();
            }
            out.push('}');
        }
        Value::Set(table) => {
            out.push_str("set([");
            sequence(&table.keys(), out, path)?;
            out.push_str("])");
        }
        Value::Range(range) => match (range.start, range.step) {
            (0, 1) => out.push_str(&format!("range({})", range.stop)),
            (start, 1) => out.push_str(&format!("range({start}, {})", range.stop)),
            (start, step) => out.push_str(&format!("range({start}, {}, {step})", range.stop)),
        },
        Value::Elements(elements) => {
            out.push_str(&quote(&elements.of, elements.of_bytes));
            out.push_str(&format!(".{}()", elements.method));
        }
        Value::Function(function) => out.push_str(&format!("<function {}>", function.name())),
        Value::Builtin(builtin) => match &builtin.receiver {
            Some(receiver) => out.push_str(&format!(
                "<built-in method {} of {} value>",
                builtin.name,
                receiver.type_name()
            )),
            None => out.push_str(&format!("<built-in function {}>", builtin.name)),
        },
        Value::Struct(fields) => {
            out.push_str("struct(");
            for (at, (name, value)) in fields.iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                out.push_str(&format!("{comma}{name} = "));
                write(value, out, path)?;
            }
            out.push(')');
        }
        Value::Module(module) => {
            out.push_str(&format!("<module \"{}\">", module.name));
        }
        Value::Object(object) => out.push_str(&object.show()),
    }
    Ok(())
}

fn sequence(items: &[Value], out: &mut String, path: &mut Vec<*const ()>) -> Fallible<()> {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(item, out, path)?;
    }
    Ok(())
}

/// A number as the format `%e`, `%f` or `%g` (or their capitals) writes it.
pub(crate) fn float(number: f64, conversion: char) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+inf" } else { "-inf" }.into();
    }
    let text = match conversion.to_ascii_lowercase() {
        'e' => exponent(&format!("{number:.6e}")),
        'f' => format!("{number:.6}"),
        _ => {
            let scientific = format!("{number:e}");
            let power = scientific
                .split_once('e')
                .and_then(|(_, power)| power.parse().ok());
            let power: i32 = power.unwrap_or(0);
            // The shortest digits that are exact; an exponent for the very large and
            // the very small.
            let plain = format!("{number}");
            if number != 0.0 && !(-4..21).contains(&power) {
                exponent(&scientific)
            } else if plain.contains('.') {
                plain
            } else {
                format!("{plain}.0")
            }
        }
    };
    if conversion.is_ascii_uppercase() {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

/// Exponents have a sign and at least two digits.
fn exponent(scientific: &str) -> String {
    let (digits, power) = scientific.split_once('e').unwrap_or((scientific, "0"));
    match power.strip_prefix('-') {
        Some(power) => format!("{digits}e-{power:0>2}"),
        None => format!("{digits}e+{power:0>2}"),
    }
}

/// Text in quotes.
pub(crate) fn quoted(text: &[u8]) -> String {
    quote(text, false)
}
