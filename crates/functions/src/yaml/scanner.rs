//! Cuts text into tokens and finds out which comment belongs to which token.
//!
//! Tokens are made on demand, but always two more than the parser asks for:
//! only what follows a token tells whether a comment is below it or above the
//! next one. Depth is bounded here, before anybody recurses.

mod comments;
mod cursor;
mod scalars;

use std::collections::VecDeque;

use super::token::{Comment, Kind, Mark, ParseError, Token};

/// Collections inside of each other. Kubernetes objects need some dozens; the
/// parser and the writer recurse this deep.
pub(super) const MAX_DEPTH: usize = 160;

/// How far a simple key may reach, in bytes: YAML's own limit.
const LONGEST_SIMPLE_KEY: usize = 1024;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A token that turns out to be a key if a colon follows.
#[derive(Debug, Clone, Copy)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
}

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: Mark,
    /// Line breaks since the last character that is not blank.
    newlines: usize,
    queue: VecDeque<Token>,
    /// Whether the front of the queue is known to be no key in the making.
    is_front_ready: bool,
    /// Tokens that have left the queue.
    taken: usize,
    started: bool,
    indent: isize,
    indents: Vec<isize>,
    flow_level: usize,
    simple_key_allowed: bool,
    simple_keys: Vec<SimpleKey>,
    pub(super) comments: VecDeque<Comment>,
    /// The byte behind the last token that was taken and is text.
    pub(super) last_end: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            text,
            at: Mark::default(),
            newlines: 0,
            queue: VecDeque::new(),
            is_front_ready: false,
            taken: 0,
            started: false,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: Vec::new(),
            comments: VecDeque::new(),
            last_end: 0,
        }
    }

    /// The next token, which stays in the queue.
    pub(super) fn peek(&mut self) -> Result<&Token> {
        if !self.is_front_ready {
            while self.queue.len() <= 2 || self.front_may_be_a_key()? {
                self.fetch()?;
            }
            self.is_front_ready = true;
        }
        Ok(&self.queue[0])
    }

    pub(super) fn take(&mut self) -> Result<Token> {
        self.peek()?;
        self.is_front_ready = false;
        self.taken += 1;
        let Some(token) = self.queue.pop_front() else {
            return Err(self.error(self.at.line, "unexpected end of text"));
        };
        self.last_end = self.last_end.max(token.end);
        Ok(token)
    }

    fn front_may_be_a_key(&mut self) -> Result<bool> {
        let front = self.taken;
        match self
            .simple_keys
            .iter()
            .position(|key| key.possible && key.token == front)
        {
            Some(at) => self.is_still_possible(at),
            None => Ok(false),
        }
    }

    fn is_still_possible(&mut self, at: usize) -> Result<bool> {
        let key = self.simple_keys[at];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.at.line || key.mark.index + LONGEST_SIMPLE_KEY < self.at.index {
            if key.required {
                return Err(self.error(key.mark.line, "could not find expected ':'"));
            }
            self.simple_keys[at].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// An error in a line, counted from 0.
    fn error(&self, line: usize, problem: &str) -> ParseError {
        ParseError {
            // The first line is not told, as yaml.v3 does.
            line: if line == 0 { 0 } else { line + 1 },
            problem: problem.to_owned(),
        }
    }

    fn fetch(&mut self) -> Result<()> {
        if !self.started {
            self.started = true;
            let mark = self.at;
            self.simple_keys.push(SimpleKey {
                possible: false,
                required: false,
                token: 0,
                mark,
            });
            self.push(Kind::StreamStart, self.at);
            return Ok(());
        }
        let scanned_from = self.at;
        self.skip_to_token();
        self.unroll(self.at.column as isize, scanned_from);
        let c = self.byte(0);
        if self.is_end(0) {
            return self.fetch_stream_end();
        }
        if self.at.column == 0 {
            if c == b'%' {
                return self.fetch_directive();
            }
            if let Some(kind) = self.document_indicator() {
                return self.fetch_document_indicator(kind);
            }
        }
        let mut comment_token = self.at.index;
        let follows = if self.flow_level == 0 { b':' } else { b',' };
        if let (true, Some(last)) = (c == follows, self.queue.back()) {
            // A comment behind belongs to the token before.
            comment_token = last.start.index;
        }
        self.fetch_content(c)?;
        // A comment behind a bare dash is the head of what follows.
        if !matches!(self.queue.back(), Some(token) if token.kind == Kind::BlockEntry) {
            self.line_comment(comment_token);
        }
        Ok(())
    }

    fn fetch_content(&mut self, c: u8) -> Result<()> {
        let in_flow = self.flow_level > 0;
        match c {
            b'[' => self.open_flow(Kind::FlowSequenceStart),
            b'{' => self.open_flow(Kind::FlowMappingStart),
            b']' => self.close_flow(Kind::FlowSequenceEnd),
            b'}' => self.close_flow(Kind::FlowMappingEnd),
            b',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.indicator(Kind::FlowEntry);
                Ok(())
            }
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blank_or_end(1) => self.fetch_key(),
            b':' if in_flow || self.is_blank_or_end(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(c == b'*'),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if !in_flow => self.fetch_block_scalar(c == b'|'),
            b'\'' | b'"' => self.fetch_quoted(c),
            b'-' if !self.is_blank(1) => self.fetch_plain(),
            b'?' | b':' if !in_flow => self.fetch_plain(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => {
                Err(self.error(self.at.line, "found character that cannot start any token"))
            }
            _ => self.fetch_plain(),
        }
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        let end = self.at.index;
        self.queue.push_back(Token { kind, start, end });
    }

    /// Takes a one-character indicator.
    fn indicator(&mut self, kind: Kind) {
        let start = self.at;
        self.skip();
        self.push(kind, start);
    }

    fn next_token(&self) -> usize {
        self.taken + self.queue.len()
    }

    fn save_simple_key(&mut self) -> Result<()> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        self.remove_simple_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == self.at.column as isize,
            token: self.next_token(),
            mark: self.at,
        };
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<()> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible && key.required => {
                let line = key.mark.line;
                Err(self.error(line, "could not find expected ':'"))
            }
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn too_deep(&self) -> ParseError {
        self.error(self.at.line, &format!("exceeded max depth of {MAX_DEPTH}"))
    }

    fn open_flow(&mut self, kind: Kind) -> Result<()> {
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

    fn close_flow(&mut self, kind: Kind) -> Result<()> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.indicator(kind);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<()> {
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

    fn fetch_key(&mut self) -> Result<()> {
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

    fn fetch_value(&mut self) -> Result<()> {
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
    fn roll(&mut self, column: usize, place: Option<usize>, kind: Kind, start: Mark) -> Result<()> {
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
    fn unroll(&mut self, column: isize, scanned_from: Mark) {
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

    fn fetch_stream_end(&mut self) -> Result<()> {
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

    fn document_indicator(&self) -> Option<Kind> {
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

    fn fetch_document_indicator(&mut self, kind: Kind) -> Result<()> {
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
    fn fetch_directive(&mut self) -> Result<()> {
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
