//! Who was dialled how often, and how evenly a departed runner's pods were shared out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// How often each address was dialled.
pub(super) type Dials = HashMap<IpAddr, u64>;

/// How often each of these was dialled between two looks.
pub(super) fn between(before: &Dials, after: &Dials, addresses: &[IpAddr]) -> Vec<u64> {
    let count = |dials: &Dials, address| dials.get(address).copied().unwrap_or(0);
    let since = |address| count(after, address).saturating_sub(count(before, address));
    addresses.iter().map(since).collect()
}

/// Those that were not dialled exactly once.
pub(super) fn not_once(dials: &[u64]) -> usize {
    dials.iter().filter(|count| **count != 1).count()
}

/// The largest share beside an even one, and how many owners have a share at all.
pub(super) fn shares<'a>(owners: impl Iterator<Item = &'a str>, survivors: usize) -> (f64, usize) {
    let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
    for owner in owners {
        *shares.entry(owner).or_default() += 1;
    }
    let total: usize = shares.values().sum();
    let even = total as f64 / survivors.max(1) as f64;
    let largest = shares.values().copied().max().unwrap_or(0);
    (largest as f64 / even, shares.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dials_since_the_first_look_count() {
        let address = |last| IpAddr::from([198, 19, 128, last]);
        let dials = |counts: &[(u8, u64)]| -> Dials {
            counts
                .iter()
                .map(|(last, count)| (address(*last), *count))
                .collect()
        };
        let (before, after) = (dials(&[(1, 3)]), dials(&[(1, 4), (2, 2), (3, 1)]));
        let since = between(&before, &after, &[1, 2, 3, 4].map(address));
        assert_eq!(since, [1, 2, 1, 0]);
        assert_eq!(not_once(&since), 2);
    }

    #[test]
    fn a_share_is_compared_with_an_even_one() {
        let (largest, sharing) = shares(["a", "b", "a", "a"].into_iter(), 4);
        assert_eq!((largest, sharing), (3.0, 2));
        assert!(
            shares([].into_iter(), 4).0.is_nan(),
            "nothing was shared out"
        );
    }
}
