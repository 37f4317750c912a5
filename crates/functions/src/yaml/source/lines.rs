//! Finding one's way in a text: lines, columns, and what is between tokens.

/// The text that is edited.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) text: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn is_start(self, at: usize) -> bool {
        self.text[..at].ends_with('\n') || at == 0
    }

    pub(super) fn start(self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |found| found + 1)
    }

    /// The end of the line, before its line break.
    pub(super) fn end(self, at: usize) -> usize {
        let rest = &self.text[at..];
        let line = rest.split('\n').next().unwrap_or("");
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Where the line after this one starts; the end of the text behind the last.
    pub(super) fn next(self, at: usize) -> usize {
        match self.text[at..].find('\n') {
            Some(found) => at + found + 1,
            None => self.text.len(),
        }
    }

    /// Whether nothing is in the line, up to its line break.
    pub(super) fn is_empty_line(self, at: usize) -> bool {
        self.end(at) < self.text.len() && self.text[at..self.end(at)].trim().is_empty()
    }

    pub(super) fn column(self, at: usize) -> usize {
        self.text[self.start(at)..at].chars().count()
    }

    /// The line break that the text uses.
    pub(super) fn line_break(self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// The first character that is not blank, a line break, or in a comment.
    pub(super) fn token(self, from: usize) -> usize {
        let mut at = from;
        loop {
            let rest = &self.text[at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            at += blanks;
            if !self.text[at..].starts_with('#') {
                return at;
            }
            at = self.next(at);
        }
    }

    /// Behind an anchor and a tag, if there are any, in whichever order.
    pub(super) fn behind_properties(self, from: usize) -> usize {
        let mut at = from;
        while self.text[at..].starts_with(['&', '!']) {
            let rest = &self.text[at..];
            at += rest.find(char::is_whitespace).unwrap_or(rest.len());
            at = self.token(at);
        }
        at
    }

    /// The comment in the first line of a block scalar.
    pub(super) fn header_comment(self, from: usize) -> &'a str {
        let header = &self.text[from..self.end(from)];
        header.find(" #").map_or("", |at| &header[at + 1..])
    }
}
