//! Statements, and assigning.

use std::rc::Rc;

use super::{Frame, Slot, Thread, call::Closure};
use crate::lang::{
    Fallible, Operator, Value,
    dialect::Edition,
    index,
    iterate::{collect, iterate},
    memory, operators,
    spell::nearest,
    syntax::{
        Token,
        ast::{Expr, Function, Ident, Kind, Param, Statement},
        names::Scope,
    },
    value::size,
};

/// How a block was left.
pub(super) enum Flow {
    End,
    Break,
    Continue,
    Return(Value),
}

impl Thread<'_> {
    pub(super) fn block(&mut self, block: &[Statement], frame: &mut Frame) -> Fallible<Flow> {
        for statement in block {
            match self.statement(statement, frame)? {
                Flow::End => {}
                left => return Ok(left),
            }
        }
        Ok(Flow::End)
    }

    fn statement(&mut self, statement: &Statement, frame: &mut Frame) -> Fallible<Flow> {
        memory::check()?;
        match statement {
            Statement::Expression(expr) => {
                self.eval(expr, frame)?;
            }
            Statement::Branch { token, .. } => {
                return Ok(match token {
                    Token::Break => Flow::Break,
                    Token::Continue => Flow::Continue,
                    _ => Flow::End,
                });
            }
            Statement::Assign {
                operator,
                target,
                value,
            } => match Operator::of(*operator) {
                None => {
                    let value = self.eval(value, frame)?;
                    self.assign(target, value, frame)?;
                }
                Some(operator) => self.augment(operator, target, value, frame)?,
            },
            Statement::If {
                condition, yes, no, ..
            } => {
                let block = if self.eval(condition, frame)?.truth() {
                    yes
                } else {
                    no
                };
                return self.block(block, frame);
            }
            Statement::For {
                target,
                iterable,
                body,
                ..
            } => {
                let iterable = self.eval(iterable, frame)?;
                let Some(elems) = iterate(&iterable) else {
                    return Err(format!("{} value is not iterable", iterable.type_name()));
                };
                for value in elems {
                    memory::check()?;
                    self.assign(target, value, frame)?;
                    match self.block(body, frame)? {
                        Flow::End | Flow::Continue => {}
                        Flow::Break => break,
                        left => return Ok(left),
                    }
                }
            }
            Statement::While {
                condition, body, ..
            } => {
                while self.eval(condition, frame)?.truth() {
                    match self.block(body, frame)? {
                        Flow::End | Flow::Continue => {}
                        Flow::Break => break,
                        left => return Ok(left),
                    }
                }
            }
            Statement::Def { name, function } => {
                let closure = self.closure(function, frame)?;
                self.set(name, closure, frame);
            }
            Statement::Return { value, .. } => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.eval(value, frame)?,
                    None => Value::None,
                }));
            }
            Statement::Load { module, names, .. } => self.load(module, names, frame)?,
        }
        Ok(Flow::End)
    }

    fn load(&mut self, module: &str, names: &[(Ident, Ident)], frame: &mut Frame) -> Fallible<()> {
        let members = (self.host.load)(module)?;
        for (to, from) in names {
            let member = members.iter().find(|(name, _)| *name == &*from.name);
            let Some((_, value)) = member else {
                let mut words = format!("load: name {} not found in module {module}", from.name);
                let known = members.iter().map(|(name, _)| *name);
                if let Some(meant) = nearest(&from.name, known) {
                    words.push_str(&format!(" (did you mean {meant}?)"));
                }
                return Err(words);
            };
            self.set(to, value.clone(), frame);
        }
        Ok(())
    }

    /// A function with its defaults and captured variables.
    pub(super) fn closure(
        &mut self,
        function: &Rc<Function>,
        frame: &mut Frame,
    ) -> Fallible<Value> {
        let mut defaults = Vec::new();
        let mut is_keyword_only = false;
        for param in &function.params {
            match param {
                Param::Optional { default, .. } => {
                    defaults.push(Some(self.eval(default, frame)?));
                }
                Param::Required(_) if is_keyword_only => defaults.push(None),
                Param::Rest { .. } => is_keyword_only = true,
                Param::Required(_) | Param::Keywords { .. } => {}
            }
        }
        let names = self.names.clone();
        let captured = function
            .shape
            .get()
            .map_or(&[][..], |shape| &shape.captured);
        let captured = captured
            .iter()
            .map(|binding| match names.bindings[*binding].scope {
                Scope::Cell(slot) => match &frame.slots[slot] {
                    Slot::Shared(shared) => shared.clone(),
                    Slot::Own(own) => Rc::new(own.clone().into()),
                },
                Scope::Free(slot) => frame.captured[slot].clone(),
                _ => Rc::default(),
            });
        let captured: Vec<_> = captured.collect();
        let charge = memory::Charge::new(128 + 64 * (captured.len() + defaults.len()));
        Ok(Value::Function(Rc::new(Closure {
            function: function.clone(),
            defaults,
            captured,
            _charge: charge,
        })))
    }

    pub(super) fn set(&mut self, name: &Ident, value: Value, frame: &mut Frame) {
        match self.names.bindings[name.binding.get()].scope {
            Scope::Local(slot) | Scope::Cell(slot) => frame.set(slot, value),
            Scope::Global(slot) => self.globals[slot] = Some(value),
            // What a function assigns to is its own, never captured or given.
            Scope::Free(_) | Scope::Known => {}
        }
    }

    pub(super) fn assign(
        &mut self,
        target: &Expr,
        value: Value,
        frame: &mut Frame,
    ) -> Fallible<()> {
        match &target.kind {
            Kind::Ident(name) => {
                self.set(name, value, frame);
                Ok(())
            }
            Kind::Paren(inner) => self.assign(inner, value, frame),
            Kind::Tuple(targets) | Kind::List(targets) => {
                let values = unpack(&value, targets.len())?;
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, frame)?;
                }
                Ok(())
            }
            Kind::Index { object, index } => {
                let object = self.eval(object, frame)?;
                let index = self.eval(index, frame)?;
                index::set_index(&object, &index, value)
            }
            Kind::Dot { object, name } => {
                let object = self.eval(object, frame)?;
                unassignable(&object, name)
            }
            // The resolver has refused all others.
            _ => Err("can't assign".into()),
        }
    }

    /// `target operator= value`
    fn augment(
        &mut self,
        operator: Operator,
        target: &Expr,
        value: &Expr,
        frame: &mut Frame,
    ) -> Fallible<()> {
        match &target.kind {
            Kind::Paren(inner) => self.augment(operator, inner, value, frame),
            Kind::Index { object, index } => {
                let object = self.eval(object, frame)?;
                let index = self.eval(index, frame)?;
                let before = index::get_index(&object, &index)?;
                let value = self.eval(value, frame)?;
                let value = self.in_place(operator, before, &value)?;
                index::set_index(&object, &index, value)
            }
            Kind::Dot { object, name } => {
                let object = self.eval(object, frame)?;
                let before = self.field(&object, name)?;
                let value = self.eval(value, frame)?;
                self.in_place(operator, before, &value)?;
                unassignable(&object, name)
            }
            _ => {
                let before = self.eval(target, frame)?;
                let value = self.eval(value, frame)?;
                let value = self.in_place(operator, before, &value)?;
                self.assign(target, value, frame)
            }
        }
    }

    /// Lists grow, and dictionaries take entries over, without a copy.
    fn in_place(&mut self, operator: Operator, before: Value, value: &Value) -> Fallible<Value> {
        let has_unions = self.dialect.edition >= Edition::March2023;
        match (operator, &before, value) {
            (Operator::Add, Value::List(list), added) => {
                if iterate(added).is_some() {
                    list.check_mutable("apply += to")?;
                }
                if let Some(elems) = iterate(added) {
                    let items = collect(added, elems)?;
                    memory::room(size(list.len() + items.len()))?;
                    list.edit(|own| own.extend(items));
                    return Ok(before);
                }
            }
            (Operator::Or, Value::Dict(own), Value::Dict(added)) if has_unions => {
                own.check_mutable("apply |= to")?;
                for (key, value) in added.items() {
                    own.insert(key, value)?;
                }
                return Ok(before);
            }
            _ => {}
        }
        operators::binary(self, operator, &before, value)
    }
}

fn unassignable<T>(object: &Value, name: &str) -> Fallible<T> {
    let object = object.type_name();
    Err(format!("can't assign to .{name} field of {object}"))
}

fn unpack(value: &Value, wanted: usize) -> Fallible<Vec<Value>> {
    let Some(mut elems) = iterate(value) else {
        return Err(format!("got {} in sequence assignment", value.type_name()));
    };
    let values: Vec<Value> = elems.by_ref().take(wanted).collect();
    let got = values.len();
    if got < wanted {
        return Err(format!(
            "too few values to unpack (got {got}, want {wanted})"
        ));
    }
    if elems.next().is_some() {
        let got = value.len().map_or("-1".to_owned(), |len| len.to_string());
        return Err(format!(
            "too many values to unpack (got {got}, want {wanted})"
        ));
    }
    Ok(values)
}
