use std::cell::Cell;

use kube::Api;
use tokio::time::sleep;

use super::*;
use crate::pod::fake;

/// What a sweep of runner "me" sees while "other" lives, too.
async fn look(left_before: HashSet<String>) -> Look<'static> {
    let lease = |owner: &str| json!({ "metadata": { "name": owner, "labels": { "fn.kpt.dev/runner": owner } } });
    let leases = json!({ "metadata": {}, "items": [lease("me"), lease("other")] });
    let client = fake::client(move |request| match *request.method() {
        http::Method::GET => (200, leases.clone()),
        _ => (200, lease("me")),
    });
    let owners = Owners::new(Api::namespaced(client, "pods"), "me");
    owners.begin().await;
    Look {
        census: owners.census([]).await,
        around: Circumstances {
            now: None,
            began: None,
            incarnation: "now",
            template_version: None,
            ttl: Duration::ZERO,
            start_timeout: Duration::ZERO,
        },
        services: Services::of(&[]),
        left_before,
        left_now: Mutex::default(),
    }
}

#[tokio::test]
async fn what_another_survivor_is_to_take_is_taken_only_if_it_is_still_there_later() {
    let orphan = |number: usize| Identity {
        name: format!("fn-{number}"),
        owner: Some("departed".into()),
        ..Identity::default()
    };
    let first = look(HashSet::new()).await;
    let mine = |look: &Look<'_>| {
        let orphans = (0..100).map(orphan);
        orphans
            .filter(|orphan| look.is_my_turn(orphan, "me"))
            .count()
    };
    let share = mine(&first);
    assert!((20..80).contains(&share), "{share} of 100");
    let left = first.left_now.into_inner().unwrap();
    assert_eq!(left.len(), 100 - share);
    let second = look(left).await;
    assert_eq!(mine(&second), 100);
    assert!(second.left_now.into_inner().unwrap().is_empty());
    let own = Identity {
        owner: Some("me".into()),
        ..orphan(1)
    };
    assert!(look(HashSet::new()).await.is_my_turn(&own, "me"));
}

#[tokio::test(start_paused = true)]
async fn slow_pods_hold_up_nobody_and_only_so_many_are_looked_after_at_once() {
    let (begin, second) = (Instant::now(), Duration::from_secs(1));
    let (under_way, most, quick) = (Cell::new(0), Cell::new(0), Cell::new(Duration::ZERO));
    each(0..3 * AT_ONCE, async |number| {
        under_way.set(under_way.get() + 1);
        most.set(most.get().max(under_way.get()));
        // The first is as slow as a pod that cannot be reached.
        sleep(if number == 0 { 30 * second } else { second }).await;
        under_way.set(under_way.get() - 1);
        if number > 0 {
            quick.set(begin.elapsed());
        }
    })
    .await;
    assert_eq!(most.get(), AT_ONCE);
    assert!(quick.get() < 5 * second, "{:?}", quick.get());
    assert!(begin.elapsed() < 31 * second);
}
