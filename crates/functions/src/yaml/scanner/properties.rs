//! Anchors, aliases and tags.

use super::super::token::Kind;
use super::{Result, Scanner};

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
        let kind = match alias {
            true => Kind::Alias(name),
            false => Kind::Anchor(name),
        };
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.at;
        let in_flow = self.flow_level > 0;
        let length = (0..)
            .take_while(|ahead| {
                let ends = in_flow && matches!(self.byte(*ahead), b',' | b'[' | b']' | b'{' | b'}');
                !self.is_blank_or_end(*ahead) && !ends
            })
            .count();
        let written = self.advance(length).to_owned();
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
