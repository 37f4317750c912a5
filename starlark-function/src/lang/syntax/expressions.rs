//! Expressions.

use super::{
    Token,
    ast::{Argument, Body, Clause, Expr, Kind},
    parse::{Parser, lambda},
    scan::Payload,
    token::Named,
};
use crate::lang::{Fallible, Value, memory};

/// Binary operators have ten levels; what is above them is a primary.
const LEVELS: usize = 10;
const COMPARISON: usize = 3;

impl Parser<'_> {
    /// An expression, or several with commas between them.
    pub(super) fn expression(&mut self, in_parens: bool) -> Fallible<Expr> {
        let first = self.test()?;
        if self.token != Token::Comma {
            return Ok(first);
        }
        let at = first.at;
        let mut items = vec![first];
        self.more(&mut items, in_parens)?;
        let kind = Kind::Tuple(items);
        Ok(Expr { at, kind })
    }

    fn more(&mut self, items: &mut Vec<Expr>, allow_trailing: bool) -> Fallible<()> {
        while self.token == Token::Comma {
            let at = self.advance()?;
            if ends_list(self.token) {
                if !allow_trailing {
                    let words = "unparenthesized tuple with trailing comma";
                    return self.scanner.fail(at, words);
                }
                break;
            }
            let item = self.test()?;
            items.push(item);
        }
        Ok(())
    }

    pub(super) fn loop_variables(&mut self) -> Fallible<Expr> {
        let first = self.suffixed()?;
        if self.token != Token::Comma {
            return Ok(first);
        }
        let at = first.at;
        let mut items = vec![first];
        while self.token == Token::Comma {
            self.advance()?;
            if ends_list(self.token) {
                break;
            }
            items.push(self.suffixed()?);
        }
        let kind = Kind::Tuple(items);
        Ok(Expr { at, kind })
    }

    pub(super) fn test(&mut self) -> Fallible<Expr> {
        memory::check_depth()?;
        if self.token == Token::Lambda {
            return self.lambda(true);
        }
        let yes = self.operation(0)?;
        if self.token != Token::If {
            return Ok(yes);
        }
        let if_at = self.advance()?;
        let condition = Box::new(self.operation(0)?);
        if self.token != Token::Else {
            let words = "conditional expression without else clause";
            return self.scanner.fail(if_at, words);
        }
        self.advance()?;
        let no = Box::new(self.test()?);
        let at = yes.at;
        let yes = Box::new(yes);
        let kind = Kind::Condition { condition, yes, no };
        Ok(Expr { at, kind })
    }

    /// A test without a condition behind it.
    fn unconditional(&mut self) -> Fallible<Expr> {
        match self.token {
            Token::Lambda => self.lambda(false),
            _ => self.operation(0),
        }
    }

    fn lambda(&mut self, allow_condition: bool) -> Fallible<Expr> {
        let at = self.advance()?;
        let params = self.params()?;
        self.expect(Token::Colon)?;
        let body = if allow_condition {
            self.test()?
        } else {
            self.unconditional()?
        };
        let kind = Kind::Lambda(lambda(at, params, body));
        Ok(Expr { at, kind })
    }

    /// Binary operators of at least this level.
    fn operation(&mut self, level: usize) -> Fallible<Expr> {
        memory::check_depth()?;
        if level >= LEVELS {
            return self.suffixed();
        }
        if self.token == Token::Not && Token::Not.precedence() == Some(level) {
            let at = self.advance()?;
            let operand = Box::new(self.operation(level)?);
            let operator = Token::Not;
            let kind = Kind::Unary { operator, operand };
            return Ok(Expr { at, kind });
        }
        let mut left = self.operation(level + 1)?;
        let mut previous = None;
        loop {
            if self.token == Token::Not {
                self.advance()?;
                if self.token != Token::In {
                    return self.fail(format!("got {}, want in", Named(self.token)));
                }
                self.token = Token::NotIn;
            }
            let of_token = self.token.precedence().filter(|own| *own >= level);
            let Some(own) = of_token else {
                return Ok(left);
            };
            if let (Some(previous), COMPARISON) = (previous, own) {
                let previous: Token = previous;
                return self.fail(format!(
                    "{} does not associate with {} (use parens)",
                    previous.text(),
                    self.token.text()
                ));
            }
            let operator = self.token;
            let at = self.advance()?;
            let right = Box::new(self.operation(own + 1)?);
            previous = Some(operator);
            let begins = left.at;
            let left_box = Box::new(left);
            left = Expr {
                at: begins,
                kind: Kind::Binary {
                    operator,
                    at,
                    left: left_box,
                    right,
                },
            };
        }
    }

    /// A primary with its calls, indices and fields.
    pub(super) fn suffixed(&mut self) -> Fallible<Expr> {
        let mut expr = self.primary()?;
        loop {
            let at = expr.at;
            let object = Box::new(expr);
            let kind = match self.token {
                Token::Dot => {
                    self.advance()?;
                    let name = self.ident()?.name;
                    Kind::Dot { object, name }
                }
                Token::LBrack => self.index(object)?,
                Token::LParen => {
                    self.advance()?;
                    let arguments = self.arguments()?;
                    self.expect(Token::RParen)?;
                    let function = object;
                    Kind::Call {
                        function,
                        arguments,
                    }
                }
                _ => return Ok(*object),
            };
            expr = Expr { at, kind };
        }
    }

    fn index(&mut self, object: Box<Expr>) -> Fallible<Kind> {
        self.advance()?;
        let mut parts = [None, None, None];
        if self.token != Token::Colon {
            let index = Box::new(self.expression(false)?);
            if self.token == Token::RBrack {
                self.advance()?;
                return Ok(Kind::Index { object, index });
            }
            parts[0] = Some(index);
        }
        for part in &mut parts[1..] {
            if self.token == Token::Colon {
                self.advance()?;
                if self.token != Token::Colon && self.token != Token::RBrack {
                    *part = Some(Box::new(self.test()?));
                }
            }
        }
        self.expect(Token::RBrack)?;
        Ok(Kind::Slice { object, parts })
    }

    fn arguments(&mut self) -> Fallible<Vec<Argument>> {
        let mut arguments = Vec::new();
        while self.token != Token::RParen && self.token != Token::End {
            if !arguments.is_empty() {
                self.expect(Token::Comma)?;
            }
            if self.token == Token::RParen {
                break;
            }
            let argument = match self.token {
                Token::Star => {
                    let at = self.advance()?;
                    Argument::Rest(at, self.test()?)
                }
                Token::StarStar => {
                    let at = self.advance()?;
                    Argument::Keywords(at, self.test()?)
                }
                _ => {
                    let expr = self.test()?;
                    match (self.token, expr) {
                        (
                            Token::Eq,
                            Expr {
                                kind: Kind::Ident(name),
                                ..
                            },
                        ) => {
                            self.advance()?;
                            Argument::Named(name, self.test()?)
                        }
                        (Token::Eq, _) => {
                            return self.fail("keyword argument must have form name=expr");
                        }
                        (_, expr) => Argument::Positional(expr),
                    }
                }
            };
            arguments.push(argument);
        }
        Ok(arguments)
    }

    fn primary(&mut self) -> Fallible<Expr> {
        memory::check_depth()?;
        let at = self.at;
        let kind = match self.token {
            Token::Ident => Kind::Ident(self.ident()?),
            Token::Int | Token::Float | Token::Text | Token::Bytes => {
                let value = match std::mem::take(&mut self.payload) {
                    Payload::Int(number) => Value::Int(number),
                    Payload::Float(number) => Value::Float(number),
                    Payload::Bytes(text) if self.token == Token::Bytes => Value::bytes(text),
                    Payload::Bytes(text) => Value::text(text),
                    Payload::Nothing | Payload::Word(_) => Value::None,
                };
                self.advance()?;
                Kind::Literal(value)
            }
            Token::LBrack => self.list()?,
            Token::LBrace => self.dict()?,
            Token::LParen => {
                self.advance()?;
                if self.token == Token::RParen {
                    self.advance()?;
                    Kind::Tuple(Vec::new())
                } else {
                    let inner = Box::new(self.expression(true)?);
                    self.expect(Token::RParen)?;
                    Kind::Paren(inner)
                }
            }
            Token::Minus | Token::Plus | Token::Tilde => {
                let operator = self.token;
                self.advance()?;
                let operand = Box::new(self.suffixed()?);
                Kind::Unary { operator, operand }
            }
            token => {
                let place = if self.late_positions {
                    self.scanner.position
                } else {
                    at
                };
                let words = format!("got {}, want primary expression", Named(token));
                return self.scanner.fail(place, words);
            }
        };
        Ok(Expr { at, kind })
    }

    fn list(&mut self) -> Fallible<Kind> {
        self.advance()?;
        if self.token == Token::RBrack {
            self.advance()?;
            return Ok(Kind::List(Vec::new()));
        }
        let first = self.test()?;
        if self.token == Token::For {
            let body = Body::Item(Box::new(first));
            return self.comprehension(body, Token::RBrack);
        }
        let mut items = vec![first];
        self.more(&mut items, true)?;
        self.expect(Token::RBrack)?;
        Ok(Kind::List(items))
    }

    fn dict(&mut self) -> Fallible<Kind> {
        self.advance()?;
        if self.token == Token::RBrace {
            self.advance()?;
            return Ok(Kind::Dict(Vec::new()));
        }
        let first = self.entry()?;
        if self.token == Token::For {
            let body = Body::Entry(Box::new(first));
            return self.comprehension(body, Token::RBrace);
        }
        let mut entries = vec![first];
        while self.token == Token::Comma {
            self.advance()?;
            if self.token == Token::RBrace {
                break;
            }
            let entry = self.entry()?;
            entries.push(entry);
        }
        self.expect(Token::RBrace)?;
        Ok(Kind::Dict(entries))
    }

    fn entry(&mut self) -> Fallible<(Expr, Expr)> {
        let key = self.test()?;
        self.expect(Token::Colon)?;
        Ok((key, self.test()?))
    }

    fn comprehension(&mut self, body: Body, end: Token) -> Fallible<Kind> {
        let mut clauses = Vec::new();
        while self.token != end {
            let clause = match self.token {
                Token::For => {
                    self.advance()?;
                    let target = self.loop_variables()?;
                    self.expect(Token::In)?;
                    let iterable = self.operation(0)?;
                    Clause::For { target, iterable }
                }
                Token::If => {
                    self.advance()?;
                    Clause::If(self.unconditional()?)
                }
                token => {
                    let words = format!("got {}, want '{}', for, or if", Named(token), end.text());
                    return self.fail(words);
                }
            };
            clauses.push(clause);
        }
        self.advance()?;
        Ok(Kind::Comprehension { body, clauses })
    }
}

fn ends_list(token: Token) -> bool {
    matches!(
        token,
        Token::End
            | Token::Newline
            | Token::Eq
            | Token::RBrace
            | Token::RBrack
            | Token::RParen
            | Token::Semi
    )
}
