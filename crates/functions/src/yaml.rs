//! A YAML document model for KRM: reads text into a tree that knows its
//! comments, styles and lines, and writes trees as yaml.v3 does, which is what the
//! Go functions write with.
//!
//! Bounded on hostile input: depth is limited, aliases are never followed.

mod block;
mod canonical;
mod edit;
mod emitter;
mod node;
mod parser;
mod resolve;
mod scanner;
mod source;
mod token;

pub use block::Block;
pub(crate) use block::Late;
pub(crate) use canonical::{Column, Object, Style, object};
pub use edit::NotAMapping;
pub(crate) use emitter::write_sized;
pub use emitter::{SequenceIndent, write, write_node};
pub(crate) use node::kind_name;
pub use node::{Comments, Content, Node, ScalarStyle, Tag};
pub(crate) use parser::parse_from;
pub use parser::{Document, parse_all};
pub use resolve::{is_old_boolean, resolve};
pub(crate) use source::Source;
pub use token::ParseError;
