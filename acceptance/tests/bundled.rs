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

#[test]
fn a_function_runs_by_hand() {
    let mut child = Command::new(binary("function-runner"))
        .args(["fn", "set-namespace"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(LIST.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("namespace: prod")
    );
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
