//! What is to happen to a pod or service that the pool does not know: pure, so
//! that whose pod may be touched, and when, can be shown without a cluster.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt as _;

use super::{
    blueprint::{IMAGE_LABEL, IMAGE_REFERENCE, OWNER, RECLAIM_AFTER, TEMPLATE_VERSION},
    owners::Life,
    progress::{Progress, has_address, progress},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// It is as good as one of our own: a pod of this function.
    Adopt {
        function: String,
    },
    Delete(&'static str),
}

/// What the judge has to know.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Unix seconds.
    pub now: u64,
    /// When this runner has begun.
    pub began: u64,
    pub template_version: Option<&'a str>,
    pub ttl: Duration,
    pub start_timeout: Duration,
}

/// The owner that an object names.
pub fn owner(metadata: &ObjectMeta) -> Option<&str> {
    annotation(metadata, OWNER)
}

/// Whether an object is not another runner's.
pub fn belongs_to(metadata: &ObjectMeta, me: &str) -> bool {
    owner(metadata).is_none_or(|owner| owner == me)
}

pub fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Judges a pod that is not in the roster.
pub fn judge(pod: &Pod, life: impl Fn(&str) -> Life, around: &Circumstances<'_>) -> Verdict {
    let metadata = &pod.metadata;
    if metadata.deletion_timestamp.is_some() {
        return Verdict::Keep;
    }
    let created = created(metadata);
    let reclaim_after = annotation(metadata, RECLAIM_AFTER).and_then(|text| text.parse().ok());
    let over = (created + around.ttl.as_secs()).max(reclaim_after.unwrap_or(0));
    // Of Porch's own runner, or of nobody. Porch's does not write down when it has
    // used a pod last, and may go on using an old one beside us for a while.
    let Some(owner) = owner(metadata) else {
        let over = over.max(around.began + around.ttl.as_secs());
        return if around.now > over {
            Verdict::Delete("its time is over and it names no owner")
        } else {
            Verdict::Keep
        };
    };
    match life(owner) {
        Life::Alive => return Verdict::Keep,
        Life::Unknown if around.now > over => {
            return Verdict::Delete("its time is over and its owner is not known");
        }
        Life::Unknown => return Verdict::Keep,
        Life::Me if created >= around.began => {
            return Verdict::Delete("it was given up and is still there");
        }
        Life::Me | Life::Dead => {}
    }
    let is_current = annotation(metadata, TEMPLATE_VERSION) == around.template_version;
    let is_fresh = reclaim_after.is_none_or(|reclaim_after: u64| around.now <= reclaim_after);
    let is_starting = around.now <= created + around.start_timeout.as_secs();
    let may_answer = pod.status.as_ref().is_some_and(has_address);
    match (progress(pod), annotation(metadata, IMAGE_REFERENCE)) {
        (Progress::Leaving, _) => Verdict::Keep,
        (Progress::Failed(_), _) => Verdict::Delete("it has failed and its owner is gone"),
        (Progress::Waiting(_), _) if is_starting && !may_answer => Verdict::Keep,
        (Progress::Waiting(_), _) if !is_starting => {
            Verdict::Delete("its owner is gone and it did not come up in time")
        }
        (_, Some(function)) if is_current && is_fresh => Verdict::Adopt {
            function: function.to_owned(),
        },
        // As long as no template is known nothing can be said against it.
        (_, Some(_)) if around.template_version.is_none() && is_fresh => Verdict::Keep,
        _ => Verdict::Delete("its owner is gone and it is of no use"),
    }
}

/// The service that goes with a pod. Those of Porch's own runner are not named
/// after their pod but after its label, and a second pod may have the same.
pub fn service_of(pod: &Pod, pods: &[Arc<Pod>]) -> String {
    let label = |pod: &Pod| pod.labels().get(IMAGE_LABEL).cloned();
    let label = label(pod).filter(|wanted| {
        let shares = |other: &Arc<Pod>| label(other).as_ref() == Some(wanted);
        pods.iter().filter(|other| shares(other)).count() <= 1
    });
    label.unwrap_or_else(|| pod.name_any())
}

/// Whether a service whose pod is not there may go.
pub fn is_orphan(
    service: &Service,
    life: impl Fn(&str) -> Life,
    around: &Circumstances<'_>,
) -> bool {
    let metadata = &service.metadata;
    if metadata.deletion_timestamp.is_some() {
        return false;
    }
    // Its pod may be about to come.
    let age = around.now.saturating_sub(created(metadata));
    match owner(metadata).map(life) {
        Some(Life::Alive) => false,
        Some(Life::Me | Life::Dead) => age > around.start_timeout.as_secs(),
        Some(Life::Unknown) | None => age > around.ttl.as_secs(),
    }
}

fn created(metadata: &ObjectMeta) -> u64 {
    let created = metadata.creation_timestamp.as_ref();
    created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const AROUND: Circumstances<'static> = Circumstances {
        now: 10_000,
        began: 8_100,
        template_version: Some("v1"),
        ttl: Duration::from_secs(1_800),
        start_timeout: Duration::from_secs(60),
    };

    /// A pod that is fine, made at `created`, with some annotations changed.
    fn pod(created: i64, changes: &Value) -> Pod {
        let time = k8s_openapi::jiff::Timestamp::from_second(created).unwrap();
        let mut annotations = json!({ OWNER: "other", TEMPLATE_VERSION: "v1",
            RECLAIM_AFTER: "11000", IMAGE_REFERENCE: "a/fn:v1" });
        for (key, value) in changes.as_object().unwrap() {
            annotations[key] = value.clone();
        }
        let annotations: serde_json::Map<_, _> = annotations
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        serde_json::from_value(json!({
            "metadata": { "annotations": annotations, "creationTimestamp": time.to_string() },
            "status": { "phase": "Running", "podIP": "10.0.0.1" },
        }))
        .unwrap()
    }

    fn verdict(pod: &Pod, life: Life) -> Verdict {
        judge(pod, |_| life, &AROUND)
    }

    fn adopt() -> Verdict {
        Verdict::Adopt {
            function: "a/fn:v1".into(),
        }
    }

    #[test]
    fn nothing_of_a_live_runner_is_touched() {
        for changes in [
            json!({}),
            json!({ RECLAIM_AFTER: "1" }),
            json!({ TEMPLATE_VERSION: "v0" }),
        ] {
            assert_eq!(verdict(&pod(1, &changes), Life::Alive), Verdict::Keep);
        }
    }

    #[test]
    fn a_dead_runners_pod_is_adopted_if_it_is_current_and_deleted_if_not() {
        assert_eq!(verdict(&pod(9_500, &json!({})), Life::Dead), adopt());
        for useless in [
            json!({ TEMPLATE_VERSION: "v0" }),
            json!({ RECLAIM_AFTER: "9999" }),
            json!({ IMAGE_REFERENCE: null }),
        ] {
            let verdict = verdict(&pod(9_500, &useless), Life::Dead);
            assert!(matches!(verdict, Verdict::Delete(_)), "{verdict:?}");
        }
        let mut failed = pod(9_500, &json!({}));
        failed.status.as_mut().unwrap().phase = Some("Failed".into());
        assert!(matches!(verdict(&failed, Life::Dead), Verdict::Delete(_)));
    }

    #[test]
    fn a_dead_runners_pod_on_its_way_is_adopted_once_it_has_an_address() {
        let starting = |created, address: Option<&str>| {
            let mut starting = pod(created, &json!({}));
            let status = starting.status.as_mut().unwrap();
            status.phase = Some("Pending".into());
            status.pod_ip = address.map(str::to_owned);
            verdict(&starting, Life::Dead)
        };
        assert_eq!(starting(9_990, None), Verdict::Keep);
        assert_eq!(starting(9_990, Some("10.0.0.1")), adopt());
        for address in [None, Some("10.0.0.1")] {
            let late = starting(9_900, address);
            assert!(matches!(late, Verdict::Delete(_)), "{late:?}");
        }
    }

    #[test]
    fn our_own_pods_of_an_earlier_life_are_adopted_and_leftovers_deleted() {
        assert_eq!(verdict(&pod(8_000, &json!({})), Life::Me), adopt());
        let leftover = verdict(&pod(9_500, &json!({})), Life::Me);
        assert!(matches!(leftover, Verdict::Delete(_)));
    }

    #[test]
    fn an_old_pod_of_the_peer_lives_on_until_we_have_been_there_for_its_time() {
        let old = pod(1, &json!({ OWNER: null, RECLAIM_AFTER: null }));
        let beside_the_peer = Circumstances {
            began: 9_000,
            ..AROUND
        };
        let verdict = judge(&old, |_| Life::Dead, &beside_the_peer);
        assert_eq!(verdict, Verdict::Keep);
    }

    #[test]
    fn a_pod_of_the_peer_or_of_an_unknown_owner_lives_until_its_time_is_over() {
        for (owner, life) in [(json!(null), Life::Dead), (json!("other"), Life::Unknown)] {
            let young = pod(9_000, &json!({ OWNER: owner, RECLAIM_AFTER: null }));
            assert_eq!(verdict(&young, life), Verdict::Keep);
            let used = pod(1, &json!({ OWNER: owner, RECLAIM_AFTER: "10001" }));
            assert_eq!(verdict(&used, life), Verdict::Keep);
            let old = pod(1, &json!({ OWNER: owner, RECLAIM_AFTER: "9999" }));
            assert!(matches!(verdict(&old, life), Verdict::Delete(_)));
        }
    }

    #[test]
    fn a_foreign_pods_service_goes_with_it_unless_another_pod_needs_it() {
        let labelled = |name: &str| {
            let metadata = json!({ "name": name, "labels": { IMAGE_LABEL: "fn-v1-1-01234567" } });
            let pod: Pod = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
            Arc::new(pod)
        };
        let (first, second) = (labelled("a"), labelled("b"));
        assert_eq!(
            service_of(&first, std::slice::from_ref(&first)),
            "fn-v1-1-01234567"
        );
        let both = [first.clone(), second];
        assert_eq!(service_of(&first, &both), "a", "its own name: no service");
    }

    #[test]
    fn a_service_is_an_orphan_only_after_its_pod_had_time_to_come() {
        let service = |created: i64| Service {
            metadata: pod(created, &json!({})).metadata,
            ..Service::default()
        };
        let judge = |created, life: Life| is_orphan(&service(created), |_| life, &AROUND);
        assert!(judge(9_900, Life::Dead) && judge(9_900, Life::Me));
        assert!(!judge(9_990, Life::Dead) && !judge(1, Life::Alive));
        assert!(!judge(9_000, Life::Unknown) && judge(1, Life::Unknown));
    }
}
