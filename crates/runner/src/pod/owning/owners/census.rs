//! What this runner knows of others by their leases: pure, so that tests can show without
//! a cluster which runners count as dead, and when.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// Regular looks without a renewal after which a runner counts as dead. Looks are
/// counted instead of time: clocks need not agree, and a runner that was itself
/// stopped for a while takes nobody for dead.
pub(super) const MISSED_LOOKS: u32 = 6;

/// What is known of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Me,
    Alive,
    /// It does not renew its lease any more.
    Dead,
    /// It has no lease.
    Gone,
    Unknown,
}

/// A runner's lease as it is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) owner: String,
    pub(super) renewed: Option<MicroTime>,
    pub(super) uid: Option<String>,
    /// Another one with each renewal.
    pub(super) version: Option<String>,
}

#[derive(Debug, Clone)]
struct Sighting {
    lease: Found,
    missed_looks: u32,
}

/// All runners that have a lease, except ourselves.
#[derive(Debug, Clone)]
pub(crate) struct Census {
    me: String,
    sightings: HashMap<String, Sighting>,
    /// What runners without a lease count as. Gone only if that has just been looked
    /// up: a runner makes its lease before its first pod.
    without_lease: Life,
}

impl Census {
    pub(super) fn new(me: &str) -> Self {
        Self {
            me: me.to_owned(),
            sightings: HashMap::new(),
            without_lease: Life::Unknown,
        }
    }

    pub(crate) fn life(&self, owner: &str) -> Life {
        if owner == self.me {
            return Life::Me;
        }
        match self.sightings.get(owner) {
            Some(sighting) if sighting.missed_looks >= MISSED_LOOKS => Life::Dead,
            Some(_) => Life::Alive,
            None => self.without_lease,
        }
    }

    /// Whether there is no need to look who that is. A runner that seems to be dead
    /// may have renewed since, and that is looked up before its pods are touched.
    pub(super) fn knows(&self, owner: &str) -> bool {
        matches!(self.life(owner), Life::Me | Life::Alive)
    }

    /// How many of all live runners are to adopt an orphan before this one. All runners
    /// compute the same order, and each is the first for about the same share.
    pub(crate) fn rank_for(&self, orphan: &str) -> usize {
        let rank = |runner: &str| {
            // The same in every process of a version, which is enough: the second runner
            // comes a little later.
            let mut hasher = DefaultHasher::new();
            (runner, orphan).hash(&mut hasher);
            hasher.finish()
        };
        let mine = rank(&self.me);
        let others = self.sightings.keys().map(String::as_str);
        let living = others.filter(|owner| self.life(owner) == Life::Alive);
        living.filter(|owner| rank(owner) > mine).count()
    }

    /// Takes in what a look has found. Only the regular ones count as missed.
    pub(super) fn observe(&mut self, found: Vec<Found>, is_regular: bool) {
        let mut before = std::mem::take(&mut self.sightings);
        for lease in found {
            if lease.owner == self.me {
                continue;
            }
            let missed_looks = match before.remove(&lease.owner) {
                Some(old) if old.lease.renewed == lease.renewed => {
                    old.missed_looks + u32::from(is_regular)
                }
                _ => 0,
            };
            let owner = lease.owner.clone();
            let sighting = Sighting {
                lease,
                missed_looks,
            };
            self.sightings.insert(owner, sighting);
        }
    }

    /// The same right after all leases were read: a runner without a lease is gone.
    pub(super) fn complete(&self) -> Self {
        Self {
            without_lease: Life::Gone,
            ..self.clone()
        }
    }

    /// No renewal can be seen at the moment, so no runner counts as dead for that.
    pub(super) fn excuse(&mut self) {
        for sighting in self.sightings.values_mut() {
            sighting.missed_looks = 0;
        }
    }

    /// Whether a runner that was alive is not any more.
    pub(super) fn misses_someone_of(&self, before: &Self) -> bool {
        let mut living = before
            .sightings
            .keys()
            .filter(|owner| before.life(owner) == Life::Alive);
        living.any(|owner| self.life(owner) != Life::Alive)
    }

    /// How many runners live, this one included.
    pub(crate) fn living(&self) -> usize {
        let others = self.sightings.keys().filter(|owner| **owner != self.me);
        1 + others
            .filter(|owner| self.life(owner) == Life::Alive)
            .count()
    }

    /// Runners that are dead by their lease, which is still there.
    pub(crate) fn dead(&self) -> impl Iterator<Item = &str> {
        let owners = self.sightings.keys().map(String::as_str);
        owners.filter(|owner| self.life(owner) == Life::Dead)
    }

    /// A runner's lease as it was seen last.
    pub(super) fn lease(&self, owner: &str) -> Option<&Found> {
        self.sightings.get(owner).map(|sighting| &sighting.lease)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn found(owner: &str, second: i64) -> Vec<Found> {
        vec![Found {
            owner: owner.to_owned(),
            renewed: Some(MicroTime(Timestamp::from_second(second).unwrap())),
            ..Found::default()
        }]
    }

    #[test]
    fn a_runner_lives_as_long_as_it_is_seen_to_renew() {
        let mut census = Census::new("me");
        for second in 0..20 {
            census.observe(found("other", second), true);
            assert_eq!(census.life("other"), Life::Alive);
        }
        assert_eq!(census.life("me"), Life::Me);
    }

    #[test]
    fn a_runner_is_dead_after_several_regular_looks_without_renewal() {
        let mut census = Census::new("me");
        census.observe(found("other", 1), true);
        for _ in 1..MISSED_LOOKS {
            census.observe(found("other", 1), true);
            // Looks beside the regular ones say nothing: they may come in any number.
            census.observe(found("other", 1), false);
            assert_eq!(census.life("other"), Life::Alive);
        }
        let before = census.clone();
        census.observe(found("other", 1), true);
        assert_eq!(census.life("other"), Life::Dead);
        assert!(!census.knows("other"), "it may have renewed since");
        assert_eq!(census.dead().collect::<Vec<_>>(), ["other"]);
        assert!(census.misses_someone_of(&before) && !census.misses_someone_of(&census));

        census.observe(found("other", 2), false);
        assert_eq!(census.life("other"), Life::Alive, "it was only slow");
    }

    #[test]
    fn while_nobody_can_be_seen_nobody_dies() {
        let mut census = Census::new("me");
        for _ in 0..3 * MISSED_LOOKS {
            census.observe(found("other", 1), true);
            census.excuse();
            assert_eq!(census.life("other"), Life::Alive);
        }
    }

    #[test]
    fn who_has_no_lease_is_gone_only_if_that_was_just_looked_up() {
        let mut census = Census::new("me");
        census.observe(found("other", 1), true);
        assert_eq!(census.life("new"), Life::Unknown);
        assert!(!census.knows("new") && census.knows("other") && census.knows("me"));
        assert_eq!(census.complete().life("new"), Life::Gone);
        let before = census.clone();
        census.observe(Vec::new(), false);
        assert!(census.misses_someone_of(&before), "it has said goodbye");
    }

    #[test]
    fn orphans_are_shared_out_and_all_runners_agree_how() {
        let names = ["a", "b", "c"];
        let census = |me: &str| {
            let mut census = Census::new(me);
            let found = |owner: &&str| found(owner, 1);
            census.observe(names.iter().flat_map(found).collect(), true);
            census
        };
        let everybody = names.map(census);
        let mut shares = HashMap::new();
        for number in 0..300 {
            let orphan = format!("fn-v1-01234567-{number}");
            let mut ranks = everybody.each_ref().map(|census| census.rank_for(&orphan));
            let first = ranks.iter().position(|rank| *rank == 0).unwrap();
            *shares.entry(names[first]).or_insert(0) += 1;
            ranks.sort_unstable();
            assert_eq!(ranks, [0, 1, 2], "one after the other");
        }
        assert!(names.iter().all(|name| shares[*name] > 50), "{shares:?}");
        assert_eq!(Census::new("alone").rank_for("x"), 0);
    }
}
