//! Programs as text, and what it means: tokens, trees, and which name is what.

pub(super) mod ast;
mod calls;
mod expressions;
pub(super) mod names;
mod number;
mod parse;
mod quote;
mod resolve;
mod scan;
mod token;

pub(super) use parse::parse;
pub(super) use quote::quote;
pub(super) use resolve::{Names, resolve};
pub(super) use token::Token;

/// A place in a program: line and column (in characters), both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// What is wrong at a place, as errors of parser and resolver say it.
pub(super) fn complaint(file: &str, at: Position, words: &str) -> String {
    format!("{file}:{}:{}: {words}", at.line, at.column)
}
