//! Splits the text of a list into its objects. Those that are as the emitter writes
//! them stay text; the parser reads the others, each with what is beside it in the
//! list, so that it means the same there.
//!
//! If anything is in doubt, the answer is `None`, and the parser reads the whole list.

use std::rc::Rc;

use memchr::memmem;

use crate::{
    meter,
    yaml::{Column, Node, Object, SequenceIndent, Source, Style, object, parse_from},
};

const ITEMS: &str = "items:\n";

/// The root of a list, as the parser would read it, and how many of its objects are
/// text.
pub(super) fn split(text: &Rc<Source>, style: Style) -> Option<(Node, usize)> {
    let start = text.lines().take(8).position(|line| line == "items:")?;
    let head: usize = text.split_inclusive('\n').take(start).map(str::len).sum();
    let (head, rest) = text.split_at(head);
    let is_in_reach = u32::try_from(text.len()).is_ok() && rest.starts_with(ITEMS);
    if !is_in_reach || has_rare_breaks(text) || !head.lines().all(is_simple_field) {
        return None;
    }
    let spaces = rest[ITEMS.len()..].bytes().take_while(|byte| *byte == b' ');
    let mut items = Items {
        source: Rc::clone(text),
        at: head.len() + ITEMS.len(),
        line: u32::try_from(start).ok()? + 2,
        dash: spaces.count(),
        style,
        read: Vec::new(),
        texts: 0,
        odd: None,
    };
    items.read_all()?;
    if items.read.is_empty() {
        return None;
    }
    let tail = &text[items.at..];
    let mut fields = fields(head, 1)?;
    fields.push((
        Node::text(ITEMS.trim_end_matches(":\n")),
        Node::sequence(items.read),
    ));
    if !tail.is_empty() {
        // A second document is not part of the list, and one kind of list is cut there.
        let is_known = ["functionConfig:", "results:"];
        let is_known = is_known.iter().any(|key| tail.starts_with(key));
        if !is_known || tail.contains("\n---") {
            return None;
        }
        fields.extend(self::fields(tail, items.line)?);
    }
    let is_one = fields
        .iter()
        .filter(|(key, _)| key.value() == Some("items"))
        .count()
        == 1;
    is_one.then_some((Node::mapping(fields), items.texts))
}

/// Whether a line may end with anything but `\n`. A comment that does goes on where an object
/// seems to end.
fn has_rare_breaks(text: &str) -> bool {
    let is_in = |end: &&str| memmem::find(text.as_bytes(), end.as_bytes()).is_some();
    let beyond_ascii = ["\u{85}", "\u{2028}", "\u{2029}"];
    text.contains('\r') || !text.is_ascii() && beyond_ascii.iter().any(is_in)
}

/// What is left of a line behind dashes, tags and anchors. A comment there belongs to whatever is below.
fn behind_bare_dashes(line: &str) -> &str {
    let rest = line.trim_start_matches(['-', ' ']);
    match rest.find([' ', '\n']) {
        Some(end) if rest.starts_with(['!', '&']) => behind_bare_dashes(&rest[end..]),
        _ => rest,
    }
}

/// A field of words: nothing before `items` can change what its lines are.
fn is_simple_field(line: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().all(is_part)
    };
    line.split_once(": ")
        .is_some_and(|(key, value)| is_word(key) && is_word(value))
}

/// The fields of a text that begins in this line.
fn fields(text: &str, line: u32) -> Option<Vec<(Node, Node)>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut documents = parse_from(text, line).ok()?;
    let mut root = documents.pop()?.root;
    let fields = root.fields_mut().map(std::mem::take);
    fields.filter(|_| documents.is_empty())
}

/// The walk over the objects of a list.
struct Items {
    source: Rc<Source>,
    at: usize,
    line: u32,
    /// The column of the dashes.
    dash: usize,
    style: Style,
    read: Vec<Node>,
    texts: usize,
    /// Objects before `at` that the parser has to read.
    odd: Option<Odd>,
}

/// Objects in a row that are not as the emitter writes them.
struct Odd {
    start: usize,
    line: u32,
    objects: usize,
}

impl Items {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    /// Whether an object begins with this line.
    fn is_dash(&self, line: &str) -> bool {
        line.get(self.dash..)
            .is_some_and(|rest| rest.starts_with("- "))
            && line.bytes().take(self.dash).all(|byte| byte == b' ')
    }

    /// Reads objects until something else begins.
    fn read_all(&mut self) -> Option<()> {
        while self.is_dash(self.rest()) {
            match self.next_as_text() {
                Some(object) => {
                    self.parse_odd()?;
                    if !meter::charge(object.end - self.at) {
                        return None;
                    }
                    (self.at, self.line) = (object.end, object.line);
                    self.read.push(object.node);
                    self.texts += 1;
                }
                None => self.skip_odd()?,
            }
        }
        // Without any text the parser need not go object by object.
        (self.texts > 0).then(|| self.parse_odd()).flatten()
    }

    fn next_as_text(&self) -> Option<Object> {
        let column = Column {
            read: self.dash + 2,
            written: match self.style.indent {
                SequenceIndent::Compact => 2,
                SequenceIndent::Wide => 4,
            },
        };
        let start = self.at + column.read;
        let object = object(&self.source, start, self.line, column, self.style)?;
        let rest = &self.source[object.end..];
        // A comment below could belong to the object.
        let is_alone = self.is_dash(rest) || !rest.starts_with([' ', '#', '\n']);
        is_alone.then_some(object)
    }

    /// Moves over the next object, and over those that a comment between them may
    /// belong to.
    fn skip_odd(&mut self) -> Option<()> {
        let (mut length, mut lines, mut objects) = (0, 0, 0);
        let mut last = "";
        for line in self.rest().split_inclusive('\n') {
            let content = line.trim_start_matches(' ');
            let is_inside = line.len() - content.len() > self.dash;
            if self.is_dash(line) {
                if objects > 0 && !last.starts_with(['#', '\n']) {
                    break;
                }
                objects += 1;
            } else if !(is_inside || content.starts_with(['#', '\n'])) {
                break;
            }
            length += line.len();
            lines += 1;
            last = behind_bare_dashes(content);
            if !meter::charge(line.len()) {
                return None;
            }
        }
        if last.starts_with(['#', '\n']) || !last.ends_with('\n') {
            return None;
        }
        let (start, line) = (self.at, self.line);
        let odd = self.odd.get_or_insert(Odd {
            start,
            line,
            objects: 0,
        });
        odd.objects += objects;
        self.at += length;
        self.line += lines;
        Some(())
    }

    /// Parses the objects that were moved over.
    fn parse_odd(&mut self) -> Option<()> {
        let Some(odd) = self.odd.take() else {
            return Some(());
        };
        // What follows decides where a block ends.
        let is_next_an_object = self.is_dash(self.rest());
        let next = if is_next_an_object {
            format!("{:1$}- next\n", "", self.dash)
        } else {
            "next: next\n".to_owned()
        };
        let text = format!("{ITEMS}{}{next}", &self.source[odd.start..self.at]);
        let (_, mut items) = fields(&text, odd.line - 1)?.into_iter().next()?;
        let items = items.items_mut()?;
        // Text between quotes may look like an object.
        if items.len() != odd.objects + usize::from(is_next_an_object) {
            return None;
        }
        items.truncate(odd.objects);
        self.read.append(items);
        Some(())
    }
}

#[cfg(test)]
mod tests;
