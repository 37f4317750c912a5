//! Removal, over an API server that knows more than the watch.

use std::sync::Arc;

use futures::{FutureExt as _, future::join_all};
use http::Method;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::pod::{
    cluster::{ServerHeaders, api::Gate, fake},
    marks::OWNER,
    watching::Watch,
};

fn object(version: &str, owner: &str) -> Value {
    json!({ "metadata": { "name": "a", "uid": "uid-1", "resourceVersion": version,
                          "annotations": { OWNER: owner } } })
}

/// Removes a pod of ours that the watch has seen in version 1, from a cluster where
/// its version and owner are these. The deletions that were asked for, with their
/// preconditions.
async fn remove(version: &'static str, owner: &'static str) -> Vec<(String, Value)> {
    let deletions = Arc::new(Mutex::new(Vec::new()));
    let client = fake::slow({
        let deletions = Arc::clone(&deletions);
        move |request| {
            let deletions = Arc::clone(&deletions);
            async move {
                if request.method() == Method::GET {
                    return (200, object(version, owner).to_string());
                }
                let (path, conditions) = fake::deletion(request).await;
                let wanted = conditions["resourceVersion"].as_str();
                let is_met = wanted.is_none_or(|wanted| wanted == version);
                deletions.lock().push((path, conditions));
                let (code, answer) = if is_met {
                    (200, object(version, owner))
                } else {
                    fake::refusal(409, "Conflict", "the precondition failed")
                };
                (code, answer.to_string())
            }
            .boxed()
        }
    });
    objects(client).remove_of("me", "a").await;
    let deletions = deletions.lock();
    deletions.clone()
}

/// With one pod and its service, both in version 1.
fn objects(client: Client) -> Objects {
    let pod: Pod = serde_json::from_value(object("1", "me")).unwrap();
    let service: Service = serde_json::from_value(object("1", "me")).unwrap();
    Objects {
        namespace: "pods".into(),
        pods: Api::namespaced(client.clone(), "pods"),
        services: Api::namespaced(client, "pods"),
        gate: Gate::new(ServerHeaders::default()),
        watch: Watch::of(&[pod]),
        service_watch: Watch::of(&[service]),
        removals: Removals::default(),
    }
}

fn deletion(kind: &str, conditions: Value) -> (String, Value) {
    (format!("/api/v1/namespaces/pods/{kind}/a"), conditions)
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_deleted_as_it_was_seen_and_then_its_service() {
    let expected = [
        deletion("pods", json!({ "uid": "uid-1", "resourceVersion": "1" })),
        deletion("services", json!({ "uid": "uid-1" })),
    ];
    assert_eq!(remove("1", "me").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_changed_is_looked_at_again() {
    let expected = [
        deletion("pods", json!({ "uid": "uid-1", "resourceVersion": "1" })),
        deletion("pods", json!({ "uid": "uid-1", "resourceVersion": "2" })),
        deletion("services", json!({ "uid": "uid-1" })),
    ];
    assert_eq!(remove("2", "me").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_another_runner_has_adopted_a_moment_ago_stays_with_its_service() {
    let expected = [deletion(
        "pods",
        json!({ "uid": "uid-1", "resourceVersion": "1" }),
    )];
    assert_eq!(remove("2", "other").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_start_does_not_stand_behind_all_removals() {
    let second = Duration::from_secs(1);
    let client = fake::slow(move |request| {
        async move {
            if request.method() == Method::DELETE {
                sleep(second).await;
            }
            (200, object("1", "me").to_string())
        }
        .boxed()
    });
    let objects = objects(client);
    let begin = Instant::now();
    let removals = join_all((0..100).map(|_| objects.remove_of("me", "a")));
    let start = async {
        objects.gate.once(objects.pods.get("a")).await.unwrap();
        begin.elapsed()
    };
    let (_, waited) = futures::join!(removals, start);
    assert!(waited <= 4 * second, "{waited:?}");
}
