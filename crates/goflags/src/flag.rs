//! Short forms for the tables of flags.

use crate::{Flag, Takes};

/// A flag with a value, which the help calls `takes`.
pub const fn value(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag {
        name,
        takes: Takes::Value(takes),
        default,
        help,
    }
}

/// A boolean flag.
pub const fn switch(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        takes: Takes::Switch,
        default,
        help,
    }
}

pub const HELP: Flag = switch("help", "false", "Show this text.");
pub const H: Flag = switch("h", "false", "The same.");
