//! Splits a program into tokens, as the parser asks for them.

use super::{Position, Token, complaint, quote::unquote};
use crate::lang::{Fallible, Int, dialect::Edition};

/// What a token carries.
#[derive(Debug, Clone, Default)]
pub(super) enum Payload {
    #[default]
    Nothing,
    /// The text of a word.
    Word(String),
    Int(Int),
    Float(f64),
    /// A literal's text, unquoted.
    Bytes(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Scanner<'a> {
    file: &'a str,
    edition: Edition,
    pub(super) rest: &'a [u8],
    pub(super) position: Position,
    depth: usize,
    indents: Vec<u32>,
    /// Indents (or, negative, outdents) that were seen but not handed out.
    dents: isize,
    at_line_start: bool,
    /// Where the token that was handed out last began.
    pub(super) start: Position,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(file: &'a str, source: &'a str, edition: Edition) -> Self {
        Self {
            file,
            edition,
            rest: source.as_bytes(),
            position: Position { line: 1, column: 1 },
            depth: 0,
            indents: vec![0],
            dents: 0,
            at_line_start: true,
            start: Position::default(),
        }
    }

    pub(super) fn fail<T>(&self, at: Position, words: impl AsRef<str>) -> Fallible<T> {
        Err(complaint(self.file, at, words.as_ref()))
    }

    /// The next character; 0 at the end. Line ends of all kinds are newlines.
    pub(super) fn peek(&self) -> char {
        match self.rest.first() {
            None => '\0',
            Some(b'\r') => '\n',
            Some(byte) if byte.is_ascii() => char::from(*byte),
            Some(_) => self.decode(),
        }
    }

    fn decode(&self) -> char {
        let width = match self.rest[0] {
            0xf0.. => 4,
            0xe0.. => 3,
            _ => 2,
        };
        let head = self.rest.get(..width).unwrap_or(self.rest);
        std::str::from_utf8(head)
            .ok()
            .and_then(|text| text.chars().next())
            .unwrap_or('\u{fffd}')
    }

    pub(super) fn read(&mut self) -> char {
        let c = self.peek();
        let width = match self.rest {
            [] => return '\0',
            [b'\r', b'\n', ..] => 2,
            _ if c == '\u{fffd}' || c == '\n' => 1,
            _ => c.len_utf8(),
        };
        let width = if c == '\u{fffd}' && self.rest.starts_with("\u{fffd}".as_bytes()) {
            3
        } else {
            width
        };
        self.rest = &self.rest[width..];
        match c {
            '\n' => {
                self.position.line += 1;
                self.position.column = 1;
            }
            _ => self.position.column += 1,
        }
        c
    }

    pub(super) fn read_while(&mut self, fits: impl Fn(char) -> bool) {
        while !self.rest.is_empty() && fits(self.peek()) {
            self.read();
        }
    }

    /// The next token and what it carries.
    pub(super) fn next(&mut self) -> Fallible<(Token, Payload)> {
        loop {
            let was_line_start = self.at_line_start;
            let is_blank = self.indentation()?;
            if self.dents != 0 {
                self.start = self.position;
                let (token, step) = if self.dents < 0 {
                    (Token::Outdent, 1)
                } else {
                    (Token::Indent, -1)
                };
                self.dents += step;
                return Ok((token, Payload::Nothing));
            }
            self.read_while(|c| c == ' ' || c == '\t');
            if self.peek() == '#' {
                self.read_while(|c| c != '\n' && c != '\0');
            }
            match self.peek() {
                '\n' => {
                    self.at_line_start = true;
                    self.start = self.position;
                    self.read();
                    if self.depth == 0 && !is_blank {
                        return Ok((Token::Newline, Payload::Nothing));
                    }
                }
                '\0' => {
                    self.start = self.position;
                    if self.indents.len() == 1 {
                        return Ok((Token::End, Payload::Nothing));
                    }
                    if !was_line_start {
                        self.at_line_start = true;
                        return Ok((Token::Newline, Payload::Nothing));
                    }
                    self.dents = 1 - isize::try_from(self.indents.len()).unwrap_or(1);
                    self.indents.truncate(1);
                }
                '\\' => {
                    self.read();
                    if self.peek() != '\n' {
                        return self.fail(self.position, "stray backslash in program");
                    }
                    self.read();
                }
                c => return self.token(c),
            }
        }
    }

    /// Takes the spaces at the start of a line; whether nothing follows them.
    fn indentation(&mut self) -> Fallible<bool> {
        if !self.at_line_start {
            return Ok(false);
        }
        self.at_line_start = false;
        let mut column = 0;
        loop {
            match self.peek() {
                ' ' => column += 1,
                '\t' => column += 8 - (self.position.column - 1) % 8,
                _ => break,
            }
            self.read();
        }
        if matches!(self.peek(), '#' | '\n' | '\0') {
            return Ok(true);
        }
        if self.depth > 0 {
            return Ok(false);
        }
        let current = self.indents.last().copied().unwrap_or(0);
        if column > current {
            self.dents += 1;
            self.indents.push(column);
        } else {
            while self.indents.last().is_some_and(|indent| column < *indent) {
                self.dents -= 1;
                self.indents.pop();
            }
            if self.indents.last() != Some(&column) {
                let words = "unindent does not match any outer indentation level";
                return self.fail(self.position, words);
            }
        }
        Ok(false)
    }

    fn token(&mut self, c: char) -> Fallible<(Token, Payload)> {
        self.start = self.position;
        let from = self.rest;
        if c == '"' || c == '\'' {
            return self.literal(from, c);
        }
        if is_word_start(c) {
            let prefix = match from {
                [b'r' | b'b', b'"' | b'\'', ..] => 1,
                [b'r', b'b', b'"' | b'\'', ..] => 2,
                _ => 0,
            };
            if prefix > 0 {
                (0..prefix).for_each(|_| {
                    self.read();
                });
                let quote = self.peek();
                return self.literal(from, quote);
            }
            self.read_while(|c| is_word_start(c) || c.is_ascii_digit());
            let word = String::from_utf8_lossy(&from[..from.len() - self.rest.len()]).into_owned();
            return Ok(match Token::keyword(&word, self.edition) {
                Some(keyword) => (keyword, Payload::Nothing),
                None => (Token::Ident, Payload::Word(word)),
            });
        }
        if c.is_ascii_digit() || c == '.' {
            return self.number(from, c);
        }
        self.sign(c).map(|token| (token, Payload::Nothing))
    }

    fn sign(&mut self, c: char) -> Fallible<Token> {
        const SIGNS: [(&str, Token); 40] = [
            ("//=", Token::SlashSlashEq),
            ("<<=", Token::LtLtEq),
            (">>=", Token::GtGtEq),
            ("**", Token::StarStar),
            ("*=", Token::StarEq),
            ("+=", Token::PlusEq),
            ("-=", Token::MinusEq),
            ("/=", Token::SlashEq),
            ("//", Token::SlashSlash),
            ("%=", Token::PercentEq),
            ("&=", Token::AmpEq),
            ("|=", Token::PipeEq),
            ("^=", Token::CircumflexEq),
            ("==", Token::EqEq),
            ("!=", Token::NotEq),
            ("<=", Token::Le),
            (">=", Token::Ge),
            ("<<", Token::LtLt),
            (">>", Token::GtGt),
            ("+", Token::Plus),
            ("-", Token::Minus),
            ("*", Token::Star),
            ("/", Token::Slash),
            ("%", Token::Percent),
            ("&", Token::Amp),
            ("|", Token::Pipe),
            ("^", Token::Circumflex),
            ("~", Token::Tilde),
            (",", Token::Comma),
            ("=", Token::Eq),
            (";", Token::Semi),
            (":", Token::Colon),
            ("<", Token::Lt),
            (">", Token::Gt),
            ("(", Token::LParen),
            (")", Token::RParen),
            ("[", Token::LBrack),
            ("]", Token::RBrack),
            ("{", Token::LBrace),
            ("}", Token::RBrace),
        ];
        match c {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' if self.depth == 0 => {
                return self.fail(self.position, format!("unexpected '{c}'"));
            }
            ')' | ']' | '}' => self.depth -= 1,
            _ => {}
        }
        let found = SIGNS
            .iter()
            .find(|(text, _)| self.rest.starts_with(text.as_bytes()));
        match found {
            Some((text, token)) => {
                text.chars().for_each(|_| {
                    self.read();
                });
                Ok(*token)
            }
            None if c == '!' => self.fail(self.position, "unexpected input character '!'"),
            None => self.fail(
                self.position,
                format!("unexpected input character {}", character(c)),
            ),
        }
    }

    /// A literal in quotes; the scanner is behind its prefix.
    fn literal(&mut self, from: &'a [u8], quote: char) -> Fallible<(Token, Payload)> {
        let start = self.start;
        let opening = self.position;
        let unexpected_end = "unexpected EOF in string";
        let is_triple = self
            .rest
            .get(..3)
            .is_some_and(|head| head.iter().all(|byte| char::from(*byte) == quote));
        for _ in 0..if is_triple { 3 } else { 1 } {
            self.read();
        }
        let mut quotes = 0;
        loop {
            if self.rest.is_empty() {
                return self.fail(start, unexpected_end);
            }
            let c = self.read();
            quotes = if c == quote { quotes + 1 } else { 0 };
            if quotes == if is_triple { 3 } else { 1 } {
                break;
            }
            if c == '\n' && !is_triple {
                return self.fail(start, "unexpected newline in string");
            }
            if c == '\\' {
                if self.rest.is_empty() {
                    return self.fail(start, unexpected_end);
                }
                self.read();
            }
        }
        let raw = String::from_utf8_lossy(&from[..from.len() - self.rest.len()]).into_owned();
        // Line ends inside of literals are newlines, whatever they were.
        let raw = raw.replace("\r\n", "\n").replace('\r', "\n");
        match unquote(&raw) {
            Ok((text, true)) => Ok((Token::Bytes, Payload::Bytes(text))),
            Ok((text, false)) => Ok((Token::Text, Payload::Bytes(text))),
            Err(words) => self.fail(opening, words),
        }
    }
}

fn is_word_start(c: char) -> bool {
    c == '_' || crate::lang::unicode::is_letter(c)
}

/// A character as Go's `%#q` writes it.
fn character(c: char) -> String {
    match c {
        '\'' => "'\\''".into(),
        '\\' => "'\\\\'".into(),
        c if (c as u32) < 0x20 || c == '\u{7f}' => format!("'\\x{:02x}'", c as u32),
        c => format!("'{c}'"),
    }
}
