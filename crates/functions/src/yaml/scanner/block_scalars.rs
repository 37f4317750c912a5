//! Scalars in a block of lines: literal and folded.

use super::super::node::ScalarStyle;
use super::super::token::Mark;
use super::{Result, Scanner};

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<()> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.at;
        self.skip();
        let (keep, increment) = self.block_scalar_header(start)?;
        let base = self.indent.max(0).unsigned_abs();
        let mut indent = increment.map_or(0, |increment| base + increment);
        let mut value = String::new();
        let mut first_break = String::new();
        let mut more_breaks = String::new();
        let mut end = self.at.index;
        self.block_breaks(&mut indent, &mut more_breaks, &mut end, start)?;
        let mut line_was_indented = false;
        while self.at.column == indent && !self.is_end(0) {
            let indented = self.is_blank(0);
            let folds = !literal && !line_was_indented && !indented && first_break == "\n";
            if !folds {
                value.push_str(&first_break);
            } else if more_breaks.is_empty() {
                value.push(' ');
            }
            first_break.clear();
            value.push_str(&more_breaks);
            more_breaks.clear();
            line_was_indented = indented;
            value.push_str(self.advance(self.line_length()));
            end = self.at.index;
            self.read_line(&mut first_break);
            self.block_breaks(&mut indent, &mut more_breaks, &mut end, start)?;
        }
        if keep != Some(false) {
            value.push_str(&first_break);
        }
        if keep == Some(true) {
            value.push_str(&more_breaks);
        }
        let style = if literal {
            ScalarStyle::Literal
        } else {
            ScalarStyle::Folded
        };
        self.push_scalar(value.into(), style, start, end);
        Ok(())
    }

    /// Whether final line breaks are kept or stripped, and the indentation.
    fn block_scalar_header(&mut self, start: Mark) -> Result<(Option<bool>, Option<usize>)> {
        let (mut keep, mut increment) = (None, None);
        for _ in 0..2 {
            match self.byte(0) {
                c @ (b'+' | b'-') if keep.is_none() => keep = Some(c == b'+'),
                b'0' if increment.is_none() => {
                    let problem = "found an indentation indicator equal to 0";
                    return Err(self.error(start.line, problem));
                }
                c @ b'1'..=b'9' if increment.is_none() => increment = Some(usize::from(c - b'0')),
                _ => break,
            }
            self.skip();
        }
        while self.is_blank(0) {
            self.skip();
        }
        if self.byte(0) == b'#' {
            self.line_comment(start.index);
        }
        if !self.is_break_or_end(0) {
            let problem = "did not find expected comment or line break";
            return Err(self.error(start.line, problem));
        }
        self.skip_line();
        Ok((keep, increment))
    }

    /// Moves over indentation and empty lines; finds out the indentation if it
    /// is not known yet (0).
    fn block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        end: &mut usize,
        start: Mark,
    ) -> Result<()> {
        let mut deepest = 0;
        loop {
            while (*indent == 0 || self.at.column < *indent) && self.byte(0) == b' ' {
                self.skip();
            }
            deepest = deepest.max(self.at.column);
            if (*indent == 0 || self.at.column < *indent) && self.byte(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.error(start.line, problem));
            }
            if !self.is_break(0) {
                break;
            }
            self.read_line(breaks);
            *end = self.at.index;
        }
        if *indent == 0 {
            *indent = deepest.max((self.indent + 1).max(1).unsigned_abs());
        }
        Ok(())
    }
}
