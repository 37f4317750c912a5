//! Which comment belongs to which token.
//!
//! A comment is at the end of its token's line, above its token (head), or
//! below it (foot). A comment that touches the line above and is followed by an
//! empty line is a foot, as is one that is less indented than the block that
//! it stands in; all others are heads of what follows. These are yaml.v3's
//! rules, which decide where the Go functions write a comment back.

use super::super::token::{Comment, Kind, Mark};
use super::Scanner;

/// Blanks in a row that are looked through for a comment: yaml.v3's bound.
const FARTHEST: usize = 512;

impl Scanner<'_> {
    /// Moves over blanks, line breaks and comments.
    pub(super) fn skip_to_token(&mut self) {
        let scanned_from = self.at;
        loop {
            if self.at.column == 0 && self.text[self.at.index..].starts_with('\u{feff}') {
                self.skip();
            }
            let tabs_allowed = self.flow_level > 0 || !self.simple_key_allowed;
            self.skip_blanks(tabs_allowed);
            self.raise_comment_of_entry();
            if self.byte(0) == b'#' {
                self.comment_lines(scanned_from);
            }
            if !self.is_break(0) {
                return;
            }
            self.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// What was taken for the line comment of a sequence's first entry is the
    /// head of the content below it.
    fn raise_comment_of_entry(&mut self) {
        let length = self.queue.len();
        if length < 2
            || self.is_break(0)
            || !matches!(self.queue[length - 2].kind, Kind::BlockSequenceStart)
            || !matches!(self.queue[length - 1].kind, Kind::BlockEntry)
        {
            return;
        }
        let at = self.at;
        if let Some(comment) = self.comments.back_mut()
            && !comment.line.is_empty()
        {
            comment.head = std::mem::take(&mut comment.line);
            if comment.start.line + 1 == at.line {
                comment.token = at.index;
            }
        }
    }

    /// A comment behind a token, in its line.
    pub(super) fn line_comment(&mut self, token: usize) {
        if self.newlines > 0 {
            return;
        }
        let blanks = (0..FARTHEST)
            .take_while(|ahead| self.is_blank(*ahead))
            .count();
        if blanks == FARTHEST || self.byte(blanks) != b'#' {
            return;
        }
        self.advance(blanks);
        let start = self.at;
        let line = self.comment_text();
        self.comments.push_back(Comment {
            token,
            start,
            line,
            ..Comment::default()
        });
    }

    /// Reads up to the end of the line.
    fn comment_text(&mut self) -> String {
        self.advance(self.line_length()).to_owned()
    }

    /// Comments in lines of their own, up to the next token.
    fn comment_lines(&mut self, scanned_from: Mark) {
        let Some(mut token) = self.queue.back() else {
            return;
        };
        if matches!(token.kind, Kind::FlowEntry) && self.queue.len() > 1 {
            token = &self.queue[self.queue.len() - 2];
        }
        let below_a_value = matches!(token.kind, Kind::Value);
        let mut lines = Lines {
            token: token.start.index,
            scanned_from: scanned_from.index,
            start: Mark::default(),
            text: String::new(),
        };
        // Nothing can be below what is not there.
        let foot_line = (scanned_from.line > 0).then(|| {
            let content_in_line = self.newlines == 0 && self.at.column > 1;
            (self.at.line + 1 + usize::from(content_in_line)).saturating_sub(self.newlines)
        });
        let mut after_empty = false;
        let mut none_empty = self.newlines <= 1;
        let (mut line, mut column) = (self.at.line, self.at.column);
        let indent = self.indent.max(0).unsigned_abs();
        let mut peek = 0;
        while peek < FARTHEST {
            column += 1;
            if self.is_blank(peek) {
                peek += 1;
                continue;
            }
            let closes = self.flow_level > 0 && matches!(self.byte(peek), b']' | b'}');
            if closes || self.is_break_or_end(peek) {
                if closes || !after_empty {
                    let touches = foot_line == Some(lines.start.line) && !below_a_value;
                    let dedented = lines.start.column < indent + 1;
                    if closes || none_empty && (touches || dedented) {
                        if dedented {
                            // Unrelated to the token before.
                            lines.token = lines.start.index;
                        }
                        self.foot(&mut lines, peek);
                    } else if !lines.text.is_empty() && !self.is_end(peek) {
                        lines.text.push('\n');
                    }
                }
                if !self.is_break(peek) {
                    break;
                }
                none_empty = false;
                after_empty = true;
                column = 0;
                line += 1;
                peek += self.line_break(peek);
                continue;
            }
            if column < indent + 1 && column != lines.start.column {
                self.foot(&mut lines, peek);
            }
            if self.byte(peek) != b'#' {
                break;
            }
            if lines.text.is_empty() {
                let index = self.at.index + peek;
                lines.start = Mark {
                    index,
                    line,
                    column,
                };
            } else {
                lines.text.push('\n');
            }
            after_empty = false;
            self.move_over(peek);
            lines.text.push_str(&self.comment_text());
            // Of CRLF only the first half belongs to the comment's line: so
            // does yaml.v3, and an empty line appears where there was none.
            peek = match self.byte(0) {
                b'\r' => 1,
                _ => self.line_break(0),
            };
            column = 0;
            line = self.at.line;
        }
        if !lines.text.is_empty() {
            self.comments.push_back(Comment {
                scanned_from: lines.scanned_from,
                token: lines.start.index,
                start: lines.start,
                end: (self.at.index + peek).saturating_sub(1),
                head: lines.text,
                ..Comment::default()
            });
        }
    }

    /// Moves over `length` bytes of blanks and line breaks.
    fn move_over(&mut self, length: usize) {
        let end = self.at.index + length;
        while self.at.index < end {
            if self.is_break(0) {
                self.skip_line();
            } else {
                self.skip();
            }
        }
    }

    /// The lines read so far are below the token before.
    fn foot(&mut self, lines: &mut Lines, peek: usize) {
        if lines.text.is_empty() {
            return;
        }
        let end = self.at.index + peek;
        self.comments.push_back(Comment {
            scanned_from: lines.scanned_from,
            token: lines.token,
            start: lines.start,
            end,
            foot: std::mem::take(&mut lines.text),
            ..Comment::default()
        });
        lines.scanned_from = end;
        lines.token = end;
    }
}

/// Comment lines that are not placed yet.
struct Lines {
    scanned_from: usize,
    token: usize,
    /// Its column counts from 1.
    start: Mark,
    text: String,
}
