//! Warnings that are given once per start, however often their cause is met.

use std::collections::HashSet;

use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<HashSet<String>>);

impl Warnings {
    pub(crate) fn once(&self, message: String) {
        let mut given = self.0.lock();
        if !given.contains(&message) {
            tracing::warn!("{message}");
            given.insert(message);
        }
    }
}
