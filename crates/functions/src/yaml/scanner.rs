//! Cuts text into tokens and finds out which comment belongs to which token.
//!
//! Tokens are made on demand, but always two more than the parser asks for:
//! only what follows a token decides whether a comment is below it or above the
//! next one. Depth is bounded here, before anybody recurses.

mod block_scalars;
mod collections;
mod comments;
mod cursor;
mod documents;
mod keys;
mod properties;
mod scalars;

use std::collections::VecDeque;

use super::token::{Comment, Kind, Mark, ParseError, Token};
use keys::SimpleKey;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

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
}

impl<'a> Scanner<'a> {
    /// `line` is that of the text's start, from 0.
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        Self {
            bytes: text.as_bytes(),
            text,
            at: Mark {
                line,
                ..Mark::default()
            },
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
        }
    }

    /// The next token, which stays in the queue.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<&Token> {
        if !self.is_front_ready {
            self.make_front_ready()?;
        }
        Ok(self.front())
    }

    #[inline(never)]
    fn make_front_ready(&mut self) -> Result<()> {
        while self.queue.len() <= 2 || self.front_may_be_a_key()? {
            self.fetch()?;
        }
        self.is_front_ready = true;
        Ok(())
    }

    /// The token that was peeked at.
    #[inline]
    pub(super) fn front(&self) -> &Token {
        &self.queue[0]
    }

    pub(super) fn take(&mut self) -> Result<Token> {
        self.peek()?;
        self.is_front_ready = false;
        self.taken += 1;
        let Some(token) = self.queue.pop_front() else {
            return Err(self.error(self.at.line, "unexpected end of text"));
        };
        Ok(token)
    }

    /// An error in a line, counted from 0.
    fn error(&self, line: usize, problem: &str) -> ParseError {
        ParseError {
            // The first line is not named, as in yaml.v3.
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
        if !matches!(self.queue.back(), Some(token) if matches!(token.kind, Kind::BlockEntry)) {
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
}
