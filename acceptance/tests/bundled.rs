//! Functions that are part of the runner.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use acceptance::{Server, call, evaluate, server::binary};
use tonic::Code;

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a # a comment
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
  data:
    namespace: prod
";

#[tokio::test]
async fn a_config_may_name_a_bundled_function() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    let image = acceptance::image("moved");
    server.replace_config(&format!(
        "functions:\n- function: set-namespace\n  images: ['{image}']\n"
    ));
    server.wait_for_log("1 images");
    let answer = evaluate(channel, call("moved", LIST)).await.unwrap();
    let list = String::from_utf8(answer.resource_list.to_vec()).unwrap();
    assert!(
        list.contains("    name: a # a comment\n    namespace: prod\n"),
        "{list}"
    );
}

#[tokio::test]
async fn what_a_config_does_not_name_is_answered_by_a_bundled_release() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    let mut call = call("moved", LIST);
    call.image = "gcr.io/kpt-fn/set-namespace:v0.4.5".to_owned();
    let answer = evaluate(channel, call).await.unwrap();
    let list = String::from_utf8(answer.resource_list.to_vec()).unwrap();
    assert!(list.contains("namespace: prod"), "{list}");
    server.wait_for_log("set-namespace@v0.4.5");
}

#[tokio::test]
async fn the_log_says_which_release_failed() {
    let server = Server::runner(&[]);
    let mut call = call("moved", acceptance::LIST);
    call.image = "set-namespace:v0.4".to_owned();
    let status = evaluate(server.connect().await, call).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal, "{status:?}");
    let logged = server.wait_for_log("failed");
    assert!(
        logged.contains("answered_by=\"set-namespace@v0.4.6\""),
        "{logged}"
    );
}

#[tokio::test]
async fn latest_and_mirrors_are_answered_as_the_operator_says() {
    let asked = |image: &'static str, args: &'static [&str]| async {
        let server = Server::runner(args);
        let mut call = call("moved", LIST);
        call.image = image.to_owned();
        evaluate(server.connect().await, call).await
    };
    let latest = "gcr.io/kpt-fn/set-namespace:latest";
    let unstable = "gcr.io/kpt-fn/set-namespace:unstable";
    let mirrored = "mirror.example/fn/set-namespace:v0.4.5";
    asked(latest, &[]).await.unwrap();
    asked(unstable, &[]).await.unwrap();
    asked(mirrored, &["--bundled-prefixes=mirror.example/fn"])
        .await
        .unwrap();
    for (image, args) in [
        (latest, &["--bundled-latest=never"][..]),
        (unstable, &["--bundled-latest=never"]),
        (mirrored, &[]),
    ] {
        let status = asked(image, args).await.unwrap_err();
        assert_eq!(status.code(), Code::NotFound, "{image}: {status:?}");
    }
}

#[tokio::test]
async fn the_flag_turns_them_off() {
    let server = Server::runner(&["--bundled-functions=false"]);
    let channel = server.connect().await;
    let image = acceptance::image("moved");
    server.replace_config(&format!(
        "functions:\n- function: set-namespace\n  images: ['{image}']\n"
    ));
    server.wait_for_log("\"set-namespace\" is disabled");
    let status = evaluate(channel, call("moved", LIST)).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test]
async fn a_known_digest_is_answered_by_its_release() {
    let server = Server::runner(&[]);
    let mut known = call("moved", LIST);
    let digest = "744d6bee447d42891a0ae09fa33f0dd8df43fdb71f6df3eecc0c1a4756f53b0e";
    known.image = format!("gcr.io/kpt-fn/set-namespace@sha256:{digest}");
    evaluate(server.connect().await, known).await.unwrap();
    server.wait_for_log("answered_by=\"set-namespace@v0.4.2\"");
    let mut unknown = call("moved", LIST);
    unknown.image = format!(
        "gcr.io/kpt-fn/set-namespace@sha256:{}",
        digest.replace('7', "8")
    );
    let status = evaluate(server.connect().await, unknown).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound, "{status:?}");
}

/// Runs a bundled function by hand: its exit code, and what it writes.
fn by_hand(name: &str, list: &str) -> (Option<i32>, String) {
    let mut child = Command::new(binary("function-runner"))
        .args(["fn", name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A name that is refused is refused before the list is read.
    let _ = stdin.write_all(list.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn a_release_by_hand_is_that_release_and_a_name_alone_the_newest() {
    // v0.4.5 reports a wrong configuration, v0.4.6 fails.
    let wrong = LIST.replace("namespace: prod", "other: prod");
    let (code, reported) = by_hand("set-namespace@v0.4.5", &wrong);
    assert_eq!(code, Some(0), "{reported}");
    assert!(reported.contains("severity: error"), "{reported}");
    for newest in ["set-namespace@v0.4.6", "set-namespace"] {
        let (code, failed) = by_hand(newest, &wrong);
        assert_eq!(code, Some(1), "{newest}: {failed}");
    }
    let (code, written) = by_hand("set-namespace@v9.9.9", LIST);
    assert_eq!((code, written.as_str()), (Some(2), ""));
}

#[test]
fn inspect_names_the_release_that_answers_whether_or_not_the_registry_does() {
    for (image, release) in [
        ("gcr.io/kpt-fn/set-namespace:v0.4.1", "set-namespace@v0.4.1"),
        ("gcr.io/kpt-fn/set-namespace:v0.4", "set-namespace@v0.4.5"),
        ("set-namespace:v0.4", "set-namespace@v0.4.6"),
        ("set-namespace:latest", "set-namespace@v0.4.6"),
    ] {
        let output = Command::new(binary("function-runner"))
            .args(["inspect", image, "--timeout=1s"])
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let line = format!("Bundled:     {release} answers for it\n");
        assert!(shown.contains(&line), "{image}: {shown}");
    }
}

#[test]
fn a_function_runs_by_hand() {
    let (code, written) = by_hand("set-namespace", LIST);
    assert_eq!(code, Some(0));
    assert!(written.contains("namespace: prod"), "{written}");
    let listed = Command::new(binary("function-runner"))
        .args(["fn", "list"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let line = listed
        .lines()
        .find(|line| line.starts_with("set-namespace"));
    let has_release = line.is_some_and(|line| line.contains(" v0.4.5"));
    assert!(has_release, "{listed}");
    assert!(listed.lines().all(|line| line.len() <= 80), "{listed}");
}
