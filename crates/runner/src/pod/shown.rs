//! The pods as the status page shows them.

use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;

use crate::{
    pod::{
        owning::{Entry, Roster, Stage},
        watching::Watch,
    },
    status::PodView,
};

/// Every pod of this runner, as far as roster and watch know it.
pub(super) fn shown(roster: &Roster, watch: &Watch<Pod>) -> Vec<PodView> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let show = |(name, entry): (String, Entry)| {
        let seen = watch.get(&name);
        let (phase, waits_for) = match entry.stage {
            Stage::Starting(what) => ("starting", Some(what)),
            Stage::Ready => ("ready", None),
            Stage::Leaving | Stage::Remains => ("leaving", None),
        };
        let created = seen.as_ref().map(|seen| seen.identity.created);
        PodView {
            function: entry.function,
            phase: phase.to_owned(),
            waits_for,
            age_seconds: created.map(|created| now.saturating_sub(created)),
            idle_seconds: entry.usage.idle().as_secs(),
            load: entry.usage.load(),
            node: seen.and_then(|seen| seen.node.as_deref().map(str::to_owned)),
            name,
        }
    };
    roster.all().into_iter().map(show).collect()
}
