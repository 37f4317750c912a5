use std::{cell::Cell, future::ready};

use futures::{FutureExt as _, future::pending};
use http::Method;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use registry::{Keychain, Timeouts, Transport};
use service::Trace;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tonic::transport::Endpoint;

use super::*;
use crate::{
    pod::{
        cluster::{ServerHeaders, api::Gate, fake},
        functions::Defaults,
        marks::{OWNER, TEMPLATE_VERSION},
        objects::Removals,
        watching::Watch,
    },
    pool::{Launcher, Settings, Worker},
};

/// What a sweep of runner "me" sees while "other" lives, too.
async fn look(left_before: HashMap<String, Instant>) -> Look<'static> {
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

#[tokio::test(start_paused = true)]
async fn what_another_survivor_is_to_take_is_taken_only_if_it_is_still_there_after_its_turn() {
    let orphan = |number: usize| Identity {
        name: (&*format!("fn-{number}")).into(),
        owner: Some("departed".into()),
        ..Identity::default()
    };
    let mine = |look: &Look<'_>| {
        let orphans = (0..100).map(orphan);
        orphans
            .filter(|orphan| look.is_my_turn(orphan, "me"))
            .count()
    };
    let first = look(HashMap::new()).await;
    let share = mine(&first);
    assert!((20..80).contains(&share), "{share} of 100");
    let left = first.left_now.into_inner();
    assert_eq!(left.len(), 100 - share);
    // A scan may come at any time.
    let meanwhile = look(left).await;
    assert_eq!(mine(&meanwhile), share);
    let left = meanwhile.left_now.into_inner();
    tokio::time::advance(TURN_OF_OTHERS).await;
    let second = look(left).await;
    assert_eq!(mine(&second), 100);
    assert!(second.left_now.into_inner().is_empty());
    let own = Identity {
        owner: Some("me".into()),
        ..orphan(1)
    };
    assert!(look(HashMap::new()).await.is_my_turn(&own, "me"));
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

/// Looks after no pod: what the pool is told stays unheard.
struct Nobody;

impl Launcher for Nobody {
    type Connection = Connection;

    async fn start(&self, _: &str, _: PodId, _: &Trace) -> Result<Connection, Failure> {
        Err(Failure::passing("nobody starts pods"))
    }

    fn adopted(&self, _: PodId, _: &Connection) {}

    async fn check(&self, _: &Connection) -> Result<(), Failure> {
        Ok(())
    }

    async fn delete(&self, _: PodId) {}
}

/// The deletions that an API server was asked for.
type Deletions = Arc<Mutex<Vec<String>>>;

/// An object "a" of a runner that is gone.
fn orphan() -> Value {
    json!({ "metadata": { "name": "a", "uid": "1", "resourceVersion": "7",
                          "annotations": { OWNER: "gone", TEMPLATE_VERSION: "v1" },
                          "creationTimestamp": "1970-01-01T00:00:01Z" },
            "status": { "phase": "Running", "podIP": "10.0.0.1" } })
}

/// What another runner has taken over a moment ago.
const TAKEN: &str = "taken";

/// The sweeper "me" over an API server that has these pods and services, lets everything else be patched but
/// nothing be deleted, and whose watches say nothing.
async fn sweeper(pods: Vec<Value>, services: Vec<Value>) -> (Sweeper, Deletions) {
    let deletions = Deletions::default();
    let client = fake::slow({
        let deletions = Arc::clone(&deletions);
        move |request| {
            let (path, method) = (request.uri().path().to_owned(), request.method().clone());
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"))
            {
                return pending().boxed();
            }
            let (code, answer) = match (method, &*path) {
                (Method::DELETE, _) => {
                    deletions.lock().push(path);
                    fake::refusal(500, "InternalError", "failed calling webhook")
                }
                (Method::PATCH, path) if path.ends_with(TAKEN) => {
                    fake::refusal(422, "Invalid", "the test of its owner failed")
                }
                (Method::GET, path) if path.ends_with("/a") => {
                    fake::refusal(404, "NotFound", "no such pod")
                }
                (Method::GET, path) => {
                    let items = match path.rsplit('/').next() {
                        Some("pods") => &pods,
                        Some("services") => &services,
                        _ => &Vec::new(),
                    };
                    let metadata = json!({ "resourceVersion": "5" });
                    (200, json!({ "metadata": metadata, "items": items }))
                }
                _ => (200, orphan()),
            };
            async move { (code, answer.to_string()) }.boxed()
        }
    });
    let (watch, keep) = Watch::new(&client, "pods", mpsc::channel(8).0);
    tokio::spawn(keep);
    let (service_watch, keep) = Watch::new(&client, "pods", mpsc::channel(8).0);
    tokio::spawn(keep);
    futures::join!(watch.synced(), service_watch.synced());
    let headers = ServerHeaders::default();
    let date = http::Response::builder().header("date", "Thu, 01 Jan 2026 00:00:00 GMT");
    headers.hear(date.body(()).unwrap());
    let objects = Arc::new(Objects {
        namespace: "pods".into(),
        pods: Api::namespaced(client.clone(), "pods"),
        services: Api::namespaced(client.clone(), "pods"),
        gate: Gate::new(headers),
        watch,
        service_watch,
        removals: Removals::default(),
    });
    let owners = Owners::new(Api::namespaced(client.clone(), "pods"), "me");
    owners.begin().await;
    let settings = Settings {
        ttl: Duration::from_secs(60),
        max_waitlist_length: 2,
        max_pods: 1,
        max_queued: 10,
        is_warm_up: false,
        min_pods: 0,
        revision: 0,
    };
    let defaults = Defaults {
        settings,
        warm_up: false,
        max_retries: 0,
        retry_lost_calls: false,
    };
    let registry = Client::new(Keychain::Default, Transport::default(), Timeouts::default());
    let sweeper = Sweeper {
        wrappers: Arc::new(Wrappers {
            objects: Arc::clone(&objects),
            cluster_domain: "cluster.local".into(),
        }),
        objects,
        roster: Arc::default(),
        owners: Arc::new(owners),
        us: Arc::new(Us {
            owner: "me".into(),
            incarnation: "now".into(),
        }),
        templates: CurrentTemplate::of(Api::namespaced(client, "own"), "own".into()).0,
        functions: Arc::new(Functions::new("/nowhere".as_ref(), "", defaults)),
        metadata: Arc::new(Metadata::new(registry, None)),
        start_timeout: Duration::from_secs(60),
        pool: Worker::new(Arc::new(Nobody), Duration::from_secs(60), 0).1,
        ttl: Duration::from_secs(60),
        memory: Memory::default(),
    };
    (sweeper, deletions)
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_answers_is_not_deleted_because_the_watch_is_behind() {
    let (sweeper, deletions) = sweeper(vec![orphan()], vec![]).await;
    let pod = sweeper.objects.watch.get("a").unwrap();
    let usage = sweeper.roster.claim("a", "fn").unwrap();
    let channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
    sweeper
        .make_ours(&pod, "fn", usage, ready(Ok(channel)))
        .await;
    assert!(!sweeper.roster.knows("a"), "the next sweep adopts it");
    assert!(deletions.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_another_survivor_has_taken_is_not_dialled() {
    let mut pod = orphan();
    pod["metadata"]["name"] = TAKEN.into();
    let (sweeper, deletions) = sweeper(vec![pod], vec![]).await;
    let pod = sweeper.objects.watch.get(TAKEN).unwrap();
    let usage = sweeper.roster.claim(TAKEN, "fn").unwrap();
    let dialled = async { panic!("it is dialled") };
    sweeper.make_ours(&pod, "fn", usage, dialled).await;
    assert!(!sweeper.roster.knows(TAKEN));
    assert!(deletions.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_cannot_be_deleted_holds_up_no_sweep_and_is_tried_again() {
    let (sweeper, deletions) = sweeper(vec![], vec![orphan()]).await;
    for sweeps in 1..=3 {
        let swept = timeout(Duration::from_secs(30), sweeper.sweep()).await;
        assert!(swept.is_ok(), "it ends");
        assert_eq!(deletions.lock().len(), sweeps);
        assert!(sweeper.memory.stuck().contains("a"), "reported once");
    }
}

#[test]
fn a_service_whose_pod_was_adopted_asks_for_nobody() {
    let pod: Pod = serde_json::from_value(orphan()).unwrap();
    let service: Service = serde_json::from_value(orphan()).unwrap();
    let pods = [Arc::new(SeenPod {
        identity: Identity {
            owner: Some("me".into()),
            ..SeenPod::from(&pod).identity
        },
        ..SeenPod::from(&pod)
    })];
    let services = [Arc::new(SeenService::from(&service))];
    let owners = |pods| Vec::from_iter(owners_in_question(pods, &services, |_| true));
    assert_eq!(owners(&pods), ["me"]);
    assert_eq!(owners(&[]), ["gone"]);
}
