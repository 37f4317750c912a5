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
    /// Few have one.
    late: Option<Box<Late>>,
    read: OnceCell<Vec<T>>,
}

/// Fields that are added to a mapping when somebody reads it: most are never read, and in
/// the end they are taken away again. Their values are the object's number, or stand in the
/// mapping already.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    /// The way to the mapping, by fields that are blocks.
    way: &'static [&'static str],
    add: fn(&mut Node, u32),
    /// Which object it is.
    pub(super) number: u32,
    is_taken_back: bool,
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

impl Late {
    pub(crate) fn new(way: &'static [&'static str], add: fn(&mut Node, u32), number: u32) -> Self {
        Self {
            way,
            add,
            number,
            is_taken_back: false,
        }
    }

    /// Whether this path may lead into the mapping.
    pub(super) fn is_at(&self, path: &str) -> bool {
        let mut parts = path.split('.');
        self.way.iter().all(|key| parts.next() == Some(key))
    }
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

    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only blocks call it")]
    fn add(entries: Vec<Self>, late: &Late) -> Vec<Self>;
}

#[allow(private_interfaces, reason = "only blocks call it")]
impl Entry for (Node, Node) {
    fn read(written: &Written) -> Vec<Self> {
        canonical::fields(written)
    }

    fn add(mut fields: Vec<Self>, late: &Late) -> Vec<Self> {
        let Some((next, way)) = late.way.split_first() else {
            let mut node = Node::mapping(fields);
            (late.add)(&mut node, late.number);
            return node.fields_mut().map(std::mem::take).unwrap_or_default();
        };
        let mut values = fields.iter_mut();
        let value = values.find(|(key, _)| key.value() == Some(next));
        if let Some((_, value)) = value {
            value.add_late(Late::new(way, late.add, late.number));
        }
        fields
    }
}

#[allow(private_interfaces, reason = "only blocks call it")]
impl Entry for Node {
    fn read(written: &Written) -> Vec<Self> {
        canonical::entries(written)
    }

    fn add(entries: Vec<Self>, _: &Late) -> Vec<Self> {
        entries
    }
}

impl<T> Block<T> {
    pub(super) fn of(written: Written) -> Self {
        Self::Text(Box::new(Text {
            written,
            late: None,
            read: OnceCell::new(),
        }))
    }

    /// The text of a block that nobody has looked into.
    pub(super) fn unread(&self) -> Option<&Written> {
        match self {
            Self::Text(text) if text.late().is_none() && text.read.get().is_none() => {
                Some(&text.written)
            }
            _ => None,
        }
    }

    /// The text of a block that nobody has changed, and that says all of it.
    pub(super) fn written(&self) -> Option<&Written> {
        self.text()
            .filter(|(_, late)| late.is_none())
            .map(|(written, _)| written)
    }

    /// The text of a block that nobody has changed, and what is added when it is read.
    pub(super) fn text(&self) -> Option<(&Written, Option<&Late>)> {
        match self {
            Self::Read(_) => None,
            Self::Text(text) => Some((&text.written, text.late())),
        }
    }

    /// Gives a block that nobody has changed another text.
    pub(super) fn set_text(&mut self, written: Written) {
        if let Self::Text(text) = self {
            text.written = written;
            text.read.take();
        }
    }

    /// Has fields added to a block that nobody has changed, when it is read.
    pub(super) fn add_late(&mut self, late: Late) {
        if let Self::Text(text) = self {
            text.late = Some(Box::new(late));
            text.read.take();
        }
    }

    /// Takes that back, if nobody has changed the block. Whether that is so.
    pub(super) fn take_late_back(&mut self) -> bool {
        let Self::Text(text) = self else { return false };
        let Some(late) = text.late.as_mut().filter(|late| !late.is_taken_back) else {
            return false;
        };
        late.is_taken_back = true;
        text.read.take();
        true
    }

    pub(super) fn was_late(&self) -> bool {
        matches!(self, Self::Text(text) if text.late.as_ref().is_some_and(|late| late.is_taken_back))
    }
}

impl<T> Text<T> {
    fn late(&self) -> Option<&Late> {
        self.late.as_deref().filter(|late| !late.is_taken_back)
    }
}

impl<T: Entry> Text<T> {
    fn read(&self) -> Vec<T> {
        let entries = T::read(&self.written);
        match self.late() {
            Some(late) => T::add(entries, late),
            None => entries,
        }
    }
}

impl<T: Entry> Deref for Block<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        match self {
            Self::Read(entries) => entries,
            Self::Text(text) => text.read.get_or_init(|| text.read()),
        }
    }
}

impl<T: Entry> DerefMut for Block<T> {
    /// A caller that may change entries gets them parsed: the text does not count any more.
    fn deref_mut(&mut self) -> &mut Vec<T> {
        if let Self::Text(text) = self {
            let read = text.read.take();
            *self = Self::Read(read.unwrap_or_else(|| text.read()));
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
            Self::Text(text) => {
                let mut copy = Self::of(text.written.clone());
                if let Some(late) = text.late() {
                    copy.add_late(late.clone());
                }
                copy
            }
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
