//! Every row of the verdict table, with the same code and text from the exec
//! runtime and from the wrapper.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use acceptance::{LIST, Server, call, evaluate, evaluate_within, image, server::functions};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// What both servers answer to a call of the script `name`.
async fn failure(name: &str) -> Status {
    let runner = Server::runner(&[]);
    let wrapper = Server::wrapper(name);
    let exec = evaluate(runner.connect().await, call(name, LIST))
        .await
        .unwrap_err();
    let wrapped = evaluate(wrapper.connect().await, call(name, LIST))
        .await
        .unwrap_err();
    assert_eq!(
        (exec.code(), exec.message()),
        (wrapped.code(), wrapped.message())
    );
    assert_eq!(parts(&exec), parts(&wrapped));
    runner.assert_nothing_left_running();
    wrapper.assert_nothing_left_running();
    exec
}

/// The details of a status in a form that can be compared.
fn parts(status: &Status) -> String {
    let mut details = status.get_error_details();
    let metadata: BTreeMap<_, _> = details
        .error_info()
        .unwrap()
        .metadata
        .clone()
        .into_iter()
        .collect();
    details.set_error_info(
        details.error_info().unwrap().reason.clone(),
        "",
        HashMap::new(),
    );
    format!("{metadata:?} {details:?}")
}

#[tokio::test]
async fn a_list_passes_untouched_and_errors_are_logged_not_failed() {
    for name in ["echo", "reports-errors"] {
        let runner = Server::runner(&[]);
        let wrapper = Server::wrapper(name);
        let exec = evaluate(runner.connect().await, call(name, LIST))
            .await
            .unwrap();
        let wrapped = evaluate(wrapper.connect().await, call(name, LIST))
            .await
            .unwrap();
        assert_eq!(exec, wrapped);
        assert_eq!(exec.log, "a line of log\n");
        if name == "echo" {
            assert_eq!(exec.resource_list, LIST);
        } else {
            for server in [runner, wrapper] {
                let line = server.wait_for_log("[error]: not nice");
                assert!(line.contains(&image(name)), "{line}");
            }
        }
    }
}

#[tokio::test]
async fn success_without_a_list_cannot_be_parsed() {
    for (name, reason, log) in [
        ("writes-nothing", "it is empty", "nothing to say"),
        (
            "writes-text",
            "it has no top-level field \"kind\"",
            "a line of log",
        ),
    ] {
        let status = failure(name).await;
        assert_eq!(status.code(), Code::Internal);
        let begin = format!("failed to parse the output of function {:?}", image(name));
        assert!(status.message().starts_with(&begin), "{}", status.message());
        assert!(status.message().contains(reason), "{}", status.message());
        assert!(
            status.message().ends_with(&format!("stderr:\n{log}")),
            "{}",
            status.message()
        );
    }
}

#[tokio::test]
async fn failure_with_results_tells_each_of_them() {
    let status = failure("fails-with-results").await;
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "failed to evaluate function \"test/fails-with-results:v1\": exit code 1\n\
         [error] v1/ConfigMap/shop/settings data.key: must be set\n\
         [warning]: looks old\n\
         stderr:\na line of log"
    );
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().metadata["exit_code"], "1");
    assert_eq!(details.precondition_failure().unwrap().violations.len(), 2);
    assert_eq!(details.debug_info().unwrap().detail, "a line of log");

    let status = failure("fails-with-older-results").await;
    assert!(
        status
            .message()
            .ends_with("exit code 1\n[error]: must be set"),
        "{}",
        status.message()
    );
}

#[tokio::test]
async fn failure_without_results_tells_exit_code_or_signal() {
    for (name, end) in [
        ("fails-silently", "exit code 1"),
        ("fails-with-text", "exit code 3\nstderr:\na line of log"),
        (
            "kills-itself",
            "killed by signal 9 (SIGKILL)\nstderr:\na line of log",
        ),
    ] {
        let status = failure(name).await;
        assert_eq!(status.code(), Code::Internal);
        let begin = format!("failed to evaluate function {:?}: ", image(name));
        assert_eq!(status.message(), begin + end);
    }
    let status = failure("kills-itself").await;
    assert_eq!(
        status.get_error_details().error_info().unwrap().metadata["signal"],
        "9"
    );
}

#[tokio::test]
async fn a_function_that_cannot_start_is_named_with_the_systems_error() {
    let status = failure("cannot-start").await;
    assert_eq!(status.code(), Code::Internal);
    let binary = functions().join("cannot-start");
    assert_eq!(
        status.message(),
        format!(
            "cannot start function \"test/cannot-start:v1\": {}: No such file or directory (os \
             error 2)",
            binary.display()
        )
    );
}

#[tokio::test]
async fn the_deadline_kills_the_function() {
    for server in [Server::runner(&[]), Server::wrapper("hangs")] {
        let begin = std::time::Instant::now();
        let answer = evaluate_within(&server, call("hangs", LIST), Duration::from_secs(3));
        let status = answer.await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(
            status.message(),
            "function \"test/hangs:v1\" did not end in time and was killed\nstderr:\nwaiting"
        );
        server.assert_nothing_left_running();
    }
}

#[tokio::test]
async fn a_caller_without_a_deadline_gets_the_default_one() {
    let runner = Server::runner(&["--evaluation-timeout=1s"]);
    let status = evaluate(runner.connect().await, call("hangs", LIST))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
}
