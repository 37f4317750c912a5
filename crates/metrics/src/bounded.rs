//! Names that callers choose, of which a bounded number get an entry of their own.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::RwLock;

/// What the entry is called that all others share.
pub const OTHER: &str = "other";

/// A bounded number of entries by name; once given, an entry stays.
#[derive(Debug)]
pub(crate) struct Bounded<K, T> {
    most: usize,
    entries: RwLock<HashMap<K, Arc<T>>>,
    other: Arc<T>,
}

impl<K: Hash + Eq, T: Default> Bounded<K, T> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            entries: RwLock::default(),
            other: Arc::default(),
        }
    }

    /// The name's entry, if it has one.
    pub(crate) fn get<Q>(&self, name: &Q) -> Option<Arc<T>>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let entries = self.entries.read();
        entries.get(name).cloned()
    }

    /// The name's entry, a new one if there is room, or the others'.
    pub(crate) fn admit(&self, name: K) -> Arc<T> {
        let mut entries = self.entries.write();
        if entries.len() >= self.most && !entries.contains_key(&name) {
            return Arc::clone(&self.other);
        }
        Arc::clone(entries.entry(name).or_default())
    }

    pub(crate) fn other(&self) -> &Arc<T> {
        &self.other
    }
}

impl<K: Ord + Clone + Hash + Eq, T: Default> Bounded<K, T> {
    /// All that have a name, in the order of their names.
    pub(crate) fn all(&self) -> Vec<(K, Arc<T>)> {
        let entries = self.entries.read();
        let pairs = entries.iter();
        let mut all: Vec<_> = pairs.map(|(k, v)| (k.clone(), Arc::clone(v))).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_first_names_have_entries_and_all_later_ones_share_one() {
        let bounded: Bounded<String, AtomicU64> = Bounded::new(2);
        for name in ["a", "b", "c", "d", "a"] {
            bounded
                .admit(name.to_owned())
                .fetch_add(1, Ordering::Relaxed);
        }
        let all = bounded.all();
        let shown = all
            .iter()
            .map(|(name, of)| (&**name, of.load(Ordering::Relaxed)));
        assert_eq!(shown.collect::<Vec<_>>(), [("a", 2), ("b", 1)]);
        assert_eq!(bounded.other().load(Ordering::Relaxed), 2);
        assert!(bounded.get("c").is_none());
    }
}
