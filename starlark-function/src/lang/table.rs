//! Tables of keys and values in the order of insertion: what dictionaries and
//! sets are made of.

use std::{
    cell::{Cell, RefCell},
    hash::{Hash, Hasher},
};

use indexmap::IndexMap;

use super::{Fallible, Value, compare, memory};

/// Bytes of an entry, with its share of the index.
const ENTRY: usize = 96;

/// A key: a value that can be hashed.
#[derive(Debug, Clone)]
struct Key(Value);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        compare::hash(&self.0, state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        compare::equal(&self.0, &other.0).unwrap_or(false)
    }
}

impl Eq for Key {}

#[derive(Debug)]
pub(crate) struct Table {
    entries: RefCell<IndexMap<Key, Value>>,
    iterations: Cell<usize>,
    /// Whether there ever was an entry.
    was_used: Cell<bool>,
    charge: memory::Charge,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: RefCell::default(),
            iterations: Cell::new(0),
            was_used: Cell::new(false),
            charge: memory::Charge::new(ENTRY),
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let entries = std::mem::take(self.entries.get_mut());
        memory::drop_all(entries.into_iter().flat_map(|(key, value)| [key.0, value]));
    }
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    fn charge(&self) {
        self.charge.set(ENTRY * (self.len() + 1));
    }

    pub(crate) fn check_mutable(&self, verb: &str) -> Fallible<()> {
        match self.iterations.get() {
            0 => Ok(()),
            _ => Err(format!("cannot {verb} hash table during iteration")),
        }
    }

    pub(crate) fn get(&self, key: &Value) -> Fallible<Option<Value>> {
        compare::check_hashable(key)?;
        Ok(self.entries.borrow().get(&Key(key.clone())).cloned())
    }

    pub(crate) fn get_text(&self, key: &str) -> Option<Value> {
        self.get(&Value::text(key)).ok().flatten()
    }

    pub(crate) fn has(&self, key: &Value) -> Fallible<bool> {
        compare::check_hashable(key)?;
        Ok(self.entries.borrow().contains_key(&Key(key.clone())))
    }

    /// Sets the value of a key; whether the key is new.
    pub(crate) fn insert(&self, key: Value, value: Value) -> Fallible<bool> {
        self.check_mutable("insert into")?;
        compare::check_hashable(&key)?;
        let before = self.entries.borrow_mut().insert(Key(key), value);
        self.was_used.set(true);
        self.charge();
        Ok(before.is_none())
    }

    pub(crate) fn remove(&self, key: &Value) -> Fallible<Option<Value>> {
        self.check_mutable("delete from")?;
        if !self.was_used.get() {
            // Go does not look at the key then, not even whether it can be hashed.
            return Ok(None);
        }
        compare::check_hashable(key)?;
        let removed = self.entries.borrow_mut().shift_remove(&Key(key.clone()));
        self.charge();
        Ok(removed)
    }

    pub(crate) fn clear(&self) -> Fallible<()> {
        self.check_mutable("clear")?;
        let entries = std::mem::take(&mut *self.entries.borrow_mut());
        drop(entries);
        self.charge();
        Ok(())
    }

    pub(crate) fn first(&self) -> Option<Value> {
        let entries = self.entries.borrow();
        entries.first().map(|(key, _)| key.0.clone())
    }

    /// The entry at a position.
    pub(crate) fn at(&self, position: usize) -> Option<(Value, Value)> {
        let entries = self.entries.borrow();
        let entry = entries.get_index(position);
        entry.map(|(key, value)| (key.0.clone(), value.clone()))
    }

    pub(crate) fn items(&self) -> Vec<(Value, Value)> {
        let entries = self.entries.borrow();
        let item = |(key, value): (&Key, &Value)| (key.0.clone(), value.clone());
        entries.iter().map(item).collect()
    }

    pub(crate) fn keys(&self) -> Vec<Value> {
        let entries = self.entries.borrow();
        entries.keys().map(|key| key.0.clone()).collect()
    }

    pub(crate) fn begin_iteration(&self) {
        self.iterations.set(self.iterations.get() + 1);
    }

    pub(crate) fn end_iteration(&self) {
        self.iterations.set(self.iterations.get() - 1);
    }

    /// A copy of its own.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::default();
        copy.entries.borrow_mut().clone_from(&self.entries.borrow());
        copy.charge();
        copy
    }
}
