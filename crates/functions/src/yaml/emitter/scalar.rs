//! Writing scalars.

use super::super::node::{Node, ScalarStyle};
use super::style::{is_break, is_plain_word, is_printable, presentation};
use super::{Emitter, INDENT, Parent, Role};

impl Emitter {
    pub(super) fn scalar(
        &mut self,
        node: &Node,
        value: &str,
        style: ScalarStyle,
        parent: Parent,
        role: Role,
    ) {
        if style == ScalarStyle::Plain && is_plain_word(node, value) {
            return self.plain(value);
        }
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
        // Up to the first quote or break there is nothing to think about.
        let as_it_is = value.find(|c| c == '\'' || is_break(c));
        let (start, rest) = value.split_at(as_it_is.unwrap_or(value.len()));
        self.write(start);
        self.indention &= start.bytes().all(|byte| byte == b' ');
        for c in rest.chars() {
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
        let as_it_is = |c: char| is_printable(c) && !is_break(c) && c != '"' && c != '\\';
        let mut rest = value;
        while let Some(c) = rest.chars().next() {
            let length = rest.find(|c| !as_it_is(c)).unwrap_or(rest.len());
            if length > 0 {
                self.write(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            rest = &rest[c.len_utf8()..];
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
