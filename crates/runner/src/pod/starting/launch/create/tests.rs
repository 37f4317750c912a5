use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use futures::{FutureExt as _, future::join_all};
use http::Method;
use kube::Api;
use serde_json::{Value, json};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

use super::*;
use crate::pod::{
    cluster::{ServerHeaders, api::Gate, fake},
    objects::Removals,
    watching::Watch,
};

/// What the API server has been asked for.
#[derive(Default)]
struct Asked {
    /// Services get their addresses one at a time.
    addresses: Mutex<()>,
    owners: AtomicUsize,
}

/// The objects of an API server that makes ten services a second.
fn objects(asked: &Arc<Asked>) -> Arc<Objects> {
    let client = fake::slow({
        let asked = Arc::clone(asked);
        move |request| {
            let asked = Arc::clone(&asked);
            async move {
                if request.method() == Method::PATCH {
                    asked.owners.fetch_add(1, SeqCst);
                } else if request.uri().path().ends_with("services") {
                    let _in_turn = asked.addresses.lock().await;
                    sleep(Duration::from_millis(100)).await;
                } else {
                    sleep(Duration::from_millis(5)).await;
                }
                let object: Value = json!({ "metadata": { "name": "a", "uid": "1" } });
                (200, object.to_string())
            }
            .boxed()
        }
    });
    Arc::new(Objects {
        namespace: "pods".into(),
        pods: Api::namespaced(client.clone(), "pods"),
        services: Api::namespaced(client, "pods"),
        gate: Gate::new(ServerHeaders::default()),
        watch: Watch::of(&[]),
        service_watch: Watch::of(&[]),
        removals: Removals::default(),
    })
}

#[tokio::test(start_paused = true)]
async fn in_a_storm_of_starts_the_first_do_not_wait_for_the_last_and_all_services_get_their_owner()
{
    const STARTS: usize = 300;
    let asked = Arc::new(Asked::default());
    let objects = objects(&asked);
    let (owners, give) = ServiceOwners::new(Arc::clone(&objects));
    let give = tokio::spawn(give);
    let begin = Instant::now();
    let (pod, service) = (Pod::default(), Service::default());
    let start = async |_| {
        let posted = post(&objects, &owners, &pod, &service, |_| {}).await;
        assert!(posted.is_ok());
        begin.elapsed()
    };
    let ends = join_all((0..STARTS).map(start)).await;
    assert!(begin.elapsed() > Duration::from_secs(25), "it is a storm");
    let soon = |end: &&Duration| **end < Duration::from_secs(10);
    let count = ends.iter().filter(soon).count();
    assert!(count > 50, "{count} of {STARTS} within a third of the time");

    drop(owners);
    let all_given = timeout(Duration::from_secs(60), give).await;
    all_given.expect("it ends").unwrap();
    assert_eq!(asked.owners.load(SeqCst), STARTS);
}

#[tokio::test(start_paused = true)]
async fn a_start_does_not_wait_until_its_service_has_its_owner() {
    let asked = Arc::new(Asked::default());
    let objects = objects(&asked);
    // Nobody gives owners at all.
    let (owners, _give) = ServiceOwners::new(Arc::clone(&objects));
    let (pod, service) = (Pod::default(), Service::default());
    let posted = post(&objects, &owners, &pod, &service, |_| {}).await;
    assert!(posted.unwrap().is_some());
    assert_eq!(asked.owners.load(SeqCst), 0);
}
