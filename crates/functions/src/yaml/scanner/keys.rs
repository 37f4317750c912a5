//! Keys without a question mark: a token turns out to be one only when a colon
//! follows.

use super::super::token::Mark;
use super::{Result, Scanner};

/// How far a simple key may reach, in bytes: YAML's own limit.
const LONGEST: usize = 1024;

/// A token that turns out to be a key if a colon follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimpleKey {
    pub(super) possible: bool,
    pub(super) required: bool,
    pub(super) token: usize,
    pub(super) mark: Mark,
}

impl Scanner<'_> {
    pub(super) fn front_may_be_a_key(&mut self) -> Result<bool> {
        let front = self.taken;
        match self
            .simple_keys
            .iter()
            .position(|key| key.possible && key.token == front)
        {
            Some(at) => self.is_still_possible(at),
            None => Ok(false),
        }
    }

    pub(super) fn is_still_possible(&mut self, at: usize) -> Result<bool> {
        let key = self.simple_keys[at];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.at.line || key.mark.index + LONGEST < self.at.index {
            if key.required {
                return Err(self.error(key.mark.line, "could not find expected ':'"));
            }
            self.simple_keys[at].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether a word of this length, with a colon behind, is a key.
    pub(super) fn may_be_plain_key(&self, length: usize) -> bool {
        self.flow_level == 0 && self.simple_key_allowed && (1..LONGEST).contains(&length)
    }

    pub(super) fn save_simple_key(&mut self) -> Result<()> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        self.remove_simple_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == self.at.column as isize,
            token: self.next_token(),
            mark: self.at,
        };
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Result<()> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible && key.required => {
                let line = key.mark.line;
                Err(self.error(line, "could not find expected ':'"))
            }
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }
}
