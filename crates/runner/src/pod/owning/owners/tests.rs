use std::sync::Arc;

use futures::FutureExt as _;
use http::Method;
use serde_json::Value;

use super::*;
use crate::pod::cluster::fake;

fn lease(owner: &str) -> Value {
    json!({ "metadata": { "name": lease_name(owner), "labels": { RUNNER_LABEL: owner },
                          "uid": format!("uid-of-{owner}"), "resourceVersion": "7" },
            "spec": { "renewTime": "2026-01-01T00:00:00.000000Z" } })
}

/// Owners over a cluster whose answers to lists are taken from the front.
fn owners(mut lists: Vec<(u16, Value)>) -> Owners {
    lists.reverse();
    let lists = Mutex::new(lists);
    over(move |method| match *method {
        Method::GET => lists.lock().pop().expect("one look too many"),
        _ => (200, lease("me")),
    })
}

/// Owners over a cluster that answers by the kind of request.
fn over(answer: impl Fn(&Method) -> (u16, Value) + Send + Sync + 'static) -> Owners {
    let client = fake::client(move |request| answer(request.method()));
    Owners::new(Api::namespaced(client, "pods"), "me")
}

fn list(owners: &[&str]) -> (u16, Value) {
    let items: Vec<Value> = owners.iter().map(|owner| lease(owner)).collect();
    let list = json!({ "kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1",
                       "metadata": {}, "items": items });
    (200, list)
}

fn denied() -> (u16, Value) {
    fake::refusal(403, "Forbidden", "no")
}

#[tokio::test]
async fn a_runner_that_began_after_the_last_look_is_alive() {
    let owners = owners(vec![list(&["me"]), list(&["me", "new"])]);
    owners.begin().await;
    let census = owners.census(["me", "new"]).await;
    assert_eq!(census.life("new"), Life::Alive);
    assert_eq!(census.life("me"), Life::Me);
}

#[tokio::test]
async fn a_runner_without_a_lease_is_gone_and_that_is_looked_up_each_time() {
    let owners = owners(vec![list(&["old"]), list(&[]), list(&["old"])]);
    owners.begin().await;
    assert_eq!(owners.census(["old"]).await.life("old"), Life::Alive);
    assert_eq!(owners.census(["gone"]).await.life("gone"), Life::Gone);
    owners.departure().await;
    assert_eq!(owners.census(["old"]).await.life("old"), Life::Alive);
}

#[tokio::test]
async fn where_nothing_can_be_looked_up_nobody_is_dead() {
    let failing = owners(vec![list(&[]), fake::refusal(500, "Internal", "no")]);
    failing.begin().await;
    assert_eq!(failing.census(["other"]).await.life("other"), Life::Unknown);

    let denied = over(|_| denied());
    denied.begin().await;
    denied.begun().await;
    assert!(!denied.has_lease());
    assert_eq!(denied.census(["other"]).await.life("other"), Life::Unknown);
}

/// Runs `keep` for some time.
async fn keep(owners: &Owners, time: Duration) {
    assert!(timeout(time, owners.keep()).await.is_err(), "it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_leases_have_worked_is_trouble_that_passes() {
    let owners = owners(vec![list(&["me"]), denied(), denied(), list(&["me"])]);
    owners.begin().await;
    keep(&owners, 2 * RENEWAL + RENEWAL / 2).await;
    assert!(owners.has_lease(), "we go on renewing");
    keep(&owners, RENEWAL + RENEWAL / 2).await;
    assert_eq!(owners.census(["me"]).await.life("me"), Life::Me);
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_comes_late_is_noticed() {
    let asked = Arc::new(Mutex::new(0));
    let owners = over({
        let asked = Arc::clone(&asked);
        move |method| {
            let mut asked = asked.lock();
            *asked += 1;
            match *method {
                _ if *asked <= 2 => denied(),
                Method::GET => list(&["me", "other"]),
                _ => (200, lease("me")),
            }
        }
    });
    owners.begin().await;
    keep(&owners, DENIED + DENIED / 2).await;
    assert!(!owners.has_lease());
    assert_eq!(*asked.lock(), 2, "asked once a minute");
    keep(&owners, DENIED + DENIED / 2).await;
    assert!(owners.has_lease());
    assert_eq!(owners.census(["other"]).await.life("other"), Life::Alive);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_may_not_list_leases_renews_its_own_so_that_others_see_that_it_lives() {
    // Its role may allow that from the beginning, or later.
    for refusals in [0, 1] {
        let asked = Arc::new(Mutex::new((0, 0)));
        let owners = over({
            let asked = Arc::clone(&asked);
            move |method| {
                let (renewals, lists) = &mut *asked.lock();
                if method == Method::GET {
                    *lists += 1;
                    return denied();
                }
                *renewals += 1;
                if *renewals <= refusals {
                    denied()
                } else {
                    (200, lease("me"))
                }
            }
        });
        owners.begin().await;
        assert_eq!(owners.has_lease(), refusals == 0);
        keep(&owners, DENIED + RENEWAL / 2).await;
        assert!(owners.has_lease());
        *asked.lock() = (refusals, 0);
        keep(&owners, 4 * RENEWAL + RENEWAL / 2).await;
        assert_eq!(*asked.lock(), (refusals + 4, 4));
        assert_eq!(owners.census(["other"]).await.life("other"), Life::Unknown);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_deleted_only_as_it_was_seen() {
    let deletions = Arc::new(Mutex::new(Vec::new()));
    let client = fake::slow({
        let deletions = Arc::clone(&deletions);
        move |request| {
            let deletions = Arc::clone(&deletions);
            async move {
                if request.method() == Method::GET {
                    return (200, list(&["me", "dead"]).1.to_string());
                } else if request.method() == Method::DELETE {
                    let (_, conditions) = fake::deletion(request).await;
                    deletions.lock().push(conditions);
                }
                (200, lease("me").to_string())
            }
            .boxed()
        }
    });
    let owners = Owners::new(Api::namespaced(client, "pods"), "me");
    owners.begin().await;
    owners.bury("dead").await;
    owners.bury("stranger").await;
    owners.leave().await;
    let expected = [
        json!({ "uid": "uid-of-dead", "resourceVersion": "7" }),
        json!({ "uid": "uid-of-me" }),
    ];
    assert_eq!(*deletions.lock(), expected);
}
