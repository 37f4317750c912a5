//! What a walk finds: parts of blocks, and where they are.

use std::ops::Range;

use super::super::{emitter::SequenceIndent, node::ScalarStyle};

/// How the emitter's caller has things written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) indent: SequenceIndent,
    /// Whether a comment above the first field of a sequence's entry stays there, behind
    /// the dash.
    pub(crate) keeps_heads: bool,
}

/// Where the keys or dashes of a block are, and where the emitter writes them.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) read: usize,
    pub(crate) written: usize,
}

impl Column {
    /// Of a block that was proven.
    pub(super) fn proven(column: usize) -> Self {
        let (read, written) = (column, column);
        Self { read, written }
    }
}

/// A field, or the entry of a sequence. Ranges are of the source.
pub(super) struct Part {
    /// Comments above it.
    pub(super) head: Range<usize>,
    pub(super) key: Range<usize>,
    pub(super) value: Value,
    /// The comment behind the value, or behind the key of a block.
    pub(super) comment: Range<usize>,
    pub(super) line: u32,
}

pub(super) enum Value {
    /// Without its quotes.
    Scalar(ScalarStyle, Range<usize>),
    /// Lines of text from a column on; whether the last one's end belongs to it.
    Literal {
        range: Range<usize>,
        column: usize,
        is_ended: bool,
    },
    Flow(Range<usize>),
    Block(Inside),
}

/// A block that begins where the walk is: the walk has not gone over it.
#[derive(Clone, Copy)]
pub(super) struct Inside {
    pub(super) is_mapping: bool,
    pub(super) start: usize,
    pub(super) line: u32,
    /// The line of the first entry, below its comments.
    pub(super) first: u32,
    pub(super) column: Column,
}
