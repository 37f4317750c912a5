use std::{collections::VecDeque, time::Duration};

use futures::{FutureExt as _, future::pending};
use kube::client::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::*;
use crate::pod::cluster::fake;

fn object(name: &str, phase: &str) -> Value {
    json!({ "kind": "Pod", "apiVersion": "v1",
            "metadata": { "name": name, "resourceVersion": "7" },
            "status": { "phase": phase, "podIP": "10.0.0.1" } })
}

fn pod(name: &str, phase: &str) -> Pod {
    serde_json::from_value(object(name, phase)).unwrap()
}

fn keeper() -> (Watch<Pod>, Keeper<Pod>) {
    Watch::pair(mpsc::channel(1).0)
}

fn names(losses: Vec<Loss>) -> Vec<String> {
    losses.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn what_was_usable_and_is_not_any_more_is_reported_once() {
    let (watch, keeper) = keeper();
    assert!(keeper.apply(&pod("a", "Pending")).is_empty());
    assert!(keeper.apply(&pod("a", "Running")).is_empty());
    assert_eq!(watch.loss("a"), None);
    assert_eq!(names(keeper.apply(&pod("a", "Failed"))), ["a"]);
    assert!(keeper.apply(&pod("a", "Failed")).is_empty());
    assert!(watch.loss("a").is_some());
    assert_eq!(names(keeper.remove("a")), ["a"], "gone is another matter");
    assert!(keeper.remove("a").is_empty());
    assert_eq!(watch.loss("a").as_deref(), Some(Pod::GONE));
}

#[test]
fn an_objects_name_is_kept_once_however_often_it_changes() {
    let (watch, keeper) = keeper();
    for phase in ["Pending", "Running", "Running"] {
        keeper.apply(&pod("a", phase));
    }
    let known = watch.known();
    let (key, seen) = known.objects.iter().next().unwrap();
    assert_eq!(key.as_ptr(), seen.identity.name.as_ptr());
}

#[test]
fn an_api_server_that_asks_for_years_is_asked_again_in_a_minute() {
    let busy = json!({ "message": "later", "reason": "TooManyRequests", "code": 429,
                       "details": { "retryAfterSeconds": u32::MAX } });
    let busy: Box<kube::core::Status> = serde_json::from_value(busy).unwrap();
    let error = kube::runtime::watcher::Error::WatchError(busy);
    assert_eq!(keeper::wish(&error), Duration::from_secs(60));
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let (watch, keeper) = keeper();
    for name in ["a", "b", "c"] {
        keeper.apply(&pod(name, "Running"));
    }
    let mut gone = names(keeper.listed(&["b".to_owned()].into(), Instant::now()));
    gone.sort();
    assert_eq!(gone, ["a", "c"]);
    assert_eq!(watch.all().len(), 1);
}

#[tokio::test]
async fn a_pod_that_comes_up_is_followed_until_nothing_will_come_of_it() {
    let (watch, keeper) = keeper();
    let seen = Mutex::new(Vec::new());
    let look = |pod: &SeenPod| seen.lock().push(pod.progress.clone());
    let (lost, (), ()) = futures::join!(watch.follow("a", look), watch.addressed("a"), async {
        for phase in ["Pending", "Running", "Failed"] {
            keeper.apply(&pod("a", phase));
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(lost, "the pod has ended");
    let expected = [
        Progress::Waiting("its containers".into()),
        Progress::Addressed,
    ];
    assert_eq!(*seen.lock(), expected);
    assert_eq!(watch.lost("a").await, lost);
}

/// Deleted while nobody could watch: no change will ever report it.
#[tokio::test(start_paused = true)]
async fn a_pod_that_was_gone_before_it_was_seen_is_not_waited_for() {
    let (watch, keeper) = keeper();
    let asked_before = Instant::now();
    let mut followed = std::pin::pin!(watch.follow("a", |_| panic!("nobody sees it")));
    let mut appears = std::pin::pin!(watch.appears("a"));
    assert_eq!(followed.as_mut().now_or_never(), None);
    keeper.listed(&[].into(), asked_before);
    assert_eq!(followed.as_mut().now_or_never(), None, "it may be newer");
    assert_eq!(appears.as_mut().now_or_never(), None);
    tokio::time::advance(Duration::from_secs(1)).await;
    keeper.listed(&[].into(), Instant::now());
    assert_eq!(followed.now_or_never().as_deref(), Some(Pod::GONE));
    assert_eq!(appears.now_or_never(), Some(()));
}

#[tokio::test]
async fn a_change_wakes_only_those_who_wait_for_that_object() {
    let (watch, keeper) = keeper();
    let mut waits: Vec<Wait<'_, Pod>> = ["a", "b"].map(|name| watch.wait(name)).into();
    keeper.apply(&pod("b", "Running"));
    keeper.apply(&pod("c", "Running"));
    assert_eq!(waits[0].next().now_or_never(), None);
    assert_eq!(waits[1].next().now_or_never(), Some(true));
    assert_eq!(waits[1].next().now_or_never(), None);

    waits.pop();
    let left: Vec<String> = watch.known().waits.keys().cloned().collect();
    assert_eq!(
        left,
        ["a"],
        "nothing is left of one who does not wait any more"
    );
    drop(keeper);
    assert_eq!(waits[0].next().now_or_never(), Some(false), "the end");
    assert_eq!(watch.wait("z").next().now_or_never(), Some(false));
}

/// The code of an answer that never comes.
const SILENT: u16 = 0;

/// An API server that answers in this order, and then no more.
fn script(answers: Vec<(u16, String)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let answers = Mutex::new(VecDeque::from(answers));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let client = fake::slow({
        let asked = Arc::clone(&asked);
        move |request| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let is_watch = query.contains("watch=true");
            let kind = if is_watch { "watch" } else { "list" };
            asked.lock().push(kind.to_owned());
            match answers.lock().pop_front() {
                Some((SILENT, _)) | None => pending().boxed(),
                Some(answer) => async move { answer }.boxed(),
            }
        }
    });
    (client, asked)
}

fn list(names: &[&str]) -> (u16, String) {
    let items: Vec<Value> = names.iter().map(|name| object(name, "Running")).collect();
    let list = json!({ "kind": "PodList", "apiVersion": "v1",
                       "metadata": { "resourceVersion": "5" }, "items": items });
    (200, list.to_string())
}

fn event(kind: &str, object: &Value) -> (u16, String) {
    (
        200,
        format!("{}\n", json!({ "type": kind, "object": object })),
    )
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_version_is_forgotten_lists_anew_and_reports_each_loss_once() {
    let expired = fake::refusal(410, "Expired", "too old resource version").1;
    let (client, asked) = script(vec![
        list(&["a", "b", "c"]),
        event("DELETED", &object("c", "Running")),
        event("ERROR", &expired),
        list(&["b", "c"]),
        // Another way to say it, without an event.
        (410, format!("{expired}\n")),
        list(&["b", "d"]),
    ]);
    let (losses, mut lost) = mpsc::channel(8);
    let (watch, keep) = Watch::<Pod>::new(&client, "pods", losses);
    let begin = Instant::now();
    let keep = tokio::spawn(keep);
    let until_known = watch.until("d", |pod| pod.is_some());
    timeout(Duration::from_secs(5), until_known).await.unwrap();
    let mut names = Vec::new();
    while let Ok(Some((name, _))) = timeout(Duration::from_secs(5), lost.recv()).await {
        names.push(name);
    }
    assert_eq!(
        names,
        ["c", "a", "c"],
        "c came back; b was there all the time"
    );
    assert_eq!(watch.loss("b"), None);
    let lists = asked.lock().iter().filter(|kind| *kind == "list").count();
    assert_eq!(lists, 3);
    assert!(
        begin.elapsed() < Duration::from_secs(11),
        "{:?}",
        begin.elapsed()
    );
    keep.abort();
}

#[tokio::test(start_paused = true)]
async fn after_a_trouble_all_is_known_to_be_well_though_nothing_happens() {
    let (code, status) = fake::refusal(500, "InternalError", "etcd is ill");
    let ill = (code, format!("{status}\n"));
    let goes_on = (SILENT, String::new());
    let (client, asked) = script(vec![list(&["a"]), ill.clone(), ill, goes_on, list(&["a"])]);
    let (losses, mut lost) = mpsc::channel(8);
    let (watch, keep) = Watch::<Pod>::new(&client, "pods", losses);
    let keep = tokio::spawn(keep);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!watch.is_current());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(watch.is_current() && lost.try_recv().is_err());
    let expected = ["list", "watch", "watch", "watch", "list", "watch"];
    assert_eq!(*asked.lock(), expected, "one list for all of it");
    keep.abort();
}

#[tokio::test(start_paused = true)]
async fn an_ailing_api_server_is_asked_ever_less_often_and_found_again_soon() {
    let busy = || {
        let (code, status) = fake::refusal(500, "InternalError", "etcd is ill");
        (code, status.to_string())
    };
    let (client, asked) = script((0..1_000).map(|_| busy()).collect());
    let (watch, keep) = Watch::<Pod>::new(&client, "pods", mpsc::channel(8).0);
    let keep = tokio::spawn(keep);
    tokio::time::sleep(Duration::from_secs(300)).await;
    let count = asked.lock().len();
    assert!((40..110).contains(&count), "{count} lists in five minutes");
    assert!(!watch.is_synced());
    keep.abort();
}
