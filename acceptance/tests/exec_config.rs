//! The exec runtime's configuration: read at start, re-read when it changes.

use std::process::Command;

use acceptance::{
    LIST, Server, call, evaluate, image,
    server::{binary, exec_config, functions},
};
use tonic::Code;

#[tokio::test]
async fn a_changed_file_is_used_without_a_restart() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    let new = call("new", LIST);
    let status = evaluate(channel.clone(), new.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let added = format!("- function: echo\n  images: ['{}']\n", image("new"));
    server.replace_config(&(exec_config() + &added));
    server.wait_for_log(&format!(
        "{} images",
        exec_config().matches("images:").count() + 1
    ));
    assert_eq!(evaluate(channel, new).await.unwrap().resource_list, LIST);
}

#[tokio::test]
async fn a_bad_new_version_keeps_the_old_one_and_says_so() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    server.replace_config("functions: {");
    let line = server.wait_for_log("the version read before stays in use");
    assert!(line.contains("config.yaml"), "{line}");
    assert!(evaluate(channel, call("echo", LIST)).await.is_ok());
}

#[tokio::test]
async fn a_function_that_cannot_be_run_is_told_and_left_to_other_runtimes() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    server.replace_config(
        "functions:\n- function: ../functions/echo\n  images: [test/outside:v1]\n\
         - function: missing\n  images: [test/missing:v1]\n",
    );
    server.wait_for_log("\"../functions/echo\" is disabled");
    server.wait_for_log("\"missing\" is disabled");
    for name in ["outside", "missing"] {
        let status = evaluate(channel.clone(), call(name, LIST))
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::NotFound);
    }
}

/// Starts the runner when it must not start, and returns its exit code and complaint.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    refused_with(args, &[])
}

fn refused_with(args: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = Command::new(binary("function-runner"))
        .args(args)
        .env_remove("WRAPPER_SERVER_IMAGE")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_file_that_was_asked_for_must_be_there_and_right() {
    let (code, told) = refused(&[
        "--disable-runtimes=pod",
        "--port=0",
        "--config=/no/such/file",
    ]);
    assert_eq!(code, Some(1));
    assert!(
        told.contains("there is no file /no/such/file, which --config names"),
        "{told}"
    );
    let not_yaml = format!("--config={}", functions().join("writes-text").display());
    let (code, told) = refused(&["--disable-runtimes=pod", "--port=0", &not_yaml]);
    assert_eq!(code, Some(1));
    assert!(
        told.contains("cannot parse the exec runtime's configuration"),
        "{told}"
    );
}

#[test]
fn the_pod_runtime_says_what_it_needs_and_how_to_do_without() {
    let (code, told) = refused(&["--port=0"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("WRAPPER_SERVER_IMAGE"), "{told}");
    assert!(told.contains("--disable-runtimes=pod"), "{told}");

    let environment = [
        ("WRAPPER_SERVER_IMAGE", "example.com/wrapper:v1"),
        ("KUBECONFIG", "/no/such/file"),
    ];
    let (code, told) = refused_with(&["--port=0"], &environment);
    assert_eq!(code, Some(1));
    assert!(told.contains("set KUBECONFIG"), "{told}");
    assert!(told.contains("/no/such/file"), "{told}");
    assert!(told.contains("--disable-runtimes=pod"), "{told}");
}

#[test]
fn a_command_line_that_cannot_be_understood_ends_with_code_2() {
    for (args, words) in [
        (
            &["--port=many"][..],
            "invalid value \"many\" for flag --port",
        ),
        (&["--no-such-flag"], "unknown flag --no-such-flag"),
        (
            &["-warm-up-pod-cache", "false"],
            "unexpected argument \"false\"",
        ),
        (&["--pod-ttl"], "flag --pod-ttl needs a value"),
    ] {
        let (code, told) = refused(args);
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let wrapper = |args: &[&str]| {
        let output = Command::new(binary("wrapper-server"))
            .args(args)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for args in [&[][..], &["--port=9446"], &["--"], &["--", ""]] {
        let (code, told) = wrapper(args);
        assert_eq!(code, Some(2));
        assert!(told.contains("no entrypoint"), "{told}");
    }
    assert_eq!(wrapper(&["--port=x", "--", "true"]).0, Some(2));
}
