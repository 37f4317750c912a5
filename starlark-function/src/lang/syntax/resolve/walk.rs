//! The way through a program: what each statement binds and uses, and where it
//! may stand.

use super::*;

impl Resolver<'_> {
    pub(in crate::lang::syntax) fn statements(&mut self, statements: &[Statement]) -> Fallible<()> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Fallible<()> {
        memory::check_depth()?;
        let is_loose = !self.dialect.permissive && !self.in_function();
        match statement {
            Statement::Expression(expr) => self.expr(expr),
            Statement::Branch { token, at } => {
                if self.loops == 0 && *token != Token::Pass {
                    self.fail(*at, format!("{} not in a loop", token.text()))
                } else {
                    Ok(())
                }
            }
            Statement::If {
                at,
                condition,
                yes,
                no,
            } => {
                if is_loose {
                    return self.fail(*at, "if statement not within a function");
                }
                self.expr(condition)?;
                self.conditions += 1;
                self.statements(yes)?;
                self.statements(no)?;
                self.conditions -= 1;
                Ok(())
            }
            Statement::Assign {
                operator,
                target,
                value,
            } => {
                self.expr(value)?;
                self.assign(target, *operator != Token::Eq)
            }
            Statement::Def { name, function } => {
                if !self.dialect.complete && self.in_function() {
                    return self.fail(function.at, format!("{DOESNT}support nested def"));
                }
                self.bind(name)?;
                self.function(function)
            }
            Statement::For {
                at,
                target,
                iterable,
                body,
            } => {
                if is_loose {
                    return self.fail(*at, "for loop not within a function");
                }
                self.expr(iterable)?;
                self.assign(target, false)?;
                self.in_loop(body)
            }
            Statement::While {
                at,
                condition,
                body,
            } => {
                if !self.dialect.permissive {
                    return self.fail(*at, format!("{DOESNT}support while loops"));
                }
                self.expr(condition)?;
                self.in_loop(body)
            }
            Statement::Return { at, value } => {
                if !self.in_function() {
                    return self.fail(*at, "return statement not within a function");
                }
                value.iter().try_for_each(|value| self.expr(value))
            }
            Statement::Load { at, names, .. } => self.load(*at, names),
        }
    }

    fn in_loop(&mut self, body: &[Statement]) -> Fallible<()> {
        self.loops += 1;
        self.statements(body)?;
        self.loops -= 1;
        Ok(())
    }

    fn load(&mut self, at: Position, names: &[(Ident, Ident)]) -> Fallible<()> {
        if self.in_function() {
            return self.fail(at, "load statement within a function");
        }
        if self.loops > 0 {
            return self.fail(at, "load statement within a loop");
        }
        if self.conditions > 0 {
            return self.fail(at, "load statement within a conditional");
        }
        for (to, from) in names {
            if from.name.is_empty() {
                return self.fail(from.at, "load: empty identifier");
            }
            if from.name.starts_with('_') {
                let words = "load: names with leading underscores are not exported: ";
                return self.fail(from.at, format!("{words}{}", from.name));
            }
            if self.bind_local(to) && !self.dialect.permissive {
                return self.fail(to.at, format!("cannot reassign top-level {}", to.name));
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: &Expr, is_augmented: bool) -> Fallible<()> {
        memory::check_depth()?;
        match &target.kind {
            Kind::Ident(ident) => self.bind(ident).map(drop),
            Kind::Index { object, index } => {
                self.expr(object)?;
                self.expr(index)
            }
            Kind::Dot { object, .. } => self.expr(object),
            Kind::Tuple(items) | Kind::List(items) => {
                if is_augmented {
                    let what = match &target.kind {
                        Kind::List(_) => "list",
                        _ => "tuple",
                    };
                    let words = format!("can't use {what} expression in augmented assignment");
                    return self.fail(target.at, words);
                }
                items.iter().try_for_each(|item| self.assign(item, false))
            }
            Kind::Paren(inner) => self.assign(inner, is_augmented),
            kind => {
                let name = match kind {
                    Kind::Literal(_) => "literal",
                    Kind::Dict(_) => "dictexpr",
                    Kind::Condition { .. } => "condexpr",
                    Kind::Unary { .. } => "unaryexpr",
                    Kind::Binary { .. } => "binaryexpr",
                    Kind::Slice { .. } => "sliceexpr",
                    Kind::Call { .. } => "callexpr",
                    Kind::Lambda(_) => "lambdaexpr",
                    _ => "comprehension",
                };
                self.fail(target.at, format!("can't assign to {name}"))
            }
        }
    }

    pub(in crate::lang::syntax) fn expr(&mut self, expr: &Expr) -> Fallible<()> {
        memory::check_depth()?;
        match &expr.kind {
            Kind::Ident(ident) => self.use_name(ident),
            Kind::Literal(Value::Float(_)) if !self.dialect.complete => {
                self.fail(expr.at, format!("{DOESNT}support floating point"))
            }
            Kind::Literal(_) => Ok(()),
            Kind::List(items) | Kind::Tuple(items) => {
                items.iter().try_for_each(|item| self.expr(item))
            }
            Kind::Dict(entries) => entries.iter().try_for_each(|(key, value)| {
                self.expr(key)?;
                self.expr(value)
            }),
            Kind::Paren(inner) | Kind::Dot { object: inner, .. } => self.expr(inner),
            Kind::Unary { operand, .. } => self.expr(operand),
            Kind::Condition { condition, yes, no } => {
                self.expr(condition)?;
                self.expr(yes)?;
                self.expr(no)
            }
            Kind::Binary {
                operator,
                at,
                left,
                right,
            } => {
                if !self.dialect.complete && *operator == Token::Slash {
                    return self.fail(*at, format!("{DOESNT}support floating point (use //)"));
                }
                self.expr(left)?;
                self.expr(right)
            }
            Kind::Index { object, index } => {
                self.expr(object)?;
                self.expr(index)
            }
            Kind::Slice { object, parts } => {
                self.expr(object)?;
                parts.iter().flatten().try_for_each(|part| self.expr(part))
            }
            Kind::Call {
                function,
                arguments,
            } => {
                self.expr(function)?;
                self.arguments(expr.at, arguments)
            }
            Kind::Lambda(function) => {
                if !self.dialect.complete {
                    return self.fail(expr.at, format!("{DOESNT}support lambda"));
                }
                self.function(function)
            }
            Kind::Comprehension { body, clauses } => self.comprehension(body, clauses),
        }
    }

    fn comprehension(&mut self, body: &Body, clauses: &[Clause]) -> Fallible<()> {
        // What the first loop runs over is seen from outside.
        if let Some(Clause::For { iterable, .. }) = clauses.first() {
            self.expr(iterable)?;
        }
        self.push(None);
        for (at, clause) in clauses.iter().enumerate() {
            match clause {
                Clause::For { target, iterable } => {
                    self.assign(target, false)?;
                    if at > 0 {
                        self.expr(iterable)?;
                    }
                }
                Clause::If(condition) => self.expr(condition)?,
            }
        }
        match body {
            Body::Item(item) => self.expr(item)?,
            Body::Entry(entry) => {
                self.expr(&entry.0)?;
                self.expr(&entry.1)?;
            }
        }
        self.pop();
        Ok(())
    }
}
