//! Expressions.

use std::rc::Rc;

use super::{Frame, Thread};
use crate::lang::{
    Builtin, Fallible, Operator, Value, index,
    iterate::{collect, iterate},
    library, memory, operators, show,
    spell::nearest,
    syntax::{
        Token,
        ast::{Argument, Body, Clause, Expr, Ident, Kind},
        names::Scope,
    },
    table::Table,
};

impl Thread<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, frame: &mut Frame) -> Fallible<Value> {
        memory::check_depth()?;
        match &expr.kind {
            Kind::Ident(name) => self.get(name, frame),
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Paren(inner) => self.eval(inner, frame),
            Kind::List(items) => self.all(items, frame).map(Value::list),
            Kind::Tuple(items) => self.all(items, frame).map(Value::tuple),
            Kind::Dict(entries) => {
                let table = Table::default();
                for (key, value) in entries {
                    let key = self.eval(key, frame)?;
                    let value = self.eval(value, frame)?;
                    if !table.insert(key.clone(), value)? {
                        return Err(format!("duplicate key: {}", show::repr(&key)?));
                    }
                }
                Ok(Value::Dict(table.into()))
            }
            Kind::Condition { condition, yes, no } => {
                if self.eval(condition, frame)?.truth() {
                    self.eval(yes, frame)
                } else {
                    self.eval(no, frame)
                }
            }
            Kind::Unary { operator, operand } => {
                let value = self.eval(operand, frame)?;
                operators::unary(*operator, &value)
            }
            Kind::Binary {
                operator,
                left,
                right,
                ..
            } => {
                let left = self.eval(left, frame)?;
                match operator {
                    Token::And if !left.truth() => return Ok(left),
                    Token::Or if left.truth() => return Ok(left),
                    Token::And | Token::Or => return self.eval(right, frame),
                    _ => {}
                }
                let right = self.eval(right, frame)?;
                match Operator::of(*operator) {
                    Some(operator) => operators::binary(self, operator, &left, &right),
                    None => Err(format!("unimplemented: {}", operator.text())),
                }
            }
            Kind::Dot { object, name } => {
                let object = self.eval(object, frame)?;
                self.field(&object, name)
            }
            Kind::Index { object, index } => {
                let object = self.eval(object, frame)?;
                let index = self.eval(index, frame)?;
                index::get_index(&object, &index)
            }
            Kind::Slice { object, parts } => {
                let object = self.eval(object, frame)?;
                let mut values = [None, None, None];
                for (value, part) in values.iter_mut().zip(parts) {
                    if let Some(part) = part {
                        *value = Some(self.eval(part, frame)?);
                    }
                }
                index::slice(&object, values.each_ref().map(Option::as_ref))
            }
            Kind::Call {
                function,
                arguments,
            } => self.eval_call(function, arguments, frame),
            Kind::Lambda(function) => self.closure(function, frame),
            Kind::Comprehension { body, clauses } => self.comprehension(body, clauses, frame),
        }
    }

    fn all(&mut self, items: &[Expr], frame: &mut Frame) -> Fallible<Vec<Value>> {
        items.iter().map(|item| self.eval(item, frame)).collect()
    }

    fn get(&mut self, name: &Ident, frame: &Frame) -> Fallible<Value> {
        let (kind, value) = match self.names.bindings[name.binding.get()].scope {
            Scope::Local(slot) | Scope::Cell(slot) => ("local", frame.get(slot)),
            Scope::Free(slot) => ("local", frame.captured[slot].borrow().clone()),
            Scope::Global(slot) => ("global", self.globals[slot].clone()),
            Scope::Known => {
                let given = self
                    .host
                    .given
                    .iter()
                    .find(|(given, _)| *given == &*name.name);
                let given = given.map(|(_, value)| value.clone());
                (
                    "global",
                    given.or_else(|| library::global(&name.name, self.dialect)),
                )
            }
        };
        value.ok_or_else(|| format!("{kind} variable {} referenced before assignment", name.name))
    }

    fn eval_call(
        &mut self,
        function: &Expr,
        arguments: &[Argument],
        frame: &mut Frame,
    ) -> Fallible<Value> {
        let function = self.eval(function, frame)?;
        let mut args = Vec::new();
        let mut named = Vec::new();
        let (mut rest, mut keywords) = (None, None);
        for argument in arguments {
            match argument {
                Argument::Positional(value) => args.push(self.eval(value, frame)?),
                Argument::Named(name, value) => {
                    let value = self.eval(value, frame)?;
                    named.push((Value::text(&*name.name), value));
                }
                Argument::Rest(_, value) => rest = Some(self.eval(value, frame)?),
                Argument::Keywords(_, value) => keywords = Some(self.eval(value, frame)?),
            }
        }
        if let Some(keywords) = keywords {
            let Value::Dict(table) = &keywords else {
                let other = keywords.type_name();
                return Err(format!("argument after ** must be a mapping, not {other}"));
            };
            for (key, value) in table.items() {
                if key.as_text().is_none() {
                    let other = key.type_name();
                    return Err(format!("keywords must be strings, not {other}"));
                }
                named.push((key, value));
            }
        }
        if let Some(rest) = rest {
            let Some(elems) = iterate(&rest) else {
                let other = rest.type_name();
                return Err(format!("argument after * must be iterable, not {other}"));
            };
            args.extend(collect(&rest, elems)?);
        }
        self.call(&function, args, named)
    }

    fn comprehension(
        &mut self,
        body: &Body,
        clauses: &[Clause],
        frame: &mut Frame,
    ) -> Fallible<Value> {
        let mut collected = match body {
            Body::Item(_) => Collected::List(Vec::new()),
            Body::Entry(_) => Collected::Dict(Table::default()),
        };
        self.clauses(body, clauses, frame, &mut collected)?;
        Ok(match collected {
            Collected::List(items) => Value::list(items),
            Collected::Dict(table) => Value::Dict(table.into()),
        })
    }

    fn clauses(
        &mut self,
        body: &Body,
        clauses: &[Clause],
        frame: &mut Frame,
        collected: &mut Collected,
    ) -> Fallible<()> {
        memory::check_depth()?;
        match (clauses.split_first(), body, collected) {
            (Some((Clause::If(condition), rest)), body, collected) => {
                if self.eval(condition, frame)?.truth() {
                    self.clauses(body, rest, frame, collected)
                } else {
                    Ok(())
                }
            }
            (Some((Clause::For { target, iterable }, rest)), body, collected) => {
                let iterable = self.eval(iterable, frame)?;
                let Some(elems) = iterate(&iterable) else {
                    return Err(format!("{} value is not iterable", iterable.type_name()));
                };
                for value in elems {
                    memory::check()?;
                    self.assign(target, value, frame)?;
                    self.clauses(body, rest, frame, collected)?;
                }
                Ok(())
            }
            (None, Body::Item(item), Collected::List(items)) => {
                let item = self.eval(item, frame)?;
                if items.len() == items.capacity() {
                    memory::room(crate::lang::value::size(2 * items.len()))?;
                }
                items.push(item);
                Ok(())
            }
            (None, Body::Entry(entry), Collected::Dict(table)) => {
                let key = self.eval(&entry.0, frame)?;
                let value = self.eval(&entry.1, frame)?;
                table.insert(key, value).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// `object.name`
    pub(crate) fn field(&mut self, object: &Value, name: &str) -> Fallible<Value> {
        if let Some(found) = self.find_field(object, name)? {
            return Ok(found);
        }
        let kind = object.type_name();
        let mut words = match object {
            Value::Struct(_) => format!("struct has no .{name} attribute"),
            _ => format!("{kind} has no .{name} field or method"),
        };
        let fields = self.fields(object);
        if let Some(meant) = nearest(name, fields.iter().map(String::as_str)) {
            words.push_str(&format!(" (did you mean .{meant}?)"));
        }
        Err(words)
    }

    /// A field or method, if the value has it.
    pub(crate) fn find_field(&self, object: &Value, name: &str) -> Fallible<Option<Value>> {
        Ok(match object {
            Value::Struct(fields) => {
                let field = fields.iter().find(|(own, _)| own == name);
                field.map(|(_, value)| value.clone())
            }
            Value::Module(module) => {
                let member = module.members.iter().find(|(own, _)| *own == name);
                member.map(|(_, value)| value.clone())
            }
            Value::Object(own) => own.field(name, object)?,
            _ => library::method(object, name, self.dialect).map(|(name, run)| {
                let receiver = Some(object.clone());
                Value::Builtin(Rc::new(Builtin {
                    name,
                    receiver,
                    run,
                }))
            }),
        })
    }

    /// The names of a value's fields and methods.
    pub(crate) fn fields(&self, object: &Value) -> Vec<String> {
        let mut names: Vec<String> = match object {
            Value::Struct(fields) => fields.iter().map(|(name, _)| name.clone()).collect(),
            Value::Module(module) => {
                let names = module.members.iter().map(|(name, _)| (*name).to_owned());
                names.collect()
            }
            Value::Object(own) => own.fields().into_iter().map(str::to_owned).collect(),
            _ => library::methods(object, self.dialect)
                .map(str::to_owned)
                .collect(),
        };
        names.sort();
        names
    }
}

enum Collected {
    List(Vec<Value>),
    Dict(Table),
}
