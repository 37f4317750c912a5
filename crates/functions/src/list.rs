//! The ResourceList that a function reads and writes.
//!
//! The Go functions are built on two libraries, which write lists differently: the
//! functions SDK sorts the items and writes the list's own fields anew; kustomize's
//! framework keeps the order and wraps what it read. [`Dialect`] says which library a
//! function uses.

mod earlier;
pub(crate) mod places;
mod read;
mod split;
mod write;

use std::rc::Rc;

use Places::{Reconciled, Untouched};
use ResultStyle::{List, Named};
use SequenceIndent::{Compact, Wide};

use crate::{
    function::Stop,
    meter,
    results::Report,
    yaml::{Node, SequenceIndent, Source, Style},
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
        heads: Heads,
        places: Places,
    },
}

impl Dialect {
    /// The root of a list whose objects are text where they can be, and how many are.
    fn split(self, text: &Rc<Source>) -> Option<(Node, usize)> {
        let (indent, heads) = match self {
            Self::Sdk => (SequenceIndent::Compact, Heads::InPlace),
            // Comments in text would stay.
            Self::Framework {
                heads: Heads::Lost, ..
            } => return None,
            Self::Framework { indent, heads, .. } => (indent, heads),
        };
        let keeps_heads = heads == Heads::InPlace;
        split::split(
            text,
            Style {
                indent,
                keeps_heads,
            },
        )
    }

    /// How many objects of a list stay text, and how many there are.
    pub(crate) fn texts(self, text: &str) -> (usize, usize) {
        let text = &Rc::new(Source::from(text.to_owned()));
        let objects = |root: &Node| root.get("items").map_or(0, |items| items.items().len());
        match self.split(text) {
            Some((root, texts)) => (texts, objects(&root)),
            None => {
                let list = ResourceList::read(text, self, Reading::Parsed);
                (0, list.map_or(0, |list| list.items.len()))
            }
        }
    }
}

/// Whether the framework keeps both spellings of where objects are written to alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    Untouched,
    Reconciled,
}

/// What becomes of a comment above a list's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heads {
    Kept,
    /// It is lost, unless the list is part of another list's entry.
    Lost,
    /// It is kept, and what is above the entry's first field stays there.
    InPlace,
}

/// kyaml up to 0.10.20: as [`W1`], with the comments above entries lost.
pub(crate) const W0: Dialect = framework(Wide, Named, Heads::Lost, Untouched);

/// kyaml up to 0.10.21: sequences are always wide, results are a mapping.
pub(crate) const W1: Dialect = framework(Wide, Named, Heads::Kept, Untouched);

/// kyaml 0.11 and 0.12: sequences are compact or as they were.
pub(crate) const W2: Dialect = framework(Compact, Named, Heads::Kept, Untouched);

/// kyaml from 0.13 on: results are a list.
pub(crate) const W3: Dialect = framework(Compact, List, Heads::Kept, Untouched);

/// kyaml from 0.13.3 on: as [`W3`], with both spellings of places.
pub(crate) const W3_PLACES: Dialect = framework(Compact, List, Heads::Kept, Reconciled);

/// kyaml 0.21, of the releases of 2026: as [`W3_PLACES`], with comments where they were.
pub(crate) const W3_2026: Dialect = framework(Compact, List, Heads::InPlace, Reconciled);

const fn framework(
    indent: SequenceIndent,
    results: ResultStyle,
    heads: Heads,
    places: Places,
) -> Dialect {
    Dialect::Framework {
        indent,
        results,
        heads,
        places,
    }
}

/// The functions SDK.
pub(crate) const W4: Dialect = Dialect::Sdk;

/// How much of a list is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Objects that are as the function writes them stay text until it looks inside.
    AsText,
    /// Everything. Tests compare both.
    Parsed,
}

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
    /// Results of functions that ran before, as they are written back.
    earlier: Option<Node>,
    /// What the library says of results that are none, when the function has run.
    refused: Option<String>,
    pub(crate) results: Vec<Report>,
    /// Whether an empty configuration is written back: the SDK's first releases.
    pub(crate) keeps_empty_config: bool,
    /// Of the text that was read: about what will be written.
    length: usize,
}

impl ResourceList {
    /// Reads a list. The error is what the function would say.
    pub(crate) fn read(
        text: &Rc<Source>,
        dialect: Dialect,
        reading: Reading,
    ) -> Result<Self, String> {
        let root = match reading {
            Reading::AsText => dialect.split(text).map(|(root, _)| root),
            Reading::Parsed => None,
        };
        if meter::check().is_err() {
            return Err("the run is over".into());
        }
        let mut list = match dialect {
            Dialect::Sdk => match root {
                Some(root) => Self::of_sdk_root(root),
                None => Self::read_sdk(text),
            },
            Dialect::Framework { results, .. } => match root {
                Some(root) => Self::of_framework_root(Some(root), results),
                None => Self::read_framework(text, results),
            }
            .map_err(|error| format!("failed to read ResourceList input: {error}")),
        }?;
        list.length = text.len();
        Ok(list)
    }

    /// Runs the function as its library does.
    pub(crate) fn run(
        &mut self,
        dialect: Dialect,
        run: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Dialect::Framework {
            places: Places::Reconciled,
            ..
        } = dialect
        else {
            let ran = run(self);
            return match self.refused.take() {
                Some(message) => Err(Stop::Refused(message)),
                None => ran,
            };
        };
        let before = places::complete(&mut self.items).map_err(Stop::Refused)?;
        match run(self) {
            Ok(()) => {}
            failed @ Err(Stop::Failed(_)) => {
                places::restore(&mut self.items, &before).map_err(Stop::Refused)?;
                return failed;
            }
            stopped => return stopped,
        }
        places::restore(&mut self.items, &before).map_err(Stop::Refused)
    }

    /// As the SDK's first releases, to May 2022, took lists: results of functions that
    /// ran before are gone, a configuration without fields stays.
    pub fn as_first_sdk(&mut self) {
        self.earlier = None;
        self.refused = None;
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

    /// Writes the list; `function` is the name under which results are written. The error is
    /// what the library says of objects that it cannot write.
    pub(crate) fn write(self, dialect: Dialect, function: &str) -> Result<String, String> {
        match dialect {
            Dialect::Sdk => Ok(self.write_sdk()),
            Dialect::Framework {
                indent,
                results,
                heads,
                ..
            } => self.write_framework(indent, results, heads, function),
        }
    }
}
