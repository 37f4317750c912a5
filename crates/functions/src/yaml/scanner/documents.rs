//! Where documents begin and end, and directives.

use super::super::token::Kind;
use super::{Result, Scanner};

impl Scanner<'_> {
    pub(super) fn fetch_stream_end(&mut self) -> Result<()> {
        if self.at.column != 0 {
            self.at.column = 0;
            self.at.line += 1;
        }
        self.unroll(-1, self.at);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(Kind::StreamEnd, self.at);
        Ok(())
    }

    pub(super) fn document_indicator(&self) -> Option<Kind> {
        let three = self.bytes.get(self.at.index..self.at.index + 3)?;
        if !self.is_blank_or_end(3) {
            return None;
        }
        match three {
            b"---" => Some(Kind::DocumentStart),
            b"..." => Some(Kind::DocumentEnd),
            _ => None,
        }
    }

    pub(super) fn fetch_document_indicator(&mut self, kind: Kind) -> Result<()> {
        self.unroll(-1, self.at);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        for _ in 0..3 {
            self.skip();
        }
        self.push(kind, start);
        Ok(())
    }

    /// Directives are read over: nothing in a KRM list needs them.
    pub(super) fn fetch_directive(&mut self) -> Result<()> {
        self.unroll(-1, self.at);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        while !self.is_break_or_end(0) {
            self.skip();
        }
        self.push(Kind::Directive, start);
        Ok(())
    }
}
