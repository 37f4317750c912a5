//! Texts of objects that are kept. Most of what pods carry, other pods carry as well: their runner, the
//! template's version, their image. Such a text is kept once, however many objects have it. A text
//! that no object has any more goes with the next clearing.

use std::{borrow::Borrow, collections::HashSet, fmt, ops::Deref, sync::Arc};

use parking_lot::Mutex;
use serde::{Serialize, Serializer};

/// Cheap to clone; never changed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Text(Arc<str>);

/// All shared texts. Those that nobody has any more are cleared away when there are twice as many as after
/// the last time.
static SHARED: Mutex<Option<Table>> = Mutex::new(None);

#[derive(Debug, Default)]
struct Table {
    texts: HashSet<Text>,
    cleared: usize,
}

/// Fewer are not worth the look.
const FEW: usize = 64;

impl Text {
    /// The same text as others have it.
    pub(super) fn shared(text: &str) -> Self {
        let mut table = SHARED.lock();
        table.get_or_insert_default().share(text)
    }
}

impl Table {
    fn share(&mut self, text: &str) -> Text {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        if self.texts.len() > FEW.max(2 * self.cleared) {
            self.texts.retain(|text| Arc::strong_count(&text.0) > 1);
            self.texts.shrink_to_fit();
            self.cleared = self.texts.len();
        }
        let new = Text::from(text);
        self.texts.insert(new.clone());
        new
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Hashes and compares as its letters do.
impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_not_longer_than_somebody_has_it() {
        let mut table = Table::default();
        let kept = table.share("runner-1");
        assert!(Arc::ptr_eq(&kept.0, &table.share("runner-1").0));
        for number in 0..100_000 {
            table.share(&format!("image-{number}"));
        }
        assert!(table.texts.len() <= FEW + 2, "{}", table.texts.len());
        assert!(Arc::ptr_eq(&kept.0, &table.share("runner-1").0));
    }

    #[test]
    fn texts_that_are_in_use_are_looked_through_seldom() {
        let mut table = Table::default();
        let kept: Vec<Text> = (0..10_000).map(|n| table.share(&n.to_string())).collect();
        assert_eq!(table.texts.len(), kept.len());
        assert!(table.cleared > kept.len() / 4, "{}", table.cleared);
    }
}
