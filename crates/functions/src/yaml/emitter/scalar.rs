//! Which style a scalar can be written in, and writing it.

use super::super::node::{Node, ScalarStyle, Tag};
use super::super::resolve::resolve;
use super::{Emitter, INDENT, Parent, Role};

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn has_breaks(value: &str) -> bool {
    // All breaks but two begin with bytes that are rare in text.
    let may_break = |byte: u8| matches!(byte, b'\r' | b'\n' | 0xC2 | 0xE2);
    value.bytes().any(may_break) && value.chars().any(is_break)
}

/// What may be written as it is. Characters beyond the basic plane are not
/// among them: yaml.v3 escapes those.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

/// The styles that can carry a value.
struct Allowed {
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
    block: bool,
}

fn allowed(value: &str) -> Allowed {
    if value.is_empty() {
        return Allowed {
            flow_plain: false,
            block_plain: true,
            single_quoted: true,
            block: false,
        };
    }
    // Most values are words without anything special.
    let is_word =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-');
    if value.bytes().all(is_word) && !value.starts_with(['.', '-']) {
        return Allowed {
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
        flow_plain: plain && !in_flow,
        block_plain: plain && !in_block,
        single_quoted: !(break_space || odd),
        block: !(value.ends_with(' ') || space_break || special),
    }
}

impl Emitter {
    pub(super) fn scalar(
        &mut self,
        node: &Node,
        value: &str,
        style: ScalarStyle,
        parent: Parent,
        role: Role,
    ) {
        let (tag, style) = presentation(node, value, style);
        let style = self.possible(value, style, role);
        self.anchor(node);
        if let Some(tag) = tag {
            self.tag(tag);
        }
        let before = self.deeper(true, parent, false);
        match style {
            ScalarStyle::Plain => self.plain(value),
            ScalarStyle::SingleQuoted => self.single_quoted(value),
            ScalarStyle::DoubleQuoted => self.double_quoted(value),
            ScalarStyle::Literal => self.block(value, "|", false),
            ScalarStyle::Folded => self.block(value, ">", true),
        }
        self.indent = before;
    }

    /// The style nearest to the wanted one that can carry the value here.
    fn possible(&self, value: &str, mut style: ScalarStyle, role: Role) -> ScalarStyle {
        let allowed = allowed(value);
        let in_flow = self.flow_level > 0;
        let simple_key = role == Role::SimpleKey;
        if simple_key && has_breaks(value) {
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

    fn plain(&mut self, value: &str) {
        if value.is_empty() {
            self.indention = false;
            return;
        }
        if !self.whitespace {
            self.put(' ');
        }
        self.words(value);
    }

    fn single_quoted(&mut self, value: &str) {
        self.indicator("'", true, false, false);
        let mut breaks = false;
        for c in value.chars() {
            if is_break(c) {
                if !breaks && c == '\n' {
                    self.line_feed();
                }
                self.write_break(c);
                breaks = true;
                continue;
            }
            if breaks && c != ' ' {
                self.start_line();
            }
            if c == '\'' {
                self.put('\'');
            }
            self.put(c);
            if c != ' ' {
                self.indention = false;
                breaks = false;
            }
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn double_quoted(&mut self, value: &str) {
        self.indicator("\"", true, false, false);
        for c in value.chars() {
            if is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
                self.put(c);
                continue;
            }
            let name = match c {
                '\0' => '0',
                '\u{7}' => 'a',
                '\u{8}' => 'b',
                '\t' => 't',
                '\n' => 'n',
                '\u{b}' => 'v',
                '\u{c}' => 'f',
                '\r' => 'r',
                '\u{1b}' => 'e',
                '"' | '\\' => c,
                '\u{85}' => 'N',
                '\u{a0}' => '_',
                '\u{2028}' => 'L',
                '\u{2029}' => 'P',
                _ => {
                    let code = u32::from(c);
                    let escaped = match code {
                        0..=0xFF => format!("\\x{code:02X}"),
                        0x100..=0xFFFF => format!("\\u{code:04X}"),
                        _ => format!("\\U{code:08X}"),
                    };
                    self.write(&escaped);
                    continue;
                }
            };
            self.put('\\');
            self.put(name);
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_break(&mut self, c: char) {
        if c == '\n' {
            self.line_feed();
        } else {
            self.out.push(c);
            self.column = 0;
            self.indention = true;
        }
    }

    fn block(&mut self, value: &str, indicator: &str, folded: bool) {
        self.indicator(indicator, true, false, false);
        if value.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator(&INDENT.to_string(), false, false, false);
        }
        let mut from_the_end = value.chars().rev();
        let (last, before) = (from_the_end.next(), from_the_end.next());
        if !last.is_some_and(is_break) {
            self.indicator("-", false, false, false);
        } else if before.is_none_or(is_break) {
            self.indicator("+", false, false, false);
        }
        if self.line.is_empty() {
            self.line_feed();
        } else {
            self.line_comment();
        }
        self.whitespace = true;
        let mut breaks = true;
        let mut leading_spaces = true;
        for c in value.chars() {
            if is_break(c) {
                // yaml.v3 looks at the beginning of the value, not at what
                // follows the break, and so shall we.
                if folded && !breaks && !leading_spaces && c == '\n' {
                    let first = value.chars().find(|c| !is_break(*c));
                    if !matches!(first, None | Some(' ' | '\t')) {
                        self.line_feed();
                    }
                }
                self.write_break(c);
                breaks = true;
                continue;
            }
            if breaks {
                self.start_line();
                leading_spaces = matches!(c, ' ' | '\t');
            }
            self.put(c);
            self.indention = false;
            breaks = false;
        }
    }
}

/// The tag that has to be written, and the style that the value needs to keep
/// its meaning.
fn presentation<'a>(
    node: &'a Node,
    value: &str,
    style: ScalarStyle,
) -> (Option<&'a str>, ScalarStyle) {
    let plain = style == ScalarStyle::Plain;
    let mut tag = (node.tag != Tag::None).then(|| node.tag.short());
    let mut quote = false;
    if !node.tagged && tag.is_some() {
        let is_text = node.tag == Tag::Str;
        if is_text && !plain {
            tag = None;
        } else {
            let looks = resolve(value);
            if looks == node.tag {
                tag = None;
            } else if is_text {
                tag = None;
                quote = true;
            }
        }
    }
    let style = match style {
        ScalarStyle::Plain if value.contains('\n') => ScalarStyle::Literal,
        ScalarStyle::Plain if quote => ScalarStyle::DoubleQuoted,
        style => style,
    };
    (tag, style)
}
