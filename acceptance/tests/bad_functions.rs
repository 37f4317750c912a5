//! Functions that misbehave: a clear answer in bounded time and memory, and
//! nothing left running, from both servers.

use std::time::{Duration, Instant};

use acceptance::{LIST, Server, call, evaluate, evaluate_within, image, system};
use proto::EvaluateFunctionResponse;
use tonic::{Code, Status};

/// Both servers' answers to a call of the script `name`.
async fn answers(name: &str, list: &str) -> Vec<Result<EvaluateFunctionResponse, Status>> {
    let mut answers = Vec::new();
    for server in [Server::runner(&[]), Server::wrapper(name)] {
        let begin = Instant::now();
        answers.push(evaluate(server.connect().await, call(name, list)).await);
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{name}: {:?}",
            begin.elapsed()
        );
        let peak = system::peak_kib(server.pid());
        assert!(peak < 64 * 1024, "{name}: {peak} KiB at most");
        server.assert_nothing_left_running();
    }
    answers
}

async fn assert_fails(name: &str, code: Code, words: &[&str]) {
    for answer in answers(name, LIST).await {
        let status = answer.unwrap_err();
        assert_eq!(status.code(), code, "{name}: {status:?}");
        for word in [&image(name)[..]].iter().chain(words) {
            assert!(
                status.message().contains(word),
                "{name}: {}",
                status.message()
            );
        }
    }
}

#[tokio::test]
async fn output_that_is_not_yaml_is_told() {
    assert_fails(
        "writes-broken-yaml",
        Code::Internal,
        &["failed to parse", "it is not YAML"],
    )
    .await;
}

#[tokio::test]
async fn an_alias_bomb_does_not_go_off() {
    assert_fails(
        "writes-alias-bomb",
        Code::Internal,
        &["failed to parse", "\"kind\""],
    )
    .await;
}

#[tokio::test]
async fn output_beyond_the_limit_names_the_flag() {
    let words = ["--max-request-body-size", "exceeds 6291440 bytes"];
    assert_fails("writes-ten-megabytes", Code::ResourceExhausted, &words).await;
}

#[tokio::test]
async fn a_flood_of_log_is_cut() {
    for answer in answers("floods-stderr", LIST).await {
        let answer = answer.unwrap();
        assert_eq!(answer.resource_list, LIST);
        assert!(
            answer.log.len() < 256 * 1024,
            "{} bytes of log",
            answer.log.len()
        );
        assert!(answer.log.starts_with(b"begin\n") && answer.log.ends_with(b"end\n"));
    }
}

#[tokio::test]
async fn writing_before_reading_does_not_block() {
    let list = format!("{LIST}#{}", "x".repeat(2_000_000));
    for answer in answers("writes-before-reading", &list).await {
        assert!(answer.unwrap().resource_list.len() > 1_000_000);
    }
}

#[tokio::test]
async fn never_reading_does_not_block() {
    let list = format!("{LIST}#{}", "x".repeat(5_000_000));
    for answer in answers("never-reads", &list).await {
        assert_eq!(answer.unwrap().resource_list, "kind: ResourceList\n");
    }
}

#[tokio::test]
async fn grandchildren_end_with_their_call() {
    for answer in answers("leaves-grandchildren", LIST).await {
        assert_eq!(answer.unwrap().resource_list, LIST);
    }
}

/// A list that a function may add items to.
const OPEN_LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                         - {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}\n";

#[tokio::test]
async fn what_a_helper_writes_after_the_functions_end_is_part_of_the_list() {
    for answer in answers("leaves-the-last-item-to-a-helper", OPEN_LIST).await {
        let list = answer.unwrap().resource_list;
        let list = String::from_utf8(list.to_vec()).unwrap();
        assert!(list.contains("first") && list.contains("last"), "{list}");
    }
}

#[tokio::test]
async fn a_deadline_before_the_helpers_last_item_is_an_error_that_names_it() {
    let name = "leaves-a-helper";
    for server in [Server::runner(&[]), Server::wrapper(name)] {
        let answer = evaluate_within(&server, call(name, OPEN_LIST), Duration::from_secs(3));
        let status = answer.await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        for word in [
            &image(name)[..],
            "(leaves-a-helper)",
            "standard output open",
        ] {
            assert!(status.message().contains(word), "{}", status.message());
        }
        server.assert_nothing_left_running();
    }
}
