//! Reading and editing a tree the way KRM functions do: fields by name and path,
//! list entries by a key. An edit keeps the comments and the style of what was
//! there.

use super::{
    block::Written,
    node::{Content, Node, ScalarStyle, Tag},
};
use crate::meter;

impl Node {
    /// The text of a scalar, whatever it means.
    pub fn value(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { value, .. } => Some(value),
            _ => None,
        }
    }

    pub(super) fn style(&self) -> Option<ScalarStyle> {
        match self.content {
            Content::Scalar { style, .. } => Some(style),
            _ => None,
        }
    }

    /// The text of a scalar that is text, not a number or the like.
    pub fn as_text(&self) -> Option<&str> {
        self.value()
            .filter(|_| matches!(self.tag, Tag::Str | Tag::None))
    }

    /// Whether this is a scalar without quotes.
    pub fn is_plain(&self) -> bool {
        let plain = ScalarStyle::Plain;
        matches!(self.content, Content::Scalar { style, .. } if style == plain)
    }

    pub fn is_null(&self) -> bool {
        self.tag == Tag::Null
    }

    pub fn is_mapping(&self) -> bool {
        matches!(self.content, Content::Mapping { .. })
    }

    pub fn is_sequence(&self) -> bool {
        matches!(self.content, Content::Sequence { .. })
    }

    /// The fields of a mapping; none of anything else.
    pub fn fields(&self) -> &[(Node, Node)] {
        match &self.content {
            Content::Mapping { fields, .. } => fields,
            _ => &[],
        }
    }

    pub fn fields_mut(&mut self) -> Option<&mut Vec<(Node, Node)>> {
        match &mut self.content {
            Content::Mapping { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// The entries of a sequence; none of anything else.
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::Sequence { items, .. } => items,
            _ => &[],
        }
    }

    pub fn items_mut(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.content {
            Content::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let field = self
            .fields()
            .iter()
            .find(|(name, _)| name.value() == Some(key));
        field.map(|(_, value)| value)
    }

    /// The value of a field that few mappings have: one that is still text is not read to
    /// find that it is not there. Keys stand in such a text as they are.
    pub(crate) fn get_rare(&self, key: &str) -> Option<&Node> {
        let unread = match &self.content {
            Content::Mapping { fields, .. } => fields.unread().map(Written::text),
            _ => None,
        };
        let begins = |line: &str| line.trim_start().starts_with(key);
        let is_missing = |text: &str| !text.lines().any(begins);
        if unread.is_some_and(is_missing) {
            None
        } else {
            self.get(key)
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let fields = self.fields_mut()?;
        let field = fields
            .iter_mut()
            .find(|(name, _)| name.value() == Some(key));
        field.map(|(_, value)| value)
    }

    /// The value at the end of a path of fields.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn at_mut(&mut self, path: &[&str]) -> Option<&mut Node> {
        path.iter().try_fold(self, |node, key| node.get_mut(key))
    }

    /// The text at the end of a path; empty if there is none.
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Node::as_text).unwrap_or("")
    }

    /// Adds a field behind the others. A node that is not a mapping stays as it is.
    pub fn insert(&mut self, key: &str, value: Node) {
        if let Some(fields) = self.fields_mut() {
            fields.push((Node::text(key), value));
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let fields = self.fields_mut()?;
        let at = fields
            .iter()
            .position(|(name, _)| name.value() == Some(key))?;
        Some(fields.remove(at).1)
    }

    /// Gives a field another name; its place, value and comments stay.
    pub fn rename(&mut self, key: &str, new: &str) -> bool {
        let fields = self.fields_mut().map(|fields| fields.iter_mut());
        let field =
            fields.and_then(|mut fields| fields.find(|(name, _)| name.value() == Some(key)));
        match field {
            Some((name, _)) => {
                name.set_text(new);
                true
            }
            None => false,
        }
    }

    /// The entry of a sequence whose field `key` has the text `value`.
    pub fn entry_mut(&mut self, key: &str, value: &str) -> Option<&mut Node> {
        let has = |item: &&mut Node| item.get(key).and_then(Node::value) == Some(value);
        self.items_mut()?.iter_mut().find(has)
    }

    /// Makes the node this text. A scalar keeps its style and its comments.
    pub fn set_text(&mut self, text: &str) {
        let style = match &self.content {
            Content::Scalar { style, .. } => *style,
            _ => {
                self.comments = None;
                self.tagged = false;
                ScalarStyle::Plain
            }
        };
        meter::charge(text.len());
        let value = text.into();
        self.content = Content::Scalar { value, style };
        self.tag = Tag::Str;
        self.set_anchor(None);
    }

    /// Changes the text of a scalar, and nothing else about it.
    pub(crate) fn set_value(&mut self, text: &str) {
        if let Content::Scalar { value, .. } = &mut self.content {
            meter::charge(text.len());
            *value = text.into();
        }
    }

    /// Sets the text at a path of fields, which are created where they are
    /// missing. `Err` if something on the way is not a mapping.
    pub fn set_text_at(&mut self, path: &[&str], text: &str) -> Result<(), NotAMapping> {
        let Some((last, parents)) = path.split_last() else {
            return Ok(());
        };
        let mut node = self;
        for key in parents {
            if node.get(key).is_none() {
                node.insert(key, Node::mapping(Vec::new()));
            }
            node = node.get_mut(key).ok_or(NotAMapping)?;
        }
        if !node.is_mapping() {
            return Err(NotAMapping);
        }
        match node.get_mut(last) {
            Some(value) => value.set_text(text),
            None => node.insert(last, Node::text(text)),
        }
        Ok(())
    }

    /// Whether both say the same, in whatever style and order of fields.
    pub fn same_content(&self, other: &Node) -> bool {
        match (&self.content, &other.content) {
            (Content::Scalar { value: a, .. }, Content::Scalar { value: b, .. }) => {
                a == b && self.tag_name() == other.tag_name()
            }
            (Content::Sequence { items: a, .. }, Content::Sequence { items: b, .. }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_content(b))
            }
            (Content::Mapping { fields: a, .. }, Content::Mapping { fields: b, .. }) => {
                // Any of them: keys may be there twice.
                let found = |(key, value): &(Node, Node)| {
                    let same = |(a, b): &(Node, Node)| a.same_content(key) && b.same_content(value);
                    b.iter().any(same)
                };
                a.len() == b.len() && a.iter().all(found)
            }
            (Content::Alias(a), Content::Alias(b)) => a == b,
            _ => false,
        }
    }
}

/// Something on a path of fields is not a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAMapping;
