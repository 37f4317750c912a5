//! The inside of a collection: read, or still text.
//!
//! Most of a list is never looked at. A block that is written exactly as the
//! emitter would write it ([`canonical`](super::canonical) proves that) stays
//! text until somebody looks inside; then one level of it is read, and what is
//! below stays text. Text that nobody wanted to change is written as it is.

use std::{
    cell::OnceCell,
    fmt,
    ops::{Deref, DerefMut},
    rc::Rc,
    slice, vec,
};

use super::{canonical, emitter::SequenceIndent, node::Node, source::Source};

/// The fields of a mapping, or the entries of a sequence.
pub enum Block<T> {
    Read(Vec<T>),
    Text(Box<Text<T>>),
}

/// A block that nobody has changed, and its entries once somebody looked.
#[derive(Debug)]
pub struct Text<T> {
    written: Written,
    read: OnceCell<Vec<T>>,
}

/// A part of a text that is known to be as the emitter writes it: whole lines,
/// without the indentation of the first.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(super) source: Rc<Source>,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The line of the start, from 1.
    pub(super) line: u32,
    /// Where the block's keys or dashes are.
    pub(super) column: usize,
    pub(super) indent: SequenceIndent,
}

impl Written {
    pub(super) fn text(&self) -> &str {
        self.source.get(self.start..self.end).unwrap_or("")
    }
}

/// What blocks are made of: fields, or entries.
pub trait Entry: Sized {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only blocks call it")]
    fn read(written: &Written) -> Vec<Self>;
}

#[allow(private_interfaces, reason = "only blocks call it")]
impl Entry for (Node, Node) {
    fn read(written: &Written) -> Vec<Self> {
        canonical::fields(written)
    }
}

#[allow(private_interfaces, reason = "only blocks call it")]
impl Entry for Node {
    fn read(written: &Written) -> Vec<Self> {
        canonical::entries(written)
    }
}

impl<T> Block<T> {
    pub(super) fn of(written: Written) -> Self {
        Self::Text(Box::new(Text {
            written,
            read: OnceCell::new(),
        }))
    }

    /// The text of a block that nobody has looked into.
    pub(super) fn unread(&self) -> Option<&str> {
        match self {
            Self::Text(text) if text.read.get().is_none() => Some(text.written.text()),
            _ => None,
        }
    }

    /// The text of a block that nobody has changed.
    pub(super) fn written(&self) -> Option<&Written> {
        match self {
            Self::Read(_) => None,
            Self::Text(text) => Some(&text.written),
        }
    }
}

impl<T: Entry> Deref for Block<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        match self {
            Self::Read(entries) => entries,
            Self::Text(text) => text.read.get_or_init(|| T::read(&text.written)),
        }
    }
}

impl<T: Entry> DerefMut for Block<T> {
    /// A caller that may change entries gets them parsed: the text does not count any more.
    fn deref_mut(&mut self) -> &mut Vec<T> {
        if let Self::Text(text) = self {
            let read = text.read.take();
            *self = Self::Read(read.unwrap_or_else(|| T::read(&text.written)));
        }
        match self {
            Self::Read(entries) => entries,
            Self::Text(_) => unreachable!("text was read above"),
        }
    }
}

impl<T> From<Vec<T>> for Block<T> {
    fn from(entries: Vec<T>) -> Self {
        Self::Read(entries)
    }
}

impl<T: Entry> From<Block<T>> for Vec<T> {
    fn from(mut block: Block<T>) -> Self {
        std::mem::take(&mut *block)
    }
}

impl<T: Entry + Clone> Clone for Block<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Read(entries) => Self::Read(entries.clone()),
            Self::Text(text) => Self::of(text.written.clone()),
        }
    }
}

impl<T: Entry + PartialEq> PartialEq for Block<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Entry + Eq> Eq for Block<T> {}

impl<T: Entry + fmt::Debug> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Entry> IntoIterator for Block<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

impl<'a, T: Entry> IntoIterator for &'a Block<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Entry> IntoIterator for &'a mut Block<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
