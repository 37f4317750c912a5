//! A pipeline as Porch calls it: each function gets what the one before it gave.

pub(crate) const IN_A_ROW: [&str; 5] = [
    "apply-setters",
    "set-namespace",
    "search-replace",
    "upsert-resource",
    "ensure-name-substring",
];

/// The size of its package.
pub(crate) const ROW: usize = 200_000;
