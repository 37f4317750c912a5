use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::pod::cluster::fake;

fn gate() -> Gate {
    Gate::new(ServerHeaders::default())
}

fn pods(client: Client) -> Api<Pod> {
    Api::namespaced(client, "test")
}

/// Answers in this order.
fn answering(mut answers: Vec<(u16, Value)>) -> Api<Pod> {
    answers.reverse();
    let answers = Mutex::new(answers);
    pods(fake::client(move |_| {
        answers.lock().pop().expect("no more")
    }))
}

fn a() -> (u16, Value) {
    (200, json!({ "metadata": { "name": "a" } }))
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_the_rest_is_reported() {
    let passing = [
        fake::refusal(500, "InternalError", "etcd is busy"),
        fake::refusal(429, "TooManyRequests", "later"),
        fake::refusal(409, "Conflict", "the quota has been modified"),
    ];
    for (last, code) in [
        (a(), None),
        (fake::refusal(403, "Forbidden", "exceeded quota"), Some(403)),
        (fake::refusal(409, "AlreadyExists", "a exists"), Some(409)),
    ] {
        let pods = answering(passing.iter().cloned().chain([last]).collect());
        let mut told = Vec::new();
        let tell = |step: Step<'_>| {
            if let Step::Failed(error) = step {
                told.push(error.message.clone());
            }
        };
        let outcome = gate().create(|| pods.get("a"), tell).await;
        assert_eq!(outcome.err().and_then(|error| error.code), code);
        assert_eq!(told.len(), passing.len());
    }
    let conflict = answering(vec![fake::refusal(409, "Conflict", "it has changed")]);
    let outcome = gate().persist(|| conflict.get("a")).await;
    assert!(outcome.unwrap_err().is_conflict(), "not the same object");
}

#[tokio::test(start_paused = true)]
async fn requests_are_under_way_in_a_bounded_number_and_the_rest_know_that_they_wait() {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let pods = pods(fake::slow(|_| {
        Box::pin(async {
            MOST.fetch_max(UNDER_WAY.fetch_add(1, SeqCst) + 1, SeqCst);
            sleep(Duration::from_millis(300)).await;
            UNDER_WAY.fetch_sub(1, SeqCst);
            (200, a().1.to_string())
        })
    }));
    let (gate, pods) = (gate(), &pods);
    let queued = AtomicUsize::new(0);
    let ask = |_| {
        gate.create(
            || pods.get("a"),
            |step| {
                if matches!(step, Step::Queued) {
                    queued.fetch_add(1, SeqCst);
                }
            },
        )
    };
    let answers = join_all((0..100).map(ask)).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(MOST.load(SeqCst), turns::AT_ONCE);
    assert!(queued.load(SeqCst) >= 100 - turns::AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_something_behind_the_api_server_does_not_narrow_the_way() {
    let pods = answering(vec![fake::refusal(500, "InternalError", "no kubelet"); 3]);
    let gate = gate();
    let width = gate.turns.width();
    for _ in 0..2 {
        let answer = gate.once_uncounted(pods.get("a")).await;
        assert_eq!(answer.unwrap_err().code, Some(500));
    }
    assert_eq!(gate.turns.width(), width);
    assert!(gate.once(pods.get("a")).await.is_err());
    assert!(gate.turns.width() < width, "its own failures do");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_gets_no_answer_is_given_more_time_at_the_next_attempt() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let pods = pods(fake::slow(|_| {
        Box::pin(async {
            ASKED.fetch_add(1, SeqCst);
            // Longer than the first two attempts wait.
            sleep(Duration::from_secs(30)).await;
            (200, a().1.to_string())
        })
    }));
    gate().persist(|| pods.get("a")).await.unwrap();
    assert_eq!(ASKED.load(SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_request_begins_with_its_turn_and_ends() {
    let limit = Duration::from_secs(10);
    let busy = pods(fake::slow(|_| {
        Box::pin(async {
            sleep(Duration::from_secs(9)).await;
            (200, a().1.to_string())
        })
    }));
    let (one, begin) = (gate(), Instant::now());
    let answers = join_all((0..20).map(|_| one.persist_for(limit, || busy.get("a")))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!(begin.elapsed() > limit * 2, "nobody has waited");

    let silent = pods(fake::slow(|_| Box::pin(std::future::pending())));
    let begin = Instant::now();
    let answer = gate().persist_for(limit, || silent.get("a")).await;
    assert_eq!(answer.unwrap_err().message, "no answer within 10 s");
    assert_eq!(begin.elapsed(), limit);

    let refusal = fake::refusal(500, "InternalError", "failed calling webhook");
    let refusing = pods(fake::client(move |_| refusal.clone()));
    let answer = gate().persist_for(limit, || refusing.get("a")).await;
    let message = answer.unwrap_err().message;
    assert_eq!(
        message,
        "not within 10 s; the last answer: failed calling webhook"
    );
}

#[tokio::test(start_paused = true)]
async fn the_pause_is_never_shorter_than_the_api_server_asks() {
    let (code, mut busy) = fake::refusal(429, "TooManyRequests", "later");
    busy["details"] = json!({ "retryAfterSeconds": 7 });
    let pods = answering(vec![(code, busy), a()]);
    let begin = Instant::now();
    gate().persist(|| pods.get("a")).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(7));

    let (gate, begin) = (gate(), Instant::now());
    let response = http::Response::builder()
        .status(503)
        .header("retry-after", "5");
    gate.headers.hear(response.body(()).unwrap());
    let pods = answering(vec![fake::refusal(503, "", "no words of its own"), a()]);
    gate.persist(|| pods.get("a")).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(5));
}

#[test]
fn pauses_differ_so_that_runners_do_not_come_back_in_step() {
    let second = Duration::from_secs(1);
    let pauses: Vec<Duration> = (0..50).map(|_| jittered(second)).collect();
    let in_range = |pause: &Duration| *pause >= second / 2 && *pause <= second;
    assert!(pauses.iter().all(in_range), "{pauses:?}");
    assert!(pauses.iter().any(|pause| *pause != pauses[0]));
}
