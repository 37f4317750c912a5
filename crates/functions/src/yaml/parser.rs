//! Builds the tree from tokens, and gives each node its comments.

use std::collections::HashSet;

use super::node::{Comments, Content, Node, ScalarStyle, Tag};
use super::resolve::resolve;
use super::scanner::{Result, Scanner};
use super::token::{Kind, ParseError, Token};

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
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError {
            line: 0,
            problem: "the text is too large".into(),
        });
    }
    check_characters(text)?;
    let mut parser = Parser {
        scanner: Scanner::new(text),
        pending: Comments::default(),
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
    // Most text is ASCII without anything odd: bytes are quicker to look at.
    let odd = |byte: &u8| *byte >= 0x7F || (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'));
    if !text.as_bytes().iter().any(odd) {
        return Ok(());
    }
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    match text.chars().all(allowed) {
        true => Ok(()),
        false => Err(ParseError {
            line: 0,
            problem: "control characters are not allowed".into(),
        }),
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    /// Comments of tokens that were looked at, for the next node that takes them.
    pending: Comments,
    /// The head of a collection that is itself an entry of a sequence.
    stem: String,
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
    fn peek(&mut self) -> Result<&Kind> {
        let token = self.scanner.peek()?;
        let (start, is_end) = (token.start.index, token.kind == Kind::BlockEnd);
        while let Some(comment) = self.scanner.comments.front()
            && start >= comment.token
            // Nothing is above an end: the comment waits for the next token.
            && (!is_end || comment.head.is_empty())
        {
            append(&mut self.pending.head, &comment.head);
            append(&mut self.pending.foot, &comment.foot);
            append(&mut self.pending.line, &comment.line);
            self.scanner.comments.pop_front();
        }
        Ok(&self.scanner.peek()?.kind)
    }

    fn skip(&mut self) -> Result<Token> {
        self.scanner.take()
    }

    fn take_comments(&mut self) -> Comments {
        self.stem.clear();
        std::mem::take(&mut self.pending)
    }

    fn error(&mut self, problem: &str) -> ParseError {
        self.error_since(0, problem)
    }

    /// An error in what began in line `start`. yaml.v3 tells the line where it
    /// began, counted from 0; where that is the first, the line of the token.
    fn error_since(&mut self, start: usize, problem: &str) -> ParseError {
        let line = match start {
            0 => self.scanner.peek().map_or(0, |token| token.start.line),
            line => line,
        };
        let problem = problem.to_owned();
        ParseError { line, problem }
    }

    fn document(&mut self, first: bool) -> Result<Option<Document>> {
        while *self.peek()? == Kind::DocumentEnd && !first {
            self.skip()?;
        }
        let mut head = String::new();
        match self.peek()? {
            Kind::StreamEnd => return Ok(None),
            Kind::Directive | Kind::DocumentStart => {
                while *self.peek()? == Kind::Directive {
                    self.skip()?;
                }
                if *self.peek()? != Kind::DocumentStart {
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
        if *self.peek()? == Kind::DocumentEnd {
            self.skip()?;
        }
        let end = self.take_comments();
        let foot = if end.foot.is_empty() {
            end.head
        } else {
            end.foot
        };
        self.anchors.clear();
        Ok(Some(Document { root, head, foot }))
    }

    /// What is above the last empty line belongs to the document, the rest to
    /// its first node.
    fn split_document_head(&mut self) -> String {
        let head = &mut self.pending.head;
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

    fn empty_scalar(&mut self) -> Result<Node> {
        let start = self.scanner.peek()?.start;
        let mut node = Node::plain("");
        node.line = u32::try_from(start.line + 1).unwrap_or(u32::MAX);
        let at = index(start.index);
        node.span = (at, at);
        Ok(node)
    }

    /// A node. `block` collections are read where they may stand, and sequences
    /// that are not indented as values of a mapping.
    fn node(&mut self, block: bool, indentless: bool) -> Result<Node> {
        self.peek()?;
        let start = self.scanner.peek()?.start;
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
        let stem = |parser: &mut Self| Comments {
            head: std::mem::take(&mut parser.stem),
            ..Comments::default()
        };
        let (content, default_tag, comments) = match self.peek()? {
            Kind::Alias(_) if anchor.is_none() && tag.is_none() => self.alias()?,
            Kind::BlockEntry if indentless => {
                let items = self.indentless_sequence()?;
                (
                    Content::Sequence { items, flow: false },
                    Tag::Seq,
                    Comments::default(),
                )
            }
            Kind::Scalar(..) => self.scalar()?,
            Kind::FlowSequenceStart => self.flow_sequence()?,
            Kind::FlowMappingStart => self.flow_mapping()?,
            Kind::BlockSequenceStart if block => {
                let comments = stem(self);
                let items = self.block_sequence()?;
                (Content::Sequence { items, flow: false }, Tag::Seq, comments)
            }
            Kind::BlockMappingStart if block => {
                let mut comments = stem(self);
                let fields = self.block_mapping(&mut comments)?;
                (
                    Content::Mapping {
                        fields,
                        flow: false,
                    },
                    Tag::Map,
                    comments,
                )
            }
            _ if anchor.is_some() || tag.is_some() => {
                let empty = Content::Scalar {
                    value: String::new(),
                    style: ScalarStyle::Plain,
                };
                (empty, Tag::Null, Comments::default())
            }
            _ => return Err(self.error_since(start.line, "did not find expected node content")),
        };
        let mut node = Node::new(content, default_tag);
        if let Some(tag) = tag.filter(|tag| tag != "!") {
            node.tag = Tag::from_long(&tag);
            node.tagged = true;
        }
        node.anchor = anchor.map(Into::into);
        node.set_comments(comments);
        node.line = u32::try_from(start.line + 1).unwrap_or(u32::MAX);
        node.span = (index(start.index), index(self.scanner.last_end));
        Ok(node)
    }

    fn alias(&mut self) -> Result<(Content, Tag, Comments)> {
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
        Ok((Content::Alias(name), Tag::None, comments))
    }

    fn scalar(&mut self) -> Result<(Content, Tag, Comments)> {
        let comments = self.take_comments();
        let Kind::Scalar(value, style) = self.skip()?.kind else {
            return Err(self.error("did not find expected scalar"));
        };
        let tag = match style {
            ScalarStyle::Plain => resolve(&value),
            _ => Tag::Str,
        };
        Ok((Content::Scalar { value, style }, tag, comments))
    }

    fn block_sequence(&mut self) -> Result<Vec<Node>> {
        let start = self.skip()?.start.line;
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                Kind::BlockEntry => items.push(self.entry(false)?),
                Kind::BlockEnd => {
                    self.skip()?;
                    return Ok(items);
                }
                _ => return Err(self.error_since(start, "did not find expected '-' indicator")),
            }
        }
    }

    fn indentless_sequence(&mut self) -> Result<Vec<Node>> {
        let mut items = Vec::new();
        while *self.peek()? == Kind::BlockEntry {
            items.push(self.entry(true)?);
        }
        Ok(items)
    }

    fn entry(&mut self, indentless: bool) -> Result<Node> {
        let above = self.pending.head.len();
        self.skip()?;
        let nested = matches!(
            self.peek()?,
            Kind::BlockSequenceStart | Kind::BlockMappingStart
        );
        if above > 0 && nested {
            // What is above the dash belongs to the entry, what is behind the
            // dash to its first field.
            let rest = self.pending.head.get(above + 1..).unwrap_or("").to_owned();
            self.pending.head.truncate(above);
            self.stem = std::mem::replace(&mut self.pending.head, rest);
        }
        match self.peek()? {
            Kind::BlockEntry | Kind::BlockEnd => self.empty_scalar(),
            Kind::Key | Kind::Value if indentless => self.empty_scalar(),
            _ => self.node(true, false),
        }
    }

    fn block_mapping(&mut self, comments: &mut Comments) -> Result<Vec<(Node, Node)>> {
        let start = self.skip()?.start.line;
        let mut fields: Vec<(Node, Node)> = Vec::new();
        loop {
            match self.peek()? {
                Kind::Key => {
                    self.skip()?;
                    let mut key = match self.peek()? {
                        Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_scalar()?,
                        _ => self.node(true, true)?,
                    };
                    if let Some((before, _)) = fields.last_mut()
                        && !key.comments().foot.is_empty()
                    {
                        // It was dedented: it is below the field before.
                        before.set_foot(key.take_foot());
                    }
                    let value = self.block_value()?;
                    fields.push(joined(key, value));
                }
                Kind::BlockEnd => {
                    let end = self.take_comments();
                    self.skip()?;
                    comments.line = end.line;
                    match fields.last_mut() {
                        Some((key, _)) if !end.foot.is_empty() => key.set_foot(end.foot),
                        _ => comments.foot = end.foot,
                    }
                    return Ok(fields);
                }
                _ => return Err(self.error_since(start, "did not find expected key")),
            }
        }
    }

    fn block_value(&mut self) -> Result<Node> {
        if *self.peek()? != Kind::Value {
            return self.empty_scalar();
        }
        self.skip()?;
        match self.peek()? {
            Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_scalar(),
            _ => self.node(true, true),
        }
    }

    fn flow_sequence(&mut self) -> Result<(Content, Tag, Comments)> {
        let mut comments = self.take_comments();
        let start = self.skip()?.start.line;
        let mut items = Vec::new();
        while *self.peek()? != Kind::FlowSequenceEnd {
            if !items.is_empty() {
                self.expect_comma(start, "did not find expected ',' or ']'")?;
            }
            match self.peek()? {
                Kind::FlowSequenceEnd => break,
                Kind::Key => items.push(self.flow_pair()?),
                _ => items.push(self.node(false, false)?),
            }
        }
        let end = self.take_comments();
        self.skip()?;
        (comments.line, comments.foot) = (end.line, end.foot);
        Ok((Content::Sequence { items, flow: true }, Tag::Seq, comments))
    }

    fn expect_comma(&mut self, start: usize, problem: &str) -> Result<()> {
        match self.peek()? {
            Kind::FlowEntry => self.skip().map(drop),
            _ => Err(self.error_since(start, problem)),
        }
    }

    /// `[a: b]` holds a mapping of one field.
    fn flow_pair(&mut self) -> Result<Node> {
        self.skip()?;
        let key = match self.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => self.empty_scalar()?,
            _ => self.node(false, false)?,
        };
        let value = self.flow_value()?;
        let fields = vec![joined(key, value)];
        Ok(Node::new(Content::Mapping { fields, flow: true }, Tag::Map))
    }

    fn flow_value(&mut self) -> Result<Node> {
        if *self.peek()? != Kind::Value {
            return self.empty_scalar();
        }
        self.skip()?;
        match self.peek()? {
            Kind::FlowEntry | Kind::FlowSequenceEnd | Kind::FlowMappingEnd => self.empty_scalar(),
            _ => self.node(false, false),
        }
    }

    fn flow_mapping(&mut self) -> Result<(Content, Tag, Comments)> {
        let mut comments = self.take_comments();
        let start = self.skip()?.start.line;
        let mut fields = Vec::new();
        while *self.peek()? != Kind::FlowMappingEnd {
            if !fields.is_empty() {
                self.expect_comma(start, "did not find expected ',' or '}'")?;
            }
            match self.peek()? {
                Kind::FlowMappingEnd => break,
                Kind::Key => {
                    self.skip()?;
                    let key = match self.peek()? {
                        Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => {
                            self.empty_scalar()?
                        }
                        _ => self.node(false, false)?,
                    };
                    let value = self.flow_value()?;
                    fields.push(joined(key, value));
                }
                _ => {
                    let key = self.node(false, false)?;
                    let value = self.empty_scalar()?;
                    fields.push(joined(key, value));
                }
            }
        }
        let end = self.take_comments();
        self.skip()?;
        (comments.line, comments.foot) = (end.line, end.foot);
        Ok((Content::Mapping { fields, flow: true }, Tag::Map, comments))
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A field. A comment below its value is one below the field.
fn joined(mut key: Node, mut value: Node) -> (Node, Node) {
    if key.comments().foot.is_empty() && !value.comments().foot.is_empty() {
        key.set_foot(value.take_foot());
    }
    (key, value)
}
