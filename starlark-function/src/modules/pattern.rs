//! Patterns of scripts: Go's, compiled for bytes. The process bounds what they use.

use functions::expression::translate;
use regex::bytes::{Regex, RegexBuilder};

use crate::lang::Fallible;

/// Bytes of a compiled pattern.
const MOST: usize = 4 << 20;

/// Compiles a pattern; the error is in Go's words.
pub(super) fn compile(pattern: &str) -> Fallible<Regex> {
    let refused = |words: String| format!("error parsing regexp: {words}");
    let translated = translate(pattern).map_err(refused)?;
    RegexBuilder::new(&translated.text)
        .size_limit(MOST)
        .dfa_size_limit(MOST)
        .nest_limit(200)
        .build()
        .map_err(|error| {
            refused(match error {
                regex::Error::CompiledTooBig(_) => "expression too large".into(),
                _ => format!("invalid syntax: `{pattern}`"),
            })
        })
}
