use k8s_openapi::api::core::v1::{Pod, Service};
use serde_json::{Value, json};

use super::*;
use crate::pod::{
    marks::{
        IMAGE_LABEL, IMAGE_REFERENCE, INCARNATION, OWNER, RECLAIM_AFTER, TEMPLATE_VERSION,
        WITHOUT_LEASE,
    },
    watching::Identity,
};

const AROUND: Circumstances<'static> = Circumstances {
    now: Some(10_000),
    began: Some(8_100),
    incarnation: "now",
    template_version: Some("v1"),
    ttl: Duration::from_secs(1_800),
    start_timeout: Duration::from_secs(60),
};

/// A pod that is fine, made at `created`, with some annotations changed.
fn pod(created: i64, changes: &Value) -> SeenPod {
    let time = k8s_openapi::jiff::Timestamp::from_second(created).unwrap();
    let mut annotations = json!({ OWNER: "other", TEMPLATE_VERSION: "v1", INCARNATION: "before",
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
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "annotations": annotations, "creationTimestamp": time.to_string() },
        "status": { "phase": "Running", "podIP": "10.0.0.1" },
    }))
    .unwrap();
    SeenPod::from(&pod)
}

fn verdict(pod: &SeenPod, life: Life) -> Verdict {
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
    for life in [Life::Dead, Life::Gone] {
        assert_eq!(verdict(&pod(9_500, &json!({})), life), adopt());
        for useless in [
            json!({ TEMPLATE_VERSION: "v0" }),
            json!({ RECLAIM_AFTER: "9999" }),
            json!({ IMAGE_REFERENCE: null }),
        ] {
            let verdict = verdict(&pod(9_500, &useless), life);
            assert!(matches!(verdict, Verdict::Delete(_)), "{verdict:?}");
        }
        let failed = SeenPod {
            progress: Progress::Failed("no".into()),
            ..pod(9_500, &json!({}))
        };
        assert!(matches!(verdict(&failed, life), Verdict::Delete(_)));
    }
}

#[test]
fn a_dead_runners_pod_on_its_way_is_adopted_once_it_has_an_address() {
    let starting = |created, has_address| {
        let starting = SeenPod {
            progress: Progress::Waiting("its containers".into()),
            has_address,
            ..pod(created, &json!({}))
        };
        verdict(&starting, Life::Dead)
    };
    assert_eq!(starting(9_990, false), Verdict::Keep);
    assert_eq!(starting(9_990, true), adopt());
    for has_address in [false, true] {
        let late = starting(9_900, has_address);
        assert!(matches!(late, Verdict::Delete(_)), "{late:?}");
    }
}

#[test]
fn our_own_pods_of_an_earlier_life_are_adopted_and_leftovers_deleted_whatever_the_clocks_say() {
    // A runner whose clock is ten minutes off, or that was restarted within a second.
    for created in [7_500, 8_100, 9_999, 10_600] {
        let earlier = pod(created, &json!({}));
        assert_eq!(verdict(&earlier, Life::Me), adopt(), "{created}");
        let leftover = pod(created, &json!({ INCARNATION: "now" }));
        let verdict = verdict(&leftover, Life::Me);
        assert!(matches!(verdict, Verdict::Delete(_)), "{created}");
    }
    let of_an_older_version = pod(9_000, &json!({ INCARNATION: null }));
    assert_eq!(verdict(&of_an_older_version, Life::Me), adopt());
}

#[test]
fn as_long_as_the_api_servers_time_is_not_known_nothing_is_old() {
    let around = Circumstances {
        now: None,
        began: None,
        ..AROUND
    };
    let old = pod(1, &json!({ RECLAIM_AFTER: "2" }));
    assert_eq!(judge(&old, |_| Life::Unknown, &around), Verdict::Keep);
    assert_eq!(judge(&old, |_| Life::Dead, &around), adopt());
    let nobodys = pod(1, &json!({ OWNER: null, RECLAIM_AFTER: "2" }));
    assert_eq!(judge(&nobodys, |_| Life::Dead, &around), Verdict::Keep);
}

#[test]
fn an_owner_that_could_not_have_a_lease_is_not_dead_for_having_none_or_one_of_an_earlier_life() {
    let young = pod(9_500, &json!({ WITHOUT_LEASE: "true" }));
    let old = pod(1, &json!({ WITHOUT_LEASE: "true", RECLAIM_AFTER: "9999" }));
    for life in [Life::Gone, Life::Dead] {
        assert_eq!(verdict(&young, life), Verdict::Keep, "{life:?}");
        assert!(matches!(verdict(&old, life), Verdict::Delete(_)));
    }
}

#[test]
fn as_long_as_no_template_is_known_nothing_is_adopted() {
    let around = Circumstances {
        template_version: None,
        ..AROUND
    };
    for version in [json!("v1"), json!(null)] {
        let pod = pod(9_500, &json!({ TEMPLATE_VERSION: version }));
        assert_eq!(judge(&pod, |_| Life::Dead, &around), Verdict::Keep);
    }
}

#[test]
fn an_old_pod_of_the_peer_lives_on_until_we_have_been_there_for_its_time() {
    let old = pod(1, &json!({ OWNER: null, RECLAIM_AFTER: null }));
    let beside_the_peer = Circumstances {
        began: Some(9_000),
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
        Arc::new(SeenPod::from(&pod))
    };
    let one = [labelled("a")];
    assert_eq!(Services::of(&one).name(&one[0]), "fn-v1-1-01234567");
    let both = [labelled("a"), labelled("b")];
    assert_eq!(
        Services::of(&both).name(&both[0]),
        "a",
        "its own name: no service"
    );
}

#[test]
fn a_service_is_an_orphan_only_after_its_pod_had_time_to_come() {
    let service = |created: u64| SeenService {
        identity: Identity {
            created,
            owner: Some("other".into()),
            ..Identity::default()
        },
        ..SeenService::from(&Service::default())
    };
    let judge = |created, life: Life| is_orphan(&service(created), |_| life, &AROUND);
    for life in [Life::Dead, Life::Gone, Life::Me] {
        assert!(judge(9_900, life) && !judge(9_990, life));
    }
    assert!(!judge(1, Life::Alive));
    assert!(!judge(9_000, Life::Unknown) && judge(1, Life::Unknown));
}
