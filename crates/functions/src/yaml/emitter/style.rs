//! Which style a scalar can be written in.

use super::super::node::{Node, ScalarStyle, Tag};
use super::super::resolve::resolve;
use super::{Emitter, Role};

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn has_breaks(value: &str) -> bool {
    // All breaks but two begin with bytes that are rare in text.
    let may_break = |byte: u8| matches!(byte, b'\r' | b'\n' | 0xC2 | 0xE2);
    value.bytes().any(may_break) && value.chars().any(is_break)
}

/// What may be written as it is. Characters beyond the basic plane are not
/// among them: yaml.v3 escapes those.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

/// The bytes that mean nothing to YAML inside of a word.
const IN_WORDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-');
        byte += 1;
    }
    table
};

/// The styles that can carry a value.
struct Allowed {
    breaks: bool,
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
    block: bool,
}

/// Whether the value has nothing in it that means something to YAML.
pub(in super::super) fn is_word(value: &str) -> bool {
    !value.is_empty()
        && !value.starts_with(['.', '-'])
        && value.bytes().all(|byte| IN_WORDS[usize::from(byte)])
}

/// Whether a plain scalar can be written as it is in whichever place, and is then
/// read as what it is. Nearly all can: they take this short way.
pub(super) fn is_plain_word(node: &Node, value: &str) -> bool {
    let is_bare = !node.tagged && node.anchor().is_none();
    is_bare && is_word(value) && (node.tag == Tag::None || resolve(value) == node.tag)
}

fn allowed(value: &str) -> Allowed {
    if value.is_empty() {
        return Allowed {
            breaks: false,
            flow_plain: false,
            block_plain: true,
            single_quoted: true,
            block: false,
        };
    }
    // Most values are words without anything special.
    if is_word(value) {
        return Allowed {
            breaks: false,
            flow_plain: true,
            block_plain: true,
            single_quoted: true,
            block: true,
        };
    }
    let document = value.starts_with("---") || value.starts_with("...");
    let (mut in_block, mut in_flow) = (document, document);
    let (mut breaks, mut special, mut tabs) = (false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let mut before = None::<char>;
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        let blank_follows = chars.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        match (before, c) {
            (
                None,
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`',
            ) => (in_flow, in_block) = (true, true),
            (None, '?') | (_, ':') => {
                in_flow = true;
                in_block |= blank_follows;
            }
            (None, '-') if blank_follows => (in_flow, in_block) = (true, true),
            (Some(_), ',' | '?' | '[' | ']' | '{' | '}') => in_flow = true,
            (Some(before), '#') if matches!(before, ' ' | '\t') || is_break(before) => {
                (in_flow, in_block) = (true, true);
            }
            _ => {}
        }
        tabs |= c == '\t';
        special |= c != '\t' && !is_printable(c);
        breaks |= is_break(c);
        break_space |= c == ' ' && before.is_some_and(is_break);
        space_break |= is_break(c) && before == Some(' ');
        before = Some(c);
    }
    let edge = |c: char| c == ' ' || is_break(c);
    let edges = value.starts_with(edge) || value.ends_with(edge);
    let odd = space_break || tabs || special;
    let plain = !(edges || break_space || odd || breaks);
    Allowed {
        breaks,
        flow_plain: plain && !in_flow,
        block_plain: plain && !in_block,
        single_quoted: !(break_space || odd),
        block: !(value.ends_with(' ') || space_break || special),
    }
}

impl Emitter {
    /// The style nearest to the wanted one that can carry the value here.
    pub(super) fn possible(&self, value: &str, mut style: ScalarStyle, role: Role) -> ScalarStyle {
        let allowed = allowed(value);
        let in_flow = self.flow_level > 0;
        let simple_key = role == Role::SimpleKey;
        if simple_key && allowed.breaks {
            style = ScalarStyle::DoubleQuoted;
        }
        if style == ScalarStyle::Plain {
            let can = if in_flow {
                allowed.flow_plain
            } else {
                allowed.block_plain
            };
            let empty = value.is_empty() && (in_flow || simple_key);
            if !can || empty {
                style = ScalarStyle::SingleQuoted;
            }
        }
        if style == ScalarStyle::SingleQuoted && !allowed.single_quoted {
            style = ScalarStyle::DoubleQuoted;
        }
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if is_block && (!allowed.block || in_flow || simple_key) {
            style = ScalarStyle::DoubleQuoted;
        }
        style
    }
}

/// The tag that has to be written, and the style that the value needs to keep
/// its meaning.
pub(super) fn presentation<'a>(
    node: &'a Node,
    value: &str,
    style: ScalarStyle,
) -> (Option<&'a str>, ScalarStyle) {
    let plain = style == ScalarStyle::Plain;
    let mut tag = (node.tag != Tag::None).then(|| node.tag_name());
    let mut quote = false;
    if !node.tagged && tag.is_some() {
        let is_text = node.tag == Tag::Str;
        if is_text && !plain {
            tag = None;
        } else {
            // yaml.v3 forgets about merges when it writes: theirs get their tag.
            let looks = match resolve(value) {
                Tag::Merge => Tag::Str,
                looks => looks,
            };
            if looks == node.tag {
                tag = None;
            } else if is_text {
                tag = None;
                quote = true;
            }
        }
    }
    let style = match style {
        ScalarStyle::Plain if value.as_bytes().contains(&b'\n') => ScalarStyle::Literal,
        ScalarStyle::Plain if quote => ScalarStyle::DoubleQuoted,
        style => style,
    };
    (tag, style)
}
