//! The last few of something, as a static.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Keeps the last `N`.
#[derive(Debug)]
pub(super) struct Recent<T, const N: usize>(Mutex<VecDeque<T>>);

impl<T: Clone, const N: usize> Recent<T, N> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    pub(super) fn keep(&self, item: T) {
        let mut items = self.0.lock();
        if items.len() == N {
            items.pop_back();
        }
        items.push_front(item);
    }

    /// The newest first.
    pub(super) fn all(&self) -> Vec<T> {
        let items = self.0.lock();
        items.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_the_newest_first() {
        let recent: Recent<u32, 3> = Recent::new();
        (0..10).for_each(|number| recent.keep(number));
        assert_eq!(recent.all(), [9, 8, 7]);
    }
}
