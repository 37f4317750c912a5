//! The catalog's everyday KRM functions, native: the same bytes as the Go
//! functions write, without a process.
//!
//! [`catalog`] lists the functions; each reads a ResourceList with [`yaml`],
//! edits it and writes it back. Nothing is kept between two calls.
#![forbid(unsafe_code)]

pub mod catalog;
mod function;
mod go;
mod kptfile;
mod list;
mod object;
mod results;
mod scope;
mod search_replace;
mod set_labels;
mod set_namespace;
mod setters;
mod small;
pub mod yaml;

pub use function::{Clock, Ended, Late};
