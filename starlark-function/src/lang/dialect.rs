//! What versions of go.starlark.net, and options of the programs that use it,
//! make of the language.

/// The version of the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edition {
    March2020,
    April2021,
    September2021,
    March2023,
    April2025,
    March2026,
}

/// A version and its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) edition: Edition,
    /// Sets, recursion, `while`, statements at the top level, globals that are
    /// assigned again.
    pub(crate) permissive: bool,
    /// Floating point, nested functions, `lambda`, and bitwise operators, which
    /// are options only in the oldest edition.
    pub(crate) complete: bool,
}
