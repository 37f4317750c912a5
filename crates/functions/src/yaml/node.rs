//! The tree that text is parsed into: what each node says, how it was written,
//! the comments around it, and where in the text it stands.

use smol_str::SmolStr;

use super::{
    block::{Block, Late, Written},
    resolve::resolve,
};
use crate::meter;

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalarStyle {
    #[default]
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

/// What a node is: its YAML tag in the short form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    /// No tag: a scalar that is written as it is.
    #[default]
    None,
    Str,
    Int,
    Float,
    Bool,
    Null,
    Timestamp,
    Merge,
    Map,
    Seq,
    /// Any other: the node knows its name.
    Other,
}

impl Tag {
    /// From the short form, without its exclamation marks.
    fn of_yaml(name: &str) -> Self {
        match name {
            "str" => Self::Str,
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "null" => Self::Null,
            "timestamp" => Self::Timestamp,
            "merge" => Self::Merge,
            "map" => Self::Map,
            "seq" => Self::Seq,
            _ => Self::Other,
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::None | Self::Other => "",
            Self::Str => "!!str",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Bool => "!!bool",
            Self::Null => "!!null",
            Self::Timestamp => "!!timestamp",
            Self::Merge => "!!merge",
            Self::Map => "!!map",
            Self::Seq => "!!seq",
        }
    }
}

/// Comments, with their `#`, several lines separated by line feeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comments {
    pub head: String,
    pub line: String,
    pub foot: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Scalar {
        /// Most are short words: those need no memory of their own.
        value: SmolStr,
        style: ScalarStyle,
    },
    /// Keys and values, in the order of the text.
    Mapping {
        fields: Block<(Node, Node)>,
        flow: bool,
    },
    Sequence {
        items: Block<Node>,
        flow: bool,
    },
    /// The name of the anchor. Aliases are never followed.
    Alias(String),
}

/// yaml.v3's name of a node's kind, for errors.
pub(crate) fn kind_name(node: &Node) -> &'static str {
    match node.content {
        Content::Mapping { .. } => "MappingNode",
        Content::Sequence { .. } => "SequenceNode",
        Content::Scalar { .. } => "ScalarNode",
        Content::Alias(_) => "AliasNode",
    }
}

/// What is written in front of few nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Properties {
    anchor: Option<Box<str>>,
    /// The name of [`Tag::Other`].
    tag: Box<str>,
}

/// A node of a document. A list has very many of them, so what is rare is kept
/// elsewhere: a node is 64 bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    pub content: Content,
    pub tag: Tag,
    /// Whether the tag is written in the text.
    pub tagged: bool,
    properties: Option<Box<Properties>>,
    pub(super) comments: Option<Box<Comments>>,
    /// From 1; 0 for nodes that were not parsed.
    pub line: u32,
}

impl Clone for Node {
    /// A copy, which is charged. Once the run is over copies are empty: nobody
    /// will look at them.
    fn clone(&self) -> Self {
        let comments = self.comments.as_ref();
        let words = comments.map_or(0, |it| it.head.len() + it.line.len() + it.foot.len());
        if !meter::charge(meter::NODE + words) {
            return Self::new(Content::Alias(String::new()), Tag::None);
        }
        Self {
            content: self.content.clone(),
            tag: self.tag,
            tagged: self.tagged,
            properties: self.properties.clone(),
            comments: self.comments.clone(),
            line: self.line,
        }
    }
}

/// What text costs a node: short words are in the node itself.
fn cost(text: &str) -> usize {
    if text.len() > 22 { text.len() } else { 0 }
}

impl Node {
    #[inline]
    pub(super) fn new(content: Content, tag: Tag) -> Self {
        let text = match &content {
            Content::Scalar { value, .. } => cost(value),
            _ => 0,
        };
        meter::charge(meter::NODE + text);
        Self {
            content,
            tag,
            tagged: false,
            properties: None,
            comments: None,
            line: 0,
        }
    }

    /// A scalar that is text, quoted where it would be read as something else.
    pub fn text(value: impl Into<SmolStr>) -> Self {
        let value = value.into();
        let style = ScalarStyle::Plain;
        Self::new(Content::Scalar { value, style }, Tag::Str)
    }

    /// A plain scalar that means what it looks like.
    pub fn plain(value: impl Into<SmolStr>) -> Self {
        let value = value.into();
        let tag = resolve(&value);
        let style = ScalarStyle::Plain;
        Self::new(Content::Scalar { value, style }, tag)
    }

    pub fn anchor(&self) -> Option<&str> {
        self.properties.as_ref()?.anchor.as_deref()
    }

    pub(super) fn set_anchor(&mut self, anchor: Option<&str>) {
        if anchor.is_some() || self.properties.is_some() {
            self.properties.get_or_insert_default().anchor = anchor.map(Into::into);
        }
    }

    /// The tag in the short form, as it is written in a document.
    pub fn tag_name(&self) -> &str {
        match (self.tag, &self.properties) {
            (Tag::Other, Some(properties)) => &properties.tag,
            (tag, _) => tag.short(),
        }
    }

    /// Gives the node a tag in the form in which the scanner resolves it.
    pub(super) fn set_written_tag(&mut self, tag: &str) {
        let yaml = tag.strip_prefix("tag:yaml.org,2002:");
        self.tag = yaml.map_or(Tag::Other, Tag::of_yaml);
        self.tagged = true;
        if self.tag == Tag::Other {
            let name = yaml.map_or_else(|| tag.into(), |name| format!("!!{name}").into());
            self.properties.get_or_insert_default().tag = name;
        }
    }

    /// A block mapping.
    pub fn mapping(fields: Vec<(Node, Node)>) -> Self {
        Self::new(
            Content::Mapping {
                fields: fields.into(),
                flow: false,
            },
            Tag::Map,
        )
    }

    /// A block sequence.
    pub fn sequence(items: Vec<Node>) -> Self {
        let items = items.into();
        Self::new(Content::Sequence { items, flow: false }, Tag::Seq)
    }

    /// Whether this is a block that nobody has changed since it was read, and that
    /// is written as it was.
    pub(crate) fn is_as_written(&self) -> bool {
        self.as_written().is_some()
    }

    /// Has fields added to a mapping that nobody has changed, when it is read.
    pub(crate) fn add_late(&mut self, late: Late) {
        if let Content::Mapping { fields, .. } = &mut self.content {
            fields.add_late(late);
        }
    }

    /// Takes back fields that would be added, if nobody has changed anything in this
    /// mapping. Whether that is so.
    pub(crate) fn take_late_back(&mut self) -> bool {
        match &mut self.content {
            Content::Mapping { fields, .. } => fields.take_late_back(),
            _ => false,
        }
    }

    /// Whether [`Self::take_late_back`] did so, and nobody has changed anything since.
    pub(crate) fn was_late(&self) -> bool {
        match &self.content {
            Content::Mapping { fields, .. } => fields.was_late(),
            _ => false,
        }
    }

    /// The text of such a block.
    pub(crate) fn as_written(&self) -> Option<&str> {
        let written = match &self.content {
            Content::Mapping { fields, .. } => fields.written(),
            Content::Sequence { items, .. } => items.written(),
            Content::Scalar { .. } | Content::Alias(_) => None,
        };
        written.map(Written::text)
    }

    pub fn comments(&self) -> &Comments {
        const NONE: &Comments = &Comments {
            head: String::new(),
            line: String::new(),
            foot: String::new(),
        };
        self.comments.as_deref().unwrap_or(NONE)
    }

    pub(crate) fn comments_mut(&mut self) -> &mut Comments {
        self.comments.get_or_insert_default()
    }

    #[inline]
    pub(super) fn with_comments(mut self, comments: Option<Box<Comments>>) -> Self {
        self.comments = comments.filter(|comments| **comments != Comments::default());
        self
    }

    pub(super) fn take_foot(&mut self) -> String {
        match &mut self.comments {
            Some(comments) => std::mem::take(&mut comments.foot),
            None => String::new(),
        }
    }

    pub(super) fn set_foot(&mut self, foot: String) {
        if self.comments.is_some() || !foot.is_empty() {
            self.comments_mut().foot = foot;
        }
    }
}
