//! Statements.

use std::{cell::Cell, rc::Rc};

use super::{
    Position, Token,
    ast::{Expr, Function, Ident, Param, Statement},
    scan::{Payload, Scanner},
    token::Named,
};
use crate::lang::{Fallible, dialect::Edition, memory};

pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) token: Token,
    pub(super) payload: Payload,
    /// Where the current token begins.
    pub(super) at: Position,
    /// Whether `got …, want primary expression` names the place behind the token.
    pub(super) late_positions: bool,
}

/// Parses a program.
pub(in crate::lang) fn parse(
    file: &str,
    source: &str,
    edition: Edition,
) -> Fallible<Vec<Statement>> {
    let mut parser = Parser {
        scanner: Scanner::new(file, source, edition),
        token: Token::End,
        payload: Payload::Nothing,
        at: Position::default(),
        late_positions: edition < Edition::April2025,
    };
    parser.advance()?;
    let mut statements = Vec::new();
    while parser.token != Token::End {
        if parser.token == Token::Newline {
            parser.advance()?;
            continue;
        }
        parser.statement(&mut statements)?;
    }
    Ok(statements)
}

impl Parser<'_> {
    /// Goes to the next token; returns where the current one began.
    pub(super) fn advance(&mut self) -> Fallible<Position> {
        let before = self.at;
        (self.token, self.payload) = self.scanner.next()?;
        self.at = self.scanner.start;
        Ok(before)
    }

    pub(super) fn fail<T>(&self, words: impl AsRef<str>) -> Fallible<T> {
        self.scanner.fail(self.scanner.position, words)
    }

    pub(super) fn expect(&mut self, token: Token) -> Fallible<Position> {
        if self.token != token {
            return self.fail(format!("got {}, want {}", Named(self.token), Named(token)));
        }
        self.advance()
    }

    pub(super) fn ident(&mut self) -> Fallible<Ident> {
        let Payload::Word(name) = std::mem::take(&mut self.payload) else {
            return self.fail("not an identifier");
        };
        let at = self.advance()?;
        Ok(ident(&name, at))
    }

    fn statement(&mut self, into: &mut Vec<Statement>) -> Fallible<()> {
        memory::check_depth()?;
        let statement = match self.token {
            Token::Def => self.def()?,
            Token::If => self.if_statement()?,
            Token::For => self.for_statement()?,
            Token::While => {
                let at = self.advance()?;
                let condition = self.test()?;
                self.expect(Token::Colon)?;
                let body = self.suite()?;
                Statement::While {
                    at,
                    condition,
                    body,
                }
            }
            _ => return self.simple_statements(into),
        };
        into.push(statement);
        Ok(())
    }

    fn def(&mut self) -> Fallible<Statement> {
        let at = self.advance()?;
        let name = self.ident()?;
        self.expect(Token::LParen)?;
        let params = self.params()?;
        self.expect(Token::RParen)?;
        self.expect(Token::Colon)?;
        let body = self.suite()?;
        let function = function(name.name.clone(), at, params, body);
        Ok(Statement::Def { name, function })
    }

    /// `if` or `elif`.
    fn if_statement(&mut self) -> Fallible<Statement> {
        memory::check_depth()?;
        let at = self.advance()?;
        let condition = self.test()?;
        self.expect(Token::Colon)?;
        let yes = self.suite()?;
        let no = match self.token {
            Token::Elif => vec![self.if_statement()?],
            Token::Else => {
                self.advance()?;
                self.expect(Token::Colon)?;
                self.suite()?
            }
            _ => Vec::new(),
        };
        Ok(Statement::If {
            at,
            condition,
            yes,
            no,
        })
    }

    fn for_statement(&mut self) -> Fallible<Statement> {
        let at = self.advance()?;
        let target = self.loop_variables()?;
        self.expect(Token::In)?;
        let iterable = self.expression(false)?;
        self.expect(Token::Colon)?;
        let body = self.suite()?;
        Ok(Statement::For {
            at,
            target,
            iterable,
            body,
        })
    }

    fn suite(&mut self) -> Fallible<Vec<Statement>> {
        let mut statements = Vec::new();
        if self.token != Token::Newline {
            self.simple_statements(&mut statements)?;
            return Ok(statements);
        }
        self.advance()?;
        self.expect(Token::Indent)?;
        while self.token != Token::Outdent && self.token != Token::End {
            self.statement(&mut statements)?;
        }
        self.expect(Token::Outdent)?;
        Ok(statements)
    }

    fn simple_statements(&mut self, into: &mut Vec<Statement>) -> Fallible<()> {
        loop {
            let statement = self.small_statement()?;
            into.push(statement);
            if self.token != Token::Semi {
                break;
            }
            self.advance()?;
            if self.token == Token::Newline || self.token == Token::End {
                break;
            }
        }
        if self.token != Token::End {
            self.expect(Token::Newline)?;
        }
        Ok(())
    }

    fn small_statement(&mut self) -> Fallible<Statement> {
        match self.token {
            Token::Return => {
                let at = self.advance()?;
                let ends = matches!(self.token, Token::End | Token::Newline | Token::Semi);
                let value = if ends {
                    None
                } else {
                    Some(self.expression(false)?)
                };
                return Ok(Statement::Return { at, value });
            }
            Token::Break | Token::Continue | Token::Pass => {
                let token = self.token;
                let at = self.advance()?;
                return Ok(Statement::Branch { token, at });
            }
            Token::Load => return self.load(),
            _ => {}
        }
        let target = self.expression(false)?;
        match self.token {
            Token::Eq
            | Token::PlusEq
            | Token::MinusEq
            | Token::StarEq
            | Token::SlashEq
            | Token::SlashSlashEq
            | Token::PercentEq
            | Token::AmpEq
            | Token::PipeEq
            | Token::CircumflexEq
            | Token::LtLtEq
            | Token::GtGtEq => {
                let operator = self.token;
                self.advance()?;
                let value = self.expression(false)?;
                Ok(Statement::Assign {
                    operator,
                    target,
                    value,
                })
            }
            _ => Ok(Statement::Expression(target)),
        }
    }

    fn load(&mut self) -> Fallible<Statement> {
        let at = self.advance()?;
        let paren = self.expect(Token::LParen)?;
        if self.token != Token::Text {
            return self.fail("first operand of load statement must be a string literal");
        }
        let (module, _) = self.literal_text()?;
        let mut names = Vec::new();
        while self.token != Token::RParen && self.token != Token::End {
            self.expect(Token::Comma)?;
            match self.token {
                Token::RParen => break,
                Token::Text => {
                    let (name, at) = self.literal_text()?;
                    let name = ident(&name, at);
                    names.push((name.clone(), name));
                }
                Token::Ident => {
                    let to = self.ident()?;
                    let name = &to.name;
                    if self.token != Token::Eq {
                        return self.fail(format!(
                            "load operand must be \"{name}\" or {name}=\"originalname\" (want \
                             '=' after {name})"
                        ));
                    }
                    self.advance()?;
                    if self.token != Token::Text {
                        return self.fail(format!(
                            "original name of loaded symbol must be quoted: \
                             {name}=\"originalname\""
                        ));
                    }
                    let (from, at) = self.literal_text()?;
                    names.push((to, ident(&from, at)));
                }
                token => {
                    return self.fail(format!(
                        "load operand must be \"name\" or localname=\"name\" (got {})",
                        Named(token)
                    ));
                }
            }
        }
        self.expect(Token::RParen)?;
        if names.is_empty() {
            let words = "load statement must import at least 1 symbol";
            return self.scanner.fail(paren, words);
        }
        let module = module.as_str().into();
        Ok(Statement::Load { at, module, names })
    }

    /// A literal's text, and where it begins behind its quote.
    fn literal_text(&mut self) -> Fallible<(String, Position)> {
        let text = match std::mem::take(&mut self.payload) {
            Payload::Bytes(text) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        };
        let mut at = self.advance()?;
        at.column += 1;
        Ok((text, at))
    }

    pub(super) fn params(&mut self) -> Fallible<Vec<Param>> {
        let mut params = Vec::new();
        while !matches!(self.token, Token::RParen | Token::Colon | Token::End) {
            if !params.is_empty() {
                self.expect(Token::Comma)?;
            }
            if self.token == Token::RParen {
                break;
            }
            let param = match self.token {
                Token::Star => {
                    let at = self.advance()?;
                    let name = match self.token {
                        Token::Ident => Some(self.ident()?),
                        _ => None,
                    };
                    Param::Rest { at, name }
                }
                Token::StarStar => {
                    let at = self.advance()?;
                    let name = self.ident()?;
                    Param::Keywords { at, name }
                }
                _ => {
                    let name = self.ident()?;
                    match self.token {
                        Token::Eq => {
                            let at = self.advance()?;
                            let default = self.test()?;
                            Param::Optional { name, at, default }
                        }
                        _ => Param::Required(name),
                    }
                }
            };
            params.push(param);
        }
        Ok(params)
    }
}

pub(super) fn function(
    name: Rc<str>,
    at: Position,
    params: Vec<Param>,
    body: Vec<Statement>,
) -> Rc<Function> {
    Rc::new(Function {
        name,
        at,
        params,
        body,
        shape: std::cell::OnceCell::new(),
    })
}

fn ident(name: &str, at: Position) -> Ident {
    Ident {
        name: name.into(),
        at,
        binding: Rc::new(Cell::new(usize::MAX)),
    }
}

/// The function of a `lambda`.
pub(super) fn lambda(at: Position, params: Vec<Param>, body: Expr) -> Rc<Function> {
    let at_body = body.at;
    let body = Statement::Return {
        at: at_body,
        value: Some(body),
    };
    function("lambda".into(), at, params, vec![body])
}
