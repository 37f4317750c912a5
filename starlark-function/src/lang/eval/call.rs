//! Calls.

use std::rc::Rc;

use super::{Frame, SharedCell, Thread, statements::Flow};
use crate::lang::{
    Call, Fallible, Value, memory,
    syntax::{
        ast::{Function, Shape},
        quote,
    },
    table::Table,
};

/// A function of the program, with the variables that it has captured.
#[derive(Debug)]
pub(crate) struct Closure {
    pub(super) function: Rc<Function>,
    /// Of the last parameters; `None` for those that are required nevertheless.
    pub(super) defaults: Vec<Option<Value>>,
    pub(super) captured: Vec<SharedCell>,
    pub(super) _charge: memory::Charge,
}

impl Closure {
    pub(in crate::lang) fn name(&self) -> &str {
        &self.function.name
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        let captured = std::mem::take(&mut self.captured).into_iter();
        let only = captured.filter_map(|cell| Rc::try_unwrap(cell).ok());
        memory::drop_all(only.filter_map(|cell| cell.into_inner()));
    }
}

type Named = Vec<(Value, Value)>;

impl Thread<'_> {
    /// Calls a value.
    pub(crate) fn call(
        &mut self,
        callee: &Value,
        args: Vec<Value>,
        named: Named,
    ) -> Fallible<Value> {
        memory::check_depth()?;
        match callee {
            Value::Function(closure) => self.call_closure(closure, args, named),
            Value::Builtin(builtin) => {
                let call = Call {
                    name: builtin.name,
                    receiver: builtin.receiver.clone(),
                    args,
                    named,
                };
                (builtin.run)(self, &call)
            }
            other => Err(format!(
                "invalid call of non-function ({})",
                other.type_name()
            )),
        }
    }

    fn call_closure(
        &mut self,
        closure: &Rc<Closure>,
        args: Vec<Value>,
        named: Named,
    ) -> Fallible<Value> {
        let function = &closure.function;
        let identity: *const () = Rc::as_ptr(function).cast();
        if !self.dialect.permissive && self.calls.contains(&identity) {
            return Err(format!("function {} called recursively", function.name));
        }
        let Some(shape) = function.shape.get() else {
            return Err(format!("function {} was not resolved", function.name));
        };
        let names = self.names.clone();
        let mut frame = Frame::new(&names, &shape.locals, closure.captured.clone());
        for (slot, value) in bind(closure, shape, args, named)?.into_iter().enumerate() {
            frame.set(slot, value);
        }
        self.calls.push(identity);
        let ended = self.block(&function.body, &mut frame);
        self.calls.pop();
        Ok(match ended? {
            Flow::Return(value) => value,
            _ => Value::None,
        })
    }
}

/// The values of a function's parameters, by slot.
fn bind(closure: &Closure, shape: &Shape, args: Vec<Value>, named: Named) -> Fallible<Vec<Value>> {
    let name = closure.name();
    let given = args.len();
    if shape.params.is_empty() {
        return match given + named.len() {
            0 => Ok(Vec::new()),
            given => Err(format!(
                "function {name} accepts no arguments ({given} given)"
            )),
        };
    }
    let extra = usize::from(shape.has_rest) + usize::from(shape.has_keywords);
    let ordinary = shape.params.len() - extra;
    let positional = ordinary - shape.keyword_only;
    if given > positional && !shape.has_rest {
        let at_most = if closure.defaults.len() > shape.keyword_only {
            "at most "
        } else {
            ""
        };
        let s = if positional == 1 { "" } else { "s" };
        return Err(format!(
            "function {name} accepts {at_most}{positional} positional argument{s} ({given} given)"
        ));
    }
    let mut args = args.into_iter();
    let mut values: Vec<Option<Value>> = args.by_ref().take(positional).map(Some).collect();
    values.resize(ordinary, None);
    let rest = shape.has_rest.then(|| Value::tuple(args.collect()));
    let others = shape.has_keywords.then(Table::default);
    for (key, value) in named {
        let text = key.as_text().unwrap_or(b"");
        let params = &shape.params[..ordinary];
        let param = params.iter().position(|param| param.as_bytes() == text);
        let quoted = quote(text, false);
        let is_new = match (param, &others) {
            (Some(at), _) => values[at].replace(value).is_none(),
            (None, Some(others)) => others.insert(key, value)?,
            (None, None) => {
                return Err(format!(
                    "function {name} got an unexpected keyword argument {quoted}"
                ));
            }
        };
        if !is_new {
            return Err(format!(
                "function {name} got multiple values for parameter {quoted}"
            ));
        }
    }
    let first_default = ordinary - closure.defaults.len();
    let mut missing = Vec::new();
    for (at, value) in values
        .iter_mut()
        .enumerate()
        .filter(|(_, value)| value.is_none())
    {
        let default = at.checked_sub(first_default);
        *value = default.and_then(|at| closure.defaults[at].clone());
        if value.is_none() {
            missing.push(&*shape.params[at]);
        }
    }
    if !missing.is_empty() {
        let s = if missing.len() > 1 { "s" } else { "" };
        return Err(format!(
            "function {name} missing {} argument{s} ({})",
            missing.len(),
            missing.join(", ")
        ));
    }
    let mut values: Vec<Value> = values.into_iter().flatten().collect();
    values.extend(rest);
    values.extend(others.map(|others| Value::Dict(others.into())));
    Ok(values)
}
