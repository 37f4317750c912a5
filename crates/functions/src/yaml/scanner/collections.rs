//! Where collections begin and end: by brackets, or by indentation. Depth is
//! bounded here.

use super::super::token::{Kind, Mark, ParseError, Token};
use super::{Result, Scanner, keys::SimpleKey};

/// Collections inside of each other. Kubernetes objects need some dozens; the
/// parser and the writer recurse this deep.
const MAX_DEPTH: usize = 160;

impl Scanner<'_> {
    pub(super) fn too_deep(&self) -> ParseError {
        self.error(self.at.line, &format!("exceeded max depth of {MAX_DEPTH}"))
    }

    pub(super) fn open_flow(&mut self, kind: Kind) -> Result<()> {
        self.save_simple_key()?;
        let mark = self.at;
        let token = self.next_token();
        self.simple_keys.push(SimpleKey {
            possible: false,
            required: false,
            token,
            mark,
        });
        self.flow_level += 1;
        if self.flow_level + self.indents.len() > MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.simple_key_allowed = true;
        self.indicator(kind);
        Ok(())
    }

    pub(super) fn close_flow(&mut self, kind: Kind) -> Result<()> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.indicator(kind);
        Ok(())
    }

    pub(super) fn fetch_block_entry(&mut self) -> Result<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let problem = "block sequence entries are not allowed in this context";
                return Err(self.error(self.at.line, problem));
            }
            self.roll(self.at.column, None, Kind::BlockSequenceStart, self.at)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.indicator(Kind::BlockEntry);
        Ok(())
    }

    pub(super) fn fetch_key(&mut self) -> Result<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let problem = "mapping keys are not allowed in this context";
                return Err(self.error(self.at.line, problem));
            }
            self.roll(self.at.column, None, Kind::BlockMappingStart, self.at)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.indicator(Kind::Key);
        Ok(())
    }

    pub(super) fn fetch_value(&mut self) -> Result<()> {
        let last = self.simple_keys.len().saturating_sub(1);
        if self.is_still_possible(last)? {
            let key = self.simple_keys[last];
            let place = key.token - self.taken;
            let token = Token {
                kind: Kind::Key,
                start: key.mark,
                end: key.mark.index,
            };
            self.queue.insert(place, token);
            self.roll(
                key.mark.column,
                Some(place),
                Kind::BlockMappingStart,
                key.mark,
            )?;
            self.simple_keys[last].possible = false;
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    let problem = "mapping values are not allowed in this context";
                    return Err(self.error(self.at.line, problem));
                }
                self.roll(self.at.column, None, Kind::BlockMappingStart, self.at)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.indicator(Kind::Value);
        Ok(())
    }

    /// Opens a block collection if `column` is deeper than the current one.
    pub(super) fn roll(
        &mut self,
        column: usize,
        place: Option<usize>,
        kind: Kind,
        start: Mark,
    ) -> Result<()> {
        if self.flow_level > 0 || self.indent >= column as isize {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column as isize;
        if self.flow_level + self.indents.len() > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let end = start.index;
        let token = Token { kind, start, end };
        match place {
            Some(place) => self.queue.insert(place, token),
            None => self.queue.push_back(token),
        }
        Ok(())
    }

    /// Closes the block collections that are deeper than `column`.
    pub(super) fn unroll(&mut self, column: isize, scanned_from: Mark) {
        if self.flow_level > 0 {
            return;
        }
        let mut block_end = scanned_from;
        block_end.index = block_end.index.saturating_sub(1);
        while self.indent > column {
            // The block ends before the comments that are at its own depth, so
            // that they end up below it and not above what follows.
            let mut stop = block_end.index;
            for comment in self.comments.iter().rev() {
                if comment.end < stop {
                    break;
                }
                if comment.start.column as isize == self.indent + 1 {
                    block_end = comment.start;
                }
                stop = comment.scanned_from;
            }
            let end = block_end.index;
            self.queue.push_back(Token {
                kind: Kind::BlockEnd,
                start: block_end,
                end,
            });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
