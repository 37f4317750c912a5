//! Command lines as Go's flag package reads them, so that manifests written for
//! the Go original work unchanged: `--flag=value`, `--flag value`, `-flag=value`
//! and `-flag value` all mean the same; booleans are bare or `=value`, never a
//! separate word; a repeated flag's last value wins; the first word that is not
//! a flag, or `--`, ends the flags.
//!
//! Flags are a table of [`Flag`]s. [`parse`] only sorts the words; [`Flags::get`]
//! reads their values afterwards, and every error names the flag, the value and
//! what is accepted.

pub mod flag;
mod help;
pub mod value;

use std::{collections::HashMap, ffi::OsString};

pub use help::{help, show};

/// One flag of a command.
#[derive(Debug)]
pub struct Flag {
    pub name: &'static str,
    pub takes: Takes,
    pub default: &'static str,
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A boolean: bare, or with `=value`.
    Switch,
    /// A value, and what to call it in the help.
    Value(&'static str),
}

/// Flags that belong together, under a title for the help.
#[derive(Debug)]
pub struct Group {
    pub title: &'static str,
    pub flags: &'static [Flag],
}

/// A command line, sorted but not yet understood.
#[derive(Debug)]
pub struct Flags {
    groups: &'static [Group],
    given: HashMap<&'static str, String>,
    /// What follows the flags.
    pub rest: Vec<OsString>,
    /// Whether `--` ended the flags.
    pub ended_by_dashes: bool,
}

/// What is wrong with a command line. The exit code for all of them is 2.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FlagError {
    #[error("unknown flag {0}; --help lists all flags")]
    Unknown(String),
    #[error("flag --{0} needs a value")]
    Missing(&'static str),
    #[error("invalid value {value:?} for flag --{flag}: expected {expected}")]
    Invalid {
        flag: &'static str,
        value: String,
        expected: String,
    },
    #[error("unexpected argument {0:?}: a boolean's value is written with =, as in --flag=false")]
    Unexpected(OsString),
    #[error("argument {0:?} is not valid UTF-8")]
    NotText(OsString),
}

/// Sorts `args` (without the program's name) by the flags of `groups`.
pub fn parse(
    groups: &'static [Group],
    args: impl IntoIterator<Item = OsString>,
) -> Result<Flags, FlagError> {
    let mut flags = Flags {
        groups,
        given: HashMap::new(),
        rest: Vec::new(),
        ended_by_dashes: false,
    };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            flags.ended_by_dashes = true;
            break;
        }
        let is_flag = arg.as_encoded_bytes().first() == Some(&b'-') && arg.len() > 1;
        if !is_flag {
            flags.rest.push(arg);
            break;
        }
        let arg = arg.into_string().map_err(FlagError::NotText)?;
        let word = arg.strip_prefix("--").unwrap_or(&arg[1..]);
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let flag = flags
            .find(name)
            .ok_or_else(|| FlagError::Unknown(arg.clone()))?;
        let value = match (value, flag.takes) {
            (Some(value), _) => value,
            (None, Takes::Switch) => "true".to_owned(),
            (None, Takes::Value(_)) => {
                let value = args.next().ok_or(FlagError::Missing(flag.name))?;
                value.into_string().map_err(FlagError::NotText)?
            }
        };
        flags.given.insert(flag.name, value);
    }
    flags.rest.extend(args);
    Ok(flags)
}

impl Flags {
    fn find(&self, name: &str) -> Option<&'static Flag> {
        self.groups
            .iter()
            .flat_map(|group| group.flags)
            .find(|flag| flag.name == name)
    }

    /// Whether the flag is on the command line at all.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The flag's value, or its default, as `read` understands it. What `read`
    /// fails with completes the sentence "expected …".
    ///
    /// # Panics
    /// If the table has no such flag, which the first test of a command shows.
    pub fn get<T, E: Into<String>>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, FlagError> {
        let Some(flag) = self.find(name) else {
            panic!("no flag --{name} in the table")
        };
        let value = self.given.get(name).map_or(flag.default, String::as_str);
        read(value).map_err(|expected| FlagError::Invalid {
            flag: flag.name,
            value: value.to_owned(),
            expected: expected.into(),
        })
    }

    /// The flag's value as text, for flags where any text will do.
    pub fn text(&self, name: &str) -> Result<String, FlagError> {
        self.get(name, |text| Ok::<_, String>(text.to_owned()))
    }

    /// The flag's value as a boolean.
    pub fn switch(&self, name: &str) -> Result<bool, FlagError> {
        self.get(name, value::boolean)
    }
}

#[cfg(test)]
mod tests;
