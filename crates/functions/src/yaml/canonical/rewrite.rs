//! Text in the emitter's words: what a walk leaves out or puts in.
//!
//! Nothing is copied until the first difference. Text that is already as the emitter
//! writes it is not copied at all.

use std::ops::Range;

use super::super::source::Source;
use super::walk::Walk;

/// Indentation is copied from here; deeper blocks are refused.
const SPACES: &[u8] = &[b' '; 128];

/// The text so far.
#[derive(Default)]
pub(super) struct Rewrite {
    /// Where the text begins in the list.
    start: usize,
    /// What there is up to `copied` of the list.
    text: Vec<u8>,
    copied: usize,
    /// See [`Source`].
    left_out: Vec<(u32, u32)>,
}

impl Rewrite {
    pub(super) fn from(start: usize) -> Self {
        Self {
            start,
            copied: start,
            ..Self::default()
        }
    }

    fn replace(&mut self, bytes: &[u8], range: Range<usize>, spaces: usize) -> Option<()> {
        self.text
            .extend_from_slice(bytes.get(self.copied..range.start)?);
        self.text.extend_from_slice(SPACES.get(..spaces)?);
        self.copied = range.end;
        Some(())
    }

    /// Whether the text is that of the list.
    pub(super) fn is_unchanged(&self) -> bool {
        self.copied == self.start
    }

    /// The whole text up to `end`.
    pub(super) fn finish(mut self, bytes: &[u8], end: usize) -> Option<Source> {
        self.text.extend_from_slice(bytes.get(self.copied..end)?);
        let text = String::from_utf8(self.text).ok()?;
        Some(Source::rewritten(text, self.left_out))
    }
}

impl Walk<'_> {
    /// Moves over spaces, of which the emitter writes so many.
    #[inline]
    pub(super) fn blanks(&mut self, read: usize, written: usize) -> Option<()> {
        if read != written {
            let range = self.at..self.at + read;
            self.rewrite.replace(self.bytes, range, written)?;
        }
        self.at += read;
        Some(())
    }

    /// Leaves out empty lines: `count` of them, which begin at `start` and end here.
    pub(super) fn leave_out(&mut self, start: usize, count: u32) -> Option<()> {
        self.rewrite.replace(self.bytes, start..self.at, 0)?;
        let before = self.rewrite.left_out.last().map_or(0, |(_, total)| *total);
        let total = before + count;
        let line = self.line.checked_sub(total)?;
        self.rewrite.left_out.push((line, total));
        Some(())
    }
}
