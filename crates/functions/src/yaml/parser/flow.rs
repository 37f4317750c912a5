//! Collections in brackets.

use super::{Comments, Content, Kind, Node, Parser, Result, Tag, joined};

impl Parser<'_> {
    /// The comments of a collection: above its first bracket, and what is at
    /// the last one, which is taken.
    fn close_flow(&mut self, above: Option<Box<Comments>>) -> Result<Option<Box<Comments>>> {
        let head = above.map_or_else(String::new, |above| above.head);
        let mut comments = self.take_comments();
        if comments.is_some() || !head.is_empty() {
            comments.get_or_insert_default().head = head;
        }
        self.skip()?;
        Ok(comments)
    }

    pub(super) fn flow_sequence(&mut self) -> Result<Node> {
        let above = self.take_comments();
        let start = self.skip()?.start.line;
        let mut items = Vec::new();
        while !matches!(self.peek()?, Kind::FlowSequenceEnd) {
            if !items.is_empty() {
                self.expect_comma(start, "did not find expected ',' or ']'")?;
            }
            match self.peek()? {
                Kind::FlowSequenceEnd => break,
                Kind::Key => items.push(self.flow_pair()?),
                _ => items.push(self.node(false, false)?),
            }
        }
        let (comments, items) = (self.close_flow(above)?, items.into());
        Ok(Node::new(Content::Sequence { items, flow: true }, Tag::Seq).with_comments(comments))
    }

    fn expect_comma(&mut self, start: usize, problem: &str) -> Result<()> {
        match self.peek()? {
            Kind::FlowEntry => self.skip().map(drop),
            _ => Err(self.error_since(start, problem)),
        }
    }

    /// `[a: b]` holds a mapping of one field.
    fn flow_pair(&mut self) -> Result<Node> {
        let start = self.place()?;
        let fields = vec![self.flow_field()?].into();
        let mut node = Node::new(Content::Mapping { fields, flow: true }, Tag::Map);
        self.place_node(&mut node, start);
        Ok(node)
    }

    /// A key that is known to be one, and its value.
    fn flow_field(&mut self) -> Result<(Node, Node)> {
        self.skip()?;
        let key = match self.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd | Kind::FlowMappingEnd => {
                self.empty_scalar()?
            }
            _ => self.node(false, false)?,
        };
        let value = self.flow_value()?;
        Ok(joined(key, value))
    }

    fn flow_value(&mut self) -> Result<Node> {
        if !matches!(self.peek()?, Kind::Value) {
            return self.empty_scalar();
        }
        self.skip()?;
        match self.peek()? {
            Kind::FlowEntry | Kind::FlowSequenceEnd | Kind::FlowMappingEnd => self.empty_scalar(),
            _ => self.node(false, false),
        }
    }

    pub(super) fn flow_mapping(&mut self) -> Result<Node> {
        let above = self.take_comments();
        let start = self.skip()?.start.line;
        let mut fields = Vec::new();
        while !matches!(self.peek()?, Kind::FlowMappingEnd) {
            if !fields.is_empty() {
                self.expect_comma(start, "did not find expected ',' or '}'")?;
            }
            match self.peek()? {
                Kind::FlowMappingEnd => break,
                Kind::Key => fields.push(self.flow_field()?),
                _ => {
                    let key = self.node(false, false)?;
                    let value = self.empty_scalar()?;
                    fields.push(joined(key, value));
                }
            }
        }
        let (comments, fields) = (self.close_flow(above)?, fields.into());
        Ok(Node::new(Content::Mapping { fields, flow: true }, Tag::Map).with_comments(comments))
    }
}
