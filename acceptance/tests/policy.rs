//! `--image-policy` as callers meet it. Signatures are tried in `interop`, with cosign.

use std::{fs, process::Command};

use acceptance::{LIST, Server, call, evaluate, server::binary};
use tempfile::TempDir;
use tonic::{Code, Status};

/// A folder with a policy in it, and the flag for it.
fn policy(text: &str) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("policy.yaml");
    fs::write(&path, text).unwrap();
    let flag = format!("--image-policy={}", path.display());
    (folder, flag)
}

async fn refusal(server: &Server, name: &str) -> Status {
    let answer = evaluate(server.connect().await, call(name, LIST)).await;
    answer.expect_err("refused")
}

#[tokio::test]
async fn what_the_policy_does_not_allow_is_refused_with_the_rules_name_and_what_to_do() {
    let (_folder, flag) = policy(
        "rules:\n\
         - {name: no-echo, deny: ['docker.io/test/echo']}\n\
         - {name: pinned, allow: ['docker.io/test/says-who'], requireDigest: true}\n\
         - {name: pods, allow: ['docker.io/test/hangs'], runtimes: [pod]}\n\
         - {name: some, allow: ['docker.io/test/reports-*']}\n",
    );
    let server = Server::runner(&[&flag]);
    for (name, words) in [
        ("echo", &["rule \"no-echo\"", "ask"][..]),
        (
            "says-who",
            &["rule \"pinned\"", "docker.io/test/says-who@sha256:"],
        ),
        ("hangs", &["rule \"pods\"", "exec"]),
        ("fails-silently", &["no rule", "ask"]),
    ] {
        let status = refusal(&server, name).await;
        assert_eq!(status.code(), Code::PermissionDenied, "{status}");
        for word in words {
            assert!(
                status.message().contains(word),
                "{name}: {}",
                status.message()
            );
        }
    }
    let allowed = evaluate(server.connect().await, call("reports-errors", LIST)).await;
    let code = allowed.map_or_else(|status| status.code(), |_| Code::Ok);
    assert_ne!(code, Code::PermissionDenied);
    // A function that nobody knows is not found, as ever: the policy says nothing of it.
    let unknown = refusal(&server, "nobody-knows").await;
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn what_a_tag_or_a_constraint_stands_for_is_judged_and_not_the_image_as_it_was_sent() {
    let (folder, flag) = policy(
        "rules:\n\
         - {name: no-second, deny: ['docker.io/test/echo:v2']}\n\
         - {name: rest, allow: ['**']}\n",
    );
    let config = folder.path().join("config.yaml");
    let images = "['test/echo:v1', 'test/echo:v2']";
    fs::write(
        &config,
        format!("functions: [{{function: echo, images: {images}}}]"),
    )
    .unwrap();
    let config = format!("--config={}", config.display());
    let server = Server::runner(&[&flag, &config]);
    for (image, tag, is_allowed) in [
        ("test/echo", ">=v1", false),
        ("test/echo:v1", "*", false),
        ("test/echo:v1", "v2", false),
        ("test/echo", "<v2", true),
        ("test/echo:v2", "~1", true),
        ("test/echo:v2", "v1", true),
    ] {
        let mut request = call("echo", LIST);
        (request.image, request.tag) = (image.into(), tag.into());
        let answer = evaluate(server.connect().await, request).await;
        let told = match answer {
            Ok(_) => {
                assert!(is_allowed, "{image} with {tag:?} ran");
                continue;
            }
            Err(status) => status,
        };
        assert!(!is_allowed, "{image} with {tag:?}: {told}");
        assert_eq!(told.code(), Code::PermissionDenied, "{told}");
        let words = told.message();
        assert!(
            words.contains("\"test/echo:v2\"") && words.contains("rule \"no-second\""),
            "{words}"
        );
    }
}

#[tokio::test]
async fn bundled_functions_have_a_rule_of_their_own() {
    let mut request = call("echo", LIST);
    request.image = "set-namespace:v0.4.5".into();
    for (text, expected) in [
        ("rules: []", None),
        ("bundled: deny\nrules: []", Some(Code::PermissionDenied)),
    ] {
        let (_folder, flag) = policy(text);
        let server = Server::runner(&[&flag]);
        let answer = evaluate(server.connect().await, request.clone()).await;
        let code = answer.err().map(|status| status.code());
        assert_eq!(
            code == Some(Code::PermissionDenied),
            expected.is_some(),
            "{text}: {code:?}"
        );
    }
}

#[tokio::test]
async fn a_changed_policy_counts_at_once_and_a_bad_one_changes_nothing() {
    let (folder, flag) = policy("rules: [{name: all, allow: ['**']}]");
    let server = Server::runner(&[&flag]);
    let path = folder.path().join("policy.yaml");
    let channel = server.connect().await;
    assert!(evaluate(channel.clone(), call("echo", LIST)).await.is_ok());
    fs::write(&path, "rules: [{name: none, deny: ['**']}, {").unwrap();
    server.wait_for_log("the version read before stays in use");
    assert!(evaluate(channel.clone(), call("echo", LIST)).await.is_ok());
    // More rules than before, so that the line in the log is a new one.
    fs::write(
        &path,
        "rules: [{name: none, deny: ['**']}, {name: b, deny: ['**']}]",
    )
    .unwrap();
    server.wait_for_log("rules=2");
    let status = refusal(&server, "echo").await;
    assert!(
        status.message().contains("rule \"none\""),
        "{}",
        status.message()
    );
}

#[test]
fn a_policy_that_cannot_be_meant_does_not_let_the_runner_start() {
    let (_folder, flag) = policy("rules: [{name: a, allow: [ubuntu]}]");
    for (flag, words) in [
        (flag.as_str(), "rule \"a\": the pattern \"ubuntu\""),
        ("--image-policy=/nonexistent/policy.yaml", "cannot read"),
    ] {
        let output = Command::new(binary("function-runner"))
            .args(["--port=0", "--disable-runtimes=pod", flag])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_policy_can_be_tried_without_a_server() {
    let (folder, _) = policy("rules: [{name: none, deny: ['**']}]");
    let path = folder.path().join("policy.yaml");
    let inspect = |image: &str| {
        let output = Command::new(binary("function-runner"))
            .args(["inspect", image, "--policy"])
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = inspect("10.0.0.1:1/fn:v1");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("Policy:      refused: rule \"none\""),
        "{said}"
    );
    assert!(
        said.trim_end().ends_with("Requests:"),
        "nobody was asked: {said}"
    );
    let (code, said) = inspect("set-namespace:v0.4.5");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("bundled function may answer"), "{said}");
}
