//! What the scanner hands to the parser.

use smol_str::SmolStr;

use super::node::ScalarStyle;

/// A place in the text. Columns count characters, the index counts bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Debug)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag(String),
    Scalar(SmolStr, ScalarStyle),
}

#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: Mark,
    /// The byte behind the token.
    pub(super) end: usize,
}

/// A comment, and the token that it belongs to.
#[derive(Debug, Default)]
pub(super) struct Comment {
    /// Where looking for comments began.
    pub(super) scanned_from: usize,
    /// The comment goes to the first token that starts here or later.
    pub(super) token: usize,
    pub(super) start: Mark,
    pub(super) end: usize,
    pub(super) head: String,
    pub(super) line: String,
    pub(super) foot: String,
}

/// Text that is not YAML, or more of it than is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// 1 for the first line; 0 where no line is known.
    pub line: usize,
    pub problem: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "yaml: {}", self.problem),
            line => write!(f, "yaml: line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for ParseError {}
