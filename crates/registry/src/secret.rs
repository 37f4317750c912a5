//! Text that must not be seen. There is no `Display`, and `Debug` shows nothing of the
//! text; code that needs the text has to call a method for it.

use std::fmt;

use serde::Deserialize;

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one request that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Shorter secrets than this cannot be distinguished from ordinary text.
    const RECOGNISABLE: usize = 4;

    /// `text` without this secret: a registry may repeat what it was sent.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.len() < Self::RECOGNISABLE {
            return text.to_owned();
        }
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
