//! Builds the tree from tokens, and gives each node its comments.

mod block;
mod flow;

use std::collections::HashSet;

use super::node::{Comments, Content, Node, ScalarStyle, Tag};
use super::resolve::resolve;
use super::scanner::{Result, Scanner};
use super::token::{Kind, Mark, ParseError, Token};
use crate::meter;

/// One document of a text.
#[derive(Debug, Clone)]
pub struct Document {
    pub root: Node,
    /// Comments above and below everything.
    pub head: String,
    pub foot: String,
}

/// Parses every document of `text`.
pub fn parse_all(text: &str) -> Result<Vec<Document>> {
    parse_from(text, 1)
}

/// Parses every document of a text that begins in this line of another one.
pub(crate) fn parse_from(text: &str, line: u32) -> Result<Vec<Document>> {
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError {
            line: 0,
            problem: "the text is too large".into(),
        });
    }
    check_characters(text)?;
    let mut parser = Parser {
        scanner: Scanner::new(text, line as usize - 1),
        pending: None,
        stem: String::new(),
        anchors: HashSet::new(),
    };
    parser.scanner.take()?;
    let mut documents = Vec::new();
    while let Some(document) = parser.document(documents.is_empty())? {
        documents.push(document);
    }
    Ok(documents)
}

/// The characters that YAML allows in a text.
fn check_characters(text: &str) -> Result<()> {
    // Most text is ASCII without anything odd: bytes are quicker to look at, and
    // many at a time quicker still.
    let is_odd =
        |byte: &u8| *byte >= 0x7F || (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'));
    let any_odd = |bytes: &[u8]| bytes.iter().fold(false, |odd, byte| odd | is_odd(byte));
    if !text.as_bytes().chunks(64).any(any_odd) {
        return Ok(());
    }
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if text.chars().all(allowed) {
        Ok(())
    } else {
        Err(ParseError {
            line: 0,
            problem: "control characters are not allowed".into(),
        })
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    /// Comments of tokens that were looked at, for the next node that takes them.
    pending: Option<Box<Comments>>,
    /// The head of a collection that is itself an entry of a sequence.
    stem: String,
    /// Of all documents: yaml.v3 does not forget them at the end of one.
    anchors: HashSet<String>,
}

fn append(to: &mut String, more: &str) {
    if !more.is_empty() {
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(more);
    }
}

impl Parser<'_> {
    /// The next token; the comments that belong to it become pending.
    #[inline]
    fn peek(&mut self) -> Result<&Kind> {
        self.scanner.peek()?;
        if !self.scanner.comments.is_empty() {
            self.collect_comments();
        }
        Ok(&self.scanner.front().kind)
    }

    #[inline(never)]
    fn collect_comments(&mut self) {
        let token = self.scanner.front();
        let (start, is_end) = (token.start.index, matches!(token.kind, Kind::BlockEnd));
        while let Some(comment) = self.scanner.comments.front()
            && start >= comment.token
            // Nothing is above an end: the comment waits for the next token.
            && (!is_end || comment.head.is_empty())
        {
            let pending = self.pending.get_or_insert_default();
            append(&mut pending.head, &comment.head);
            append(&mut pending.foot, &comment.foot);
            append(&mut pending.line, &comment.line);
            self.scanner.comments.pop_front();
        }
    }

    fn skip(&mut self) -> Result<Token> {
        self.scanner.take()
    }

    fn take_comments(&mut self) -> Option<Box<Comments>> {
        self.stem.clear();
        self.pending.take()
    }

    /// Where the next token starts.
    fn place(&mut self) -> Result<Mark> {
        Ok(self.scanner.peek()?.start)
    }

    fn error(&mut self, problem: &str) -> ParseError {
        self.error_since(0, problem)
    }

    /// An error in what began in line `start`. yaml.v3 reports the line where it
    /// began, counted from 0; where that is the first, the line of the token.
    fn error_since(&mut self, start: usize, problem: &str) -> ParseError {
        let line = match start {
            0 => self.place().map_or(0, |place| place.line),
            line => line,
        };
        let problem = problem.to_owned();
        ParseError { line, problem }
    }

    fn document(&mut self, first: bool) -> Result<Option<Document>> {
        while !first && matches!(self.peek()?, Kind::DocumentEnd) {
            self.skip()?;
        }
        let mut head = String::new();
        match self.peek()? {
            Kind::StreamEnd => return Ok(None),
            Kind::Directive | Kind::DocumentStart => {
                while matches!(self.peek()?, Kind::Directive) {
                    self.skip()?;
                }
                if !matches!(self.peek()?, Kind::DocumentStart) {
                    return Err(self.error("did not find expected <document start>"));
                }
                self.skip()?;
            }
            _ if !first => return Err(self.error("did not find expected <document start>")),
            _ => head = self.split_document_head(),
        }
        let root = match self.peek()? {
            Kind::Directive | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd => {
                self.empty_scalar()?
            }
            _ => self.node(true, false)?,
        };
        if matches!(self.peek()?, Kind::DocumentEnd) {
            self.skip()?;
        }
        let end = self.take_comments().unwrap_or_default();
        let foot = if end.foot.is_empty() {
            end.head
        } else {
            end.foot
        };
        Ok(Some(Document { root, head, foot }))
    }

    /// What is above the last empty line belongs to the document, the rest to
    /// its first node.
    fn split_document_head(&mut self) -> String {
        let Some(pending) = &mut self.pending else {
            return String::new();
        };
        let head = &mut pending.head;
        if head.len() > 1 && head.ends_with('\n') {
            head.pop();
            return std::mem::take(head);
        }
        match head.rfind("\n\n") {
            Some(at) => {
                let rest = head.split_off(at + 2);
                head.truncate(at);
                std::mem::replace(head, rest)
            }
            None => String::new(),
        }
    }

    /// Nothing, where a node could be: behind the last token.
    fn empty_scalar(&mut self) -> Result<Node> {
        let mut node = Node::plain("");
        node.line = line_number(self.place()?);
        Ok(node)
    }

    /// A node. `block` collections are read where they may stand, and sequences
    /// that are not indented as values of a mapping.
    fn node(&mut self, block: bool, indentless: bool) -> Result<Node> {
        if !meter::charge(0) {
            return Err(self.error("the run is over"));
        }
        self.peek()?;
        let start = self.place()?;
        let (anchor, tag) = self.properties()?;
        let is_bare = anchor.is_none() && tag.is_none();
        let mut node = match self.peek()? {
            Kind::Scalar(..) => self.scalar()?,
            Kind::BlockMappingStart if block => self.block_mapping()?,
            Kind::BlockSequenceStart if block => self.block_sequence()?,
            Kind::BlockEntry if indentless => self.indentless_sequence()?,
            Kind::FlowSequenceStart => self.flow_sequence()?,
            Kind::FlowMappingStart => self.flow_mapping()?,
            Kind::Alias(_) if is_bare => self.alias()?,
            _ if is_bare => {
                return Err(self.error_since(start.line, "did not find expected node content"));
            }
            _ => Node::plain(""),
        };
        if let Some(tag) = tag.filter(|tag| tag != "!") {
            node.set_written_tag(&tag);
        }
        node.set_anchor(anchor.as_deref());
        self.place_node(&mut node, start);
        Ok(node)
    }

    /// The node's place: from `start` to the last token.
    fn place_node(&self, node: &mut Node, start: Mark) {
        node.line = line_number(start);
    }

    /// Anchor and tag, in any order.
    fn properties(&mut self) -> Result<(Option<String>, Option<String>)> {
        let (mut anchor, mut tag) = (None, None);
        loop {
            match self.peek()? {
                Kind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                Kind::Tag(name) if tag.is_none() => tag = Some(name.clone()),
                _ => break,
            }
            self.skip()?;
        }
        if let Some(name) = &anchor {
            self.anchors.insert(name.clone());
        }
        Ok((anchor, tag))
    }

    fn alias(&mut self) -> Result<Node> {
        let comments = self.take_comments();
        let Kind::Alias(name) = self.skip()?.kind else {
            return Err(self.error("did not find expected alias"));
        };
        if !self.anchors.contains(&name) {
            return Err(ParseError {
                line: 0,
                problem: format!("unknown anchor '{name}' referenced"),
            });
        }
        Ok(Node::new(Content::Alias(name), Tag::None).with_comments(comments))
    }

    fn scalar(&mut self) -> Result<Node> {
        let comments = self.take_comments();
        let Kind::Scalar(value, style) = self.skip()?.kind else {
            return Err(self.error("did not find expected scalar"));
        };
        let tag = match style {
            ScalarStyle::Plain => resolve(&value),
            _ => Tag::Str,
        };
        Ok(Node::new(Content::Scalar { value, style }, tag).with_comments(comments))
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn line_number(place: Mark) -> u32 {
    index(place.line + 1)
}

/// A field. A comment below its value is one below the field.
fn joined(mut key: Node, mut value: Node) -> (Node, Node) {
    if key.comments().foot.is_empty() && !value.comments().foot.is_empty() {
        key.set_foot(value.take_foot());
    }
    (key, value)
}
