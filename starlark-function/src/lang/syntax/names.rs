//! Where names live: bindings and the blocks that they are seen from.

use std::{collections::HashMap, rc::Rc};

use super::{Position, ast::Ident};

/// Where a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lang) enum Scope {
    /// In a slot of the function.
    Local(usize),
    /// In a slot of the function, shared with functions inside of it.
    Cell(usize),
    /// Captured from the function around it.
    Free(usize),
    Global(usize),
    /// Given by the caller, or part of the language.
    Known,
}

impl Scope {
    pub(super) fn is_local(self) -> bool {
        matches!(self, Self::Local(_) | Self::Cell(_))
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::Cell(_) => "cell",
            Self::Free(_) => "free",
            Self::Global(_) => "global",
            Self::Known => "predeclared",
        }
    }
}

/// A variable.
#[derive(Debug, Clone)]
pub(in crate::lang) struct Binding {
    pub(in crate::lang) name: Rc<str>,
    pub(super) at: Position,
    pub(in crate::lang) scope: Scope,
}

/// A use of a name, and the block that it is in.
#[derive(Debug, Clone)]
pub(super) struct Use {
    pub(super) ident: Ident,
    pub(super) block: usize,
}

/// The file, a function, or a comprehension.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) parent: Option<usize>,
    /// The function, if the block is one.
    pub(super) function: Option<usize>,
    pub(super) bindings: HashMap<Rc<str>, usize>,
    pub(super) children: Vec<usize>,
    /// Uses of names that are not resolved yet; only in functions and the file.
    pub(super) uses: Vec<Use>,
}
