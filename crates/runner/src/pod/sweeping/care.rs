//! Decides what a sweep does with a pod of our own: pure, as the judge of pods of
//! other runners.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use crate::{
    pod::{
        owning::{Entry, Stage},
        watching::{SeenPod, Watched as _},
    },
    pool::PodId,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Care {
    /// Others look after it for now.
    Wait,
    /// It has left, or is another runner's: there is nothing to do for it.
    Forget,
    /// It was given up and is still there.
    Remove,
    /// Another runner has it, because it took us for dead.
    HandOver(PodId),
    /// It cannot be used any more, for this reason.
    GiveUp(PodId, String),
    /// It comes up, or can be used: if it is still what is wanted.
    Review(PodId),
}

/// Looks at what the roster and the watch know of a pod.
pub(crate) fn care(entry: &Entry, pod: Option<&SeenPod>, me: &str) -> Care {
    let is_ours = |pod: &SeenPod| pod.identity.belongs_to(me);
    match (&entry.stage, pod, entry.id) {
        (Stage::Remains, None, _) => Care::Forget,
        (Stage::Remains, Some(pod), _) if !is_ours(pod) => Care::Forget,
        (Stage::Remains, Some(pod), _) if !pod.identity.is_leaving => Care::Remove,
        (Stage::Starting(_), Some(_), Some(id)) => Care::Review(id),
        (Stage::Ready, None, Some(id)) => Care::GiveUp(id, Pod::GONE.into()),
        (Stage::Ready, Some(pod), Some(id)) if !is_ours(pod) => Care::HandOver(id),
        (Stage::Ready, Some(pod), Some(id)) => match Pod::loss(pod) {
            Some(reason) => Care::GiveUp(id, reason),
            None => Care::Review(id),
        },
        _ => Care::Wait,
    }
}

/// Until when others have to leave the pod alone, in Unix seconds, if that is to be
/// written anew: because it is missing, or use has extended it and less than half of
/// the TTL is left. So a busy pod is patched once in half a TTL, not at every sweep.
pub(crate) fn extension(pod: &SeenPod, now: u64, idle: Duration, ttl: Duration) -> Option<u64> {
    let ttl = ttl.as_secs();
    let wanted = (now + ttl).saturating_sub(idle.as_secs());
    let is_enough = |told: u64| told >= wanted || told >= now + ttl / 2;
    (!pod.reclaim_after.is_some_and(is_enough)).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::marks::OWNER;
    use crate::pod::owning::Usage;

    const ID: PodId = PodId(1);

    fn entry(stage: Stage) -> Entry {
        Entry {
            id: Some(ID),
            function: "fn".into(),
            stage,
            usage: Usage::new(),
        }
    }

    fn pod(owner: &str, phase: &str, is_leaving: bool) -> SeenPod {
        let mut pod = json!({ "metadata": { "annotations": { OWNER: owner } },
                              "status": { "phase": phase, "podIP": "10.0.0.1" } });
        if is_leaving {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        let pod: Pod = serde_json::from_value(pod).unwrap();
        pod.seen()
    }

    #[test]
    fn every_stage_of_our_own_pods_is_looked_after() {
        let fine = || Some(pod("me", "Running", false));
        let leaves = || Some(pod("me", "Running", true));
        let foreign = || Some(pod("other", "Running", false));
        let failed = || Some(pod("me", "Failed", false));
        let gone = || Care::GiveUp(ID, "the pod is gone".into());
        let starting = || Stage::Starting("a node".into());
        for (stage, pod, expected, why) in [
            (starting(), None, Care::Wait, "not created yet"),
            (
                starting(),
                fine(),
                Care::Review(ID),
                "may be outdated already",
            ),
            (Stage::Ready, fine(), Care::Review(ID), "in use"),
            (Stage::Ready, None, gone(), "somebody has deleted it"),
            (
                Stage::Ready,
                foreign(),
                Care::HandOver(ID),
                "we were cut off",
            ),
            (
                Stage::Ready,
                failed(),
                Care::GiveUp(ID, "the pod has ended".into()),
                "no longer any good",
            ),
            (Stage::Leaving, fine(), Care::Wait, "it is being deleted"),
            (Stage::Leaving, None, Care::Wait, "its service is"),
            (Stage::Remains, fine(), Care::Remove, "its deletion failed"),
            (Stage::Remains, leaves(), Care::Wait, "on its way out"),
            (Stage::Remains, foreign(), Care::Forget, "never another's"),
            (Stage::Remains, None, Care::Forget, "it has left"),
        ] {
            assert_eq!(care(&entry(stage), pod.as_ref(), "me"), expected, "{why}");
        }
        let unadopted = Entry {
            id: None,
            ..entry(Stage::Ready)
        };
        assert_eq!(care(&unadopted, fine().as_ref(), "me"), Care::Wait);
    }

    #[test]
    fn use_extends_a_pods_time_once_half_of_it_is_over_and_a_missing_time_is_repaired() {
        let ttl = Duration::from_secs(100);
        let told = |reclaim_after: Option<u64>| SeenPod {
            reclaim_after,
            ..pod("me", "Running", false)
        };
        let extension = |told_until, idle| {
            let idle = Duration::from_secs(idle);
            extension(&told(told_until), 1000, idle, ttl)
        };
        assert_eq!(extension(Some(1100), 0), None);
        assert_eq!(extension(Some(1050), 0), None, "half is left");
        assert_eq!(extension(Some(1049), 0), Some(1100));
        assert_eq!(extension(Some(1010), 70), Some(1030), "by its last use");
        assert_eq!(extension(Some(1010), 90), None, "it idles");
        assert_eq!(extension(None, 90), Some(1010), "missing or broken");
    }
}
