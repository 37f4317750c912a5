//! An interpreter of Starlark that answers as go.starlark.net does: the same
//! values, the same words in errors, byte for byte, per version of the original.
//!
//! [`run`] executes a program. What a program can load comes from its caller.

pub(crate) mod args;
mod collections;
mod compare;
pub(crate) mod dialect;
mod eval;
mod index;
pub(crate) mod int;
pub(crate) mod iterate;
mod library;
pub(crate) mod memory;
mod object;
mod operators;
pub(crate) mod show;
mod spell;
mod syntax;
mod table;
pub(crate) mod unicode;
pub(crate) mod value;

pub(crate) use args::Call;
pub(crate) use dialect::Dialect;
pub(crate) use eval::{Host, Thread, run};
pub(crate) use int::Int;
pub(crate) use object::{Builtin, Module, Object};
pub(crate) use operators::Operator;
pub(crate) use value::Value;

/// What went wrong, in the words of the original.
pub(crate) type Fallible<T> = Result<T, String>;
