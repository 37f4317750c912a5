//! Editing a text in place: what is not edited stays as it was, to the byte.
//!
//! A [`Source`] keeps its text and the tree that was read from it. Whoever wants
//! to edit takes a copy of the tree and hands it back: each difference to the
//! first tree becomes the replacement of the bytes it is about, a scalar, a field
//! or an entry. All else is copied, comments and empty lines included; a comment
//! goes only with the line of a field or an entry that is removed. Comments that
//! were edited in the tree are not looked at: `write` is for those.
//!
//! The result is read again before it is handed out. Should it not say what the
//! tree says, which unusual forms can lead to, the tree is written anew.

mod lines;
mod parts;
mod patch;

use super::emitter::{SequenceIndent, write};
use super::node::{Content, Node, Tag};
use super::parser::{Document, parse_all};
use super::scanner::Result;
use patch::Patch;

/// A text, and what it says.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    documents: Vec<Document>,
}

impl<'a> Source<'a> {
    pub fn parse(text: &'a str) -> Result<Self> {
        let documents = parse_all(text)?;
        Ok(Self { text, documents })
    }

    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The text, changed where `edited` differs from what was read.
    pub fn write(&self, edited: &[Document]) -> String {
        self.patched(edited).unwrap_or_else(|| {
            let write = |document| write(document, SequenceIndent::Compact);
            edited.iter().map(write).collect::<Vec<_>>().join("---\n")
        })
    }

    /// `None` if the edits cannot be made in place.
    fn patched(&self, edited: &[Document]) -> Option<String> {
        if edited.len() != self.documents.len() {
            return None;
        }
        let mut patch = Patch::new(self.text);
        for (before, after) in self.documents.iter().zip(edited) {
            patch.root(&before.root, &after.root);
        }
        if patch.is_empty() {
            return Some(self.text.to_owned());
        }
        let text = patch.apply();
        let read = parse_all(&text).ok()?;
        let is_right = read.len() == edited.len()
            && read
                .iter()
                .zip(edited)
                .all(|(read, edited)| says(&read.root, &edited.root));
        is_right.then_some(text)
    }
}

/// Whether both say the same in the same order, in whatever style.
fn says(a: &Node, b: &Node) -> bool {
    if a.anchor() != b.anchor() {
        return false;
    }
    match (&a.content, &b.content) {
        (Content::Scalar { value, .. }, Content::Scalar { value: other, .. }) => {
            a.tag == Tag::Null && b.tag == Tag::Null
                || value == other && (b.tag == Tag::None || a.tag_name() == b.tag_name())
        }
        (Content::Sequence { items, .. }, Content::Sequence { items: others, .. }) => {
            items.len() == others.len() && items.iter().zip(others).all(|(a, b)| says(a, b))
        }
        (Content::Mapping { fields, .. }, Content::Mapping { fields: others, .. }) => {
            let same = |((a, c), (b, d)): (&(Node, Node), &(Node, Node))| says(a, b) && says(c, d);
            fields.len() == others.len() && fields.iter().zip(others).all(same)
        }
        (Content::Alias(name), Content::Alias(other)) => name == other,
        _ => false,
    }
}
