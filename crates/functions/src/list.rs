//! The ResourceList that a function reads and writes.
//!
//! Two libraries stand behind the Go functions, and each has its own manners:
//! the functions SDK sorts the items and writes the list's own fields anew;
//! kustomize's framework keeps the order and wraps what it read. [`Dialect`]
//! says which one a function speaks.

mod read;
mod sort;
mod write;

use crate::{
    function::Stop,
    results::Report,
    yaml::{Node, SequenceIndent},
};

const API_VERSION: &str = "config.kubernetes.io/v1";
const KIND: &str = "ResourceList";

/// How a function reads and writes lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sdk,
    Framework {
        indent: SequenceIndent,
        results: ResultStyle,
    },
}

/// kyaml up to 0.10.21: sequences are always wide, results are a mapping.
pub(crate) const W1: Dialect = Dialect::Framework {
    indent: SequenceIndent::Wide,
    results: ResultStyle::Named,
};

/// kyaml 0.11 and 0.12: sequences are compact or as they were.
pub(crate) const W2: Dialect = Dialect::Framework {
    indent: SequenceIndent::Compact,
    results: ResultStyle::Named,
};

/// kyaml from 0.13 on: results are a list.
pub(crate) const W3: Dialect = Dialect::Framework {
    indent: SequenceIndent::Compact,
    results: ResultStyle::List,
};

/// The functions SDK.
pub(crate) const W4: Dialect = Dialect::Sdk;

/// The form of `results`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultStyle {
    List,
    /// A mapping of name and items, below the function's name.
    Named,
}

/// A parsed list.
#[derive(Debug)]
pub struct ResourceList {
    api_version: Node,
    kind: Node,
    pub items: Vec<Node>,
    pub config: Option<Node>,
    /// Results of functions that ran before, as they are.
    earlier: Option<Node>,
    pub(crate) results: Vec<Report>,
    /// Whether a configuration without fields is written, too.
    keeps_empty_config: bool,
}

impl ResourceList {
    /// Reads a list. The error is what the function would say.
    pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Self, String> {
        match dialect {
            Dialect::Sdk => Self::read_sdk(text),
            Dialect::Framework { .. } => Self::read_framework(text)
                .map_err(|error| format!("failed to read ResourceList input: {error}")),
        }
    }

    /// As the SDK's first releases, to May 2022, took lists: results of functions that
    /// ran before are gone, a configuration without fields stays.
    pub(crate) fn as_first_sdk(&mut self) {
        self.earlier = None;
        self.keeps_empty_config = true;
    }

    /// Reports nothing but this failure.
    pub fn fail(&mut self, message: impl Into<String>) -> Stop {
        self.earlier = None;
        self.results = vec![Report::error(message)];
        Stop::Failed(crate::runner_config::FAILURE.into())
    }

    /// The function's configuration; `None` if there is none, or an empty one.
    pub fn config(&self) -> Option<&Node> {
        self.config
            .as_ref()
            .filter(|config| !config.fields().is_empty())
    }

    /// Writes the list; `function` is the name below which results are told.
    pub(crate) fn write(self, dialect: Dialect, function: &str) -> String {
        match dialect {
            Dialect::Sdk => self.write_sdk(),
            Dialect::Framework { indent, results } => {
                self.write_framework(indent, results, function)
            }
        }
    }
}
