//! Anchors, aliases and tags.

use super::super::token::Kind;
use super::{Result, Scanner};

/// What a tag is made of.
fn is_tag_character(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"-_;/?:@&=+$.!~*'()%,[]".contains(&c)
}

/// The text that `%41` and its like stand for; `None` if one of them does not.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

impl Scanner<'_> {
    pub(super) fn fetch_anchor(&mut self, alias: bool) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        self.skip();
        let length = (0..)
            .take_while(|ahead| {
                let c = self.byte(*ahead);
                c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-')
            })
            .count();
        let ends = self.is_blank_or_end(length)
            || matches!(
                self.byte(length),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if length == 0 || !ends {
            let problem = "did not find expected alphabetic or numeric character";
            return Err(self.error(start.line, problem));
        }
        let name = self.advance(length).to_owned();
        let kind = if alias {
            Kind::Alias(name)
        } else {
            Kind::Anchor(name)
        };
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        let is_verbatim = self.byte(1) == b'<';
        let length = (0..)
            .take_while(|ahead| {
                if is_verbatim {
                    !self.is_blank_or_end(*ahead)
                } else {
                    is_tag_character(self.byte(*ahead))
                }
            })
            .count();
        // Commas and brackets belong to the tag, in flow style too.
        if !self.is_blank_or_end(length) {
            let problem = "did not find expected whitespace or line break";
            return Err(self.error(start.line, problem));
        }
        let Some(written) = unescaped(self.advance(length)) else {
            let problem = "did not find URI escaped octet";
            return Err(self.error(start.line, problem));
        };
        let tag = if let Some(uri) = written.strip_prefix("!<") {
            uri.strip_suffix('>').map(str::to_owned)
        } else if let Some(suffix) = written.strip_prefix("!!") {
            (!suffix.is_empty()).then(|| format!("tag:yaml.org,2002:{suffix}"))
        } else {
            // Other handles need directives, which are not followed.
            (!written[1..].contains('!')).then(|| written.clone())
        };
        let Some(tag) = tag else {
            return Err(self.error(start.line, "found undefined tag handle"));
        };
        self.push(Kind::Tag(tag), start);
        Ok(())
    }
}
