//! Programs as trees.

use std::{cell::Cell, rc::Rc};

use super::{Position, Token};
use crate::lang::Value;

/// A name that is used or bound; `binding` is set by the resolver.
#[derive(Debug, Clone)]
pub(in crate::lang) struct Ident {
    pub(in crate::lang) name: Rc<str>,
    pub(in crate::lang) at: Position,
    pub(in crate::lang) binding: Rc<Cell<usize>>,
}

#[derive(Debug)]
pub(in crate::lang) enum Statement {
    Expression(Expr),
    /// `break`, `continue` or `pass`.
    Branch {
        token: Token,
        at: Position,
    },
    Assign {
        operator: Token,
        target: Expr,
        value: Expr,
    },
    If {
        at: Position,
        condition: Expr,
        yes: Vec<Statement>,
        no: Vec<Statement>,
    },
    For {
        at: Position,
        target: Expr,
        iterable: Expr,
        body: Vec<Statement>,
    },
    While {
        at: Position,
        condition: Expr,
        body: Vec<Statement>,
    },
    Def {
        name: Ident,
        function: Rc<Function>,
    },
    Return {
        at: Position,
        value: Option<Expr>,
    },
    Load {
        at: Position,
        module: Rc<str>,
        names: Vec<(Ident, Ident)>,
    },
}

/// A function's text.
#[derive(Debug)]
pub(in crate::lang) struct Function {
    pub(in crate::lang) name: Rc<str>,
    pub(in crate::lang) at: Position,
    pub(in crate::lang) params: Vec<Param>,
    pub(in crate::lang) body: Vec<Statement>,
    pub(in crate::lang) shape: std::cell::OnceCell<Shape>,
}

/// What the resolver found out about a function.
#[derive(Debug)]
pub(in crate::lang) struct Shape {
    /// Names of the parameters, in the order of their slots: those that are
    /// passed by position, by keyword only, the rest, the other keywords.
    pub(in crate::lang) params: Vec<Rc<str>>,
    pub(in crate::lang) keyword_only: usize,
    pub(in crate::lang) has_rest: bool,
    pub(in crate::lang) has_keywords: bool,
    /// Bindings of the local variables, by slot.
    pub(in crate::lang) locals: Vec<usize>,
    /// Bindings, in the function around it, of the variables that it captures.
    pub(in crate::lang) captured: Vec<usize>,
}

#[derive(Debug)]
pub(in crate::lang) enum Param {
    Required(Ident),
    Optional {
        name: Ident,
        at: Position,
        default: Expr,
    },
    /// `*` or `*args`.
    Rest {
        at: Position,
        name: Option<Ident>,
    },
    /// `**kwargs`.
    Keywords {
        at: Position,
        name: Ident,
    },
}

#[derive(Debug)]
pub(in crate::lang) struct Expr {
    /// Where it begins.
    pub(in crate::lang) at: Position,
    pub(in crate::lang) kind: Kind,
}

#[derive(Debug)]
pub(in crate::lang) enum Kind {
    Ident(Ident),
    Literal(Value),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Paren(Box<Expr>),
    Condition {
        condition: Box<Expr>,
        yes: Box<Expr>,
        no: Box<Expr>,
    },
    Unary {
        operator: Token,
        operand: Box<Expr>,
    },
    Binary {
        operator: Token,
        at: Position,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Dot {
        object: Box<Expr>,
        name: Rc<str>,
    },
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
    },
    Slice {
        object: Box<Expr>,
        parts: [Option<Box<Expr>>; 3],
    },
    Call {
        function: Box<Expr>,
        arguments: Vec<Argument>,
    },
    Lambda(Rc<Function>),
    Comprehension {
        body: Body,
        clauses: Vec<Clause>,
    },
}

#[derive(Debug)]
pub(in crate::lang) enum Argument {
    Positional(Expr),
    Named(Ident, Expr),
    Rest(Position, Expr),
    Keywords(Position, Expr),
}

/// What a comprehension collects.
#[derive(Debug)]
pub(in crate::lang) enum Body {
    Item(Box<Expr>),
    Entry(Box<(Expr, Expr)>),
}

#[derive(Debug)]
pub(in crate::lang) enum Clause {
    For { target: Expr, iterable: Expr },
    If(Expr),
}
