//! Block collections.

use super::{Comments, Kind, Node, Parser, Result, joined};

impl Parser<'_> {
    /// The comment above the entry of a sequence that is this collection.
    fn take_stem(&mut self) -> Option<Box<Comments>> {
        (!self.stem.is_empty()).then(|| {
            Box::new(Comments {
                head: std::mem::take(&mut self.stem),
                ..Comments::default()
            })
        })
    }

    pub(super) fn block_sequence(&mut self) -> Result<Node> {
        let comments = self.take_stem();
        let start = self.skip()?.start.line;
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                Kind::BlockEntry => items.push(self.entry(false)?),
                Kind::BlockEnd => {
                    self.skip()?;
                    return Ok(Node::sequence(items).with_comments(comments));
                }
                _ => return Err(self.error_since(start, "did not find expected '-' indicator")),
            }
        }
    }

    pub(super) fn indentless_sequence(&mut self) -> Result<Node> {
        let mut items = Vec::new();
        while matches!(self.peek()?, Kind::BlockEntry) {
            items.push(self.entry(true)?);
        }
        Ok(Node::sequence(items))
    }

    fn entry(&mut self, indentless: bool) -> Result<Node> {
        let above = self
            .pending
            .as_ref()
            .map_or(0, |pending| pending.head.len());
        self.skip()?;
        let nested = matches!(
            self.peek()?,
            Kind::BlockSequenceStart | Kind::BlockMappingStart
        );
        if let (true, true, Some(pending)) = (above > 0, nested, &mut self.pending) {
            // What is above the dash belongs to the entry, what is behind the
            // dash to its first field.
            let rest = pending.head.get(above + 1..).unwrap_or("").to_owned();
            pending.head.truncate(above);
            self.stem = std::mem::replace(&mut pending.head, rest);
        }
        match self.peek()? {
            Kind::BlockEntry | Kind::BlockEnd => self.empty_scalar(),
            Kind::Key | Kind::Value if indentless => self.empty_scalar(),
            _ => self.node(true, false),
        }
    }

    pub(super) fn block_mapping(&mut self) -> Result<Node> {
        let mut comments = self.take_stem();
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
                    if let Some(end) = self.take_comments() {
                        let own = comments.get_or_insert_default();
                        own.line = end.line;
                        match fields.last_mut() {
                            Some((key, _)) if !end.foot.is_empty() => key.set_foot(end.foot),
                            _ => own.foot = end.foot,
                        }
                    }
                    self.skip()?;
                    return Ok(Node::mapping(fields).with_comments(comments));
                }
                _ => return Err(self.error_since(start, "did not find expected key")),
            }
        }
    }

    fn block_value(&mut self) -> Result<Node> {
        if !matches!(self.peek()?, Kind::Value) {
            return self.empty_scalar();
        }
        self.skip()?;
        match self.peek()? {
            Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_scalar(),
            _ => self.node(true, true),
        }
    }
}
