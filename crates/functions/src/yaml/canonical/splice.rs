//! Changing scalars in text that was proven, without reading the levels above them.
//!
//! A word that takes the place of a scalar leaves text that is proven. So one walk goes
//! through the lines, and only scalars beside which a mark stands become nodes. Whatever is
//! not that simple is left to the tree.

use std::{fmt::Write as _, ops::Range, rc::Rc};

use memchr::memmem::Finder;

use super::{
    super::{
        block::{Late, Written},
        emitter::is_word,
        node::{Content, Node, ScalarStyle, Tag},
        resolve::resolve,
        source::Source,
    },
    above, behind, part,
    part::{Column, Part, Value},
    scalar,
    walk::Walk,
};
use crate::meter;

/// No mark is ahead.
const NOWHERE: usize = usize::MAX;

impl Node {
    /// Edits the scalars of a mapping that is still text: those in whose value or comment
    /// the mark stands, with their paths. `None` if that has to be done in the tree: then
    /// nothing has changed, although some were edited. So it is where a value that changes
    /// keeps its tag.
    pub(crate) fn edit_text(
        &mut self,
        mark: &Finder<'_>,
        edit: impl FnMut(&mut Node, &str) -> Option<()>,
    ) -> Option<()> {
        let Content::Mapping { fields, .. } = &mut self.content else {
            return None;
        };
        let (written, late) = fields.text()?;
        if late.is_some_and(|late| may_be_number(mark.needle(), late.number)) {
            return None;
        }
        let mut splice = Splice {
            written,
            walk: Walk::over(written),
            late,
            mark,
            next: 0,
            path: String::new(),
            edit,
            text: String::new(),
            copied: written.start,
        };
        splice.mapping(Column::proven(written.column))?;
        if let Some(new) = splice.finish()? {
            fields.set_text(new);
        }
        Some(())
    }
}

/// Whether the mark may stand in this number.
fn may_be_number(mark: &[u8], number: u32) -> bool {
    mark.iter().all(u8::is_ascii_digit)
        && std::str::from_utf8(mark).is_ok_and(|mark| number.to_string().contains(mark))
}

struct Splice<'a, E> {
    written: &'a Written,
    walk: Walk<'a>,
    late: Option<&'a Late>,
    mark: &'a Finder<'a>,
    /// Where the next mark is.
    next: usize,
    path: String,
    edit: E,
    /// The new text, and up to where it is that of the old one.
    text: String,
    copied: usize,
}

impl<E: FnMut(&mut Node, &str) -> Option<()>> Splice<'_, E> {
    /// Where the next mark is, from here on.
    fn mark_from(&mut self, at: usize) -> usize {
        if self.next < at {
            let rest = self.walk.bytes.get(at..).unwrap_or(&[]);
            let found = self.mark.find(rest);
            self.next = found.map_or(NOWHERE, |found| at + found);
        }
        self.next
    }

    /// Whether a mark begins in this part of the text.
    fn is_marked(&mut self, range: &Range<usize>) -> bool {
        self.mark_from(range.start) < range.end
    }

    fn mapping(&mut self, column: Column) -> Option<()> {
        loop {
            let (start, line) = (self.walk.at, self.walk.line);
            let mark = self.mark_from(start);
            if mark == NOWHERE {
                return Some(());
            }
            self.walk.skip_field(column, mark);
            if mark < self.walk.at {
                (self.walk.at, self.walk.line) = (start, line);
                let field = self.walk.field(column)?;
                let length = self.path.len();
                if length > 0 {
                    self.path.push('.');
                }
                self.path.push_str(part(self.written, &field.key));
                self.part(&field, false)?;
                self.path.truncate(length);
            }
            if self.next == NOWHERE || !self.walk.goes_on(column, false)? {
                return Some(());
            }
        }
    }

    fn sequence(&mut self, column: Column) -> Option<()> {
        for at in 0.. {
            let (start, line) = (self.walk.at, self.walk.line);
            let mark = self.mark_from(start);
            if mark == NOWHERE {
                return Some(());
            }
            let (comments, dash) = self.walk.below_comments(start, column.read);
            (self.walk.at, self.walk.line) = (dash, line + comments);
            self.walk.skip_entry(column, mark);
            if mark < self.walk.at {
                (self.walk.at, self.walk.line) = (start, line);
                let entry = self.walk.entry(column)?;
                let length = self.path.len();
                let _ = write!(self.path, "[{at}]");
                self.part(&entry, true)?;
                self.path.truncate(length);
            }
            if self.next == NOWHERE || !self.walk.goes_on(column, true)? {
                break;
            }
        }
        Some(())
    }

    /// A field or an entry in which there is a mark.
    fn part(&mut self, of: &Part, is_entry: bool) -> Option<()> {
        meter::check().ok()?;
        // Behind the value there may be a comment.
        let end = self.walk.at;
        match &of.value {
            Value::Scalar(style, range) if self.is_marked(&(range.start..end)) => {
                self.scalar(of, *style, range, is_entry)
            }
            Value::Literal { range, .. } | Value::Flow(range)
                if self.is_marked(&(range.start..end)) =>
            {
                None
            }
            // The comment of a list may be about its entries.
            Value::Block(_) if self.is_marked(&of.comment) => None,
            Value::Block(block) if block.is_mapping => self.mapping(block.column),
            Value::Block(block) => self.sequence(block.column),
            Value::Scalar(..) | Value::Literal { .. } | Value::Flow(_) => Some(()),
        }
    }

    fn scalar(
        &mut self,
        of: &Part,
        style: ScalarStyle,
        range: &Range<usize>,
        is_entry: bool,
    ) -> Option<()> {
        if self.late.is_some_and(|late| late.is_at(&self.path)) {
            return None;
        }
        let mut node = scalar(self.written, range, style);
        behind(&mut node, self.written, &of.comment);
        if is_entry {
            above(&mut node, self.written, &of.head);
        }
        node.line = self.written.source.line_in_list(of.line);
        let before = node.clone();
        (self.edit)(&mut node, &self.path)?;
        let Content::Scalar { value, style } = &node.content else {
            return None;
        };
        let is_bare = !node.tagged && node.anchor().is_none();
        let is_as_before = *style == before.style()? && node.comments() == before.comments();
        if !(is_bare && is_as_before) {
            return None;
        }
        if Some(value.as_str()) != before.value() {
            // It is written as it is. What looks like nothing would then be read as nothing.
            if !is_word(value) || node.tag != Tag::None || resolve(value) == Tag::Null {
                return None;
            }
            let same = self.written.source.get(self.copied..range.start)?;
            if !meter::charge(same.len() + value.len()) {
                return None;
            }
            if self.text.is_empty() {
                let length = self.written.end - self.written.start;
                self.text.reserve(length + value.len());
            }
            self.text.push_str(same);
            self.text.push_str(value);
            self.copied = range.end;
        }
        Some(())
    }

    /// The new text, if there is one.
    fn finish(mut self) -> Option<Option<Written>> {
        if self.copied == self.written.start {
            return Some(None);
        }
        let old = self.written;
        self.text.push_str(old.source.get(self.copied..old.end)?);
        let end = self.text.len();
        Some(Some(Written {
            source: Rc::new(Source::replaced(&old.source, self.text)),
            start: 0,
            end,
            ..old.clone()
        }))
    }
}
