//! Porch's generated client and the real grpc-health-probe against our servers.

use std::{fs, os::unix::fs::symlink, process::Command};

use acceptance::{LIST, Server, image, server::binary};
use interop::{porch_client, real_probe};

fn list_file(server: &Server, list: &str) -> String {
    let path = server.folder.path().join("list.yaml");
    fs::write(&path, list).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn porch_evaluates_a_function() {
    for server in [Server::runner(&[]), Server::wrapper("echo")] {
        let answer = porch_client(
            &server,
            &["call", &image("echo"), &list_file(&server, LIST)],
        );
        assert_eq!(answer.code, "OK", "{answer:?}");
        assert_eq!(answer.resource_list, LIST);
        assert_eq!(answer.log, "a line of log\n");
    }
}

#[test]
fn the_tag_of_porch_1_6_is_understood_and_newer_fields_are_ignored() {
    let server = Server::runner(&[]);
    let file = list_file(&server, LIST);
    for (image, tag, code) in [
        ("test/echo", "v1", "OK"),
        ("test/echo:v7", ">=v1 <v2", "OK"),
        ("test/echo:v1", "", "OK"),
        ("test/echo", ">=v2", "NotFound"),
        ("test/echo", "a b", "InvalidArgument"),
    ] {
        let answer = porch_client(&server, &["call", image, &file, tag]);
        assert_eq!(answer.code, code, "{image} {tag}: {answer:?}");
        if code == "OK" {
            assert_eq!(answer.resource_list, LIST);
        }
    }
}

#[test]
fn porch_hears_why_a_function_failed() {
    let server = Server::runner(&[]);
    let file = list_file(&server, LIST);
    let answer = porch_client(&server, &["call", &image("fails-with-results"), &file]);
    assert_eq!(answer.code, "Internal");
    assert!(
        answer
            .message
            .contains("[error] v1/ConfigMap/shop/settings data.key: must be set")
    );
    assert!(
        answer.message.ends_with("stderr:\na line of log"),
        "{}",
        answer.message
    );
    let details = answer.details.unwrap().join("\n");
    for kind in ["ErrorInfo", "PreconditionFailure", "DebugInfo"] {
        assert!(details.contains(kind), "{details}");
    }
}

#[test]
fn porch_sees_unknown_and_malformed_images_at_once() {
    let server = Server::runner(&[]);
    let file = list_file(&server, LIST);
    for (image, code) in [
        ("example.com/unknown:v1", "NotFound"),
        ("", "InvalidArgument"),
        ("not an image", "InvalidArgument"),
    ] {
        let answer = porch_client(&server, &["call", image, &file]);
        assert_eq!(answer.code, code, "{answer:?}");
        assert!(answer.seconds < 1.0, "{answer:?}");
    }
}

#[test]
fn porch_sends_lists_up_to_the_limit_and_hears_of_larger_ones() {
    let server = Server::runner(&[]);
    let list = format!("{LIST}#{}", "x".repeat(6_000_000));
    let answer = porch_client(
        &server,
        &["call", &image("echo"), &list_file(&server, &list)],
    );
    assert_eq!(
        (answer.code.as_str(), answer.resource_list.len()),
        ("OK", list.len())
    );
    let list = format!("{LIST}#{}", "x".repeat(7_000_000));
    let answer = porch_client(
        &server,
        &["call", &image("echo"), &list_file(&server, &list)],
    );
    assert_eq!(answer.code, "ResourceExhausted", "{}", answer.message);
    assert!(
        answer.message.contains("--max-request-body-size"),
        "{}",
        answer.message
    );
}

#[test]
fn porch_checks_health() {
    for server in [Server::runner(&[]), Server::wrapper("echo")] {
        for service in ["", "evaluator.FunctionEvaluator"] {
            let answer = porch_client(&server, &["health", service]);
            assert_eq!(
                (answer.code.as_str(), answer.log.as_str()),
                ("OK", "SERVING")
            );
        }
    }
}

#[test]
fn the_real_probe_and_ours_agree() {
    let server = Server::runner(&[]);
    let ours = server.folder.path().join("grpc-health-probe");
    symlink(binary("wrapper-server"), &ours).unwrap();
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    let agree = |args: &[&str], code: i32| {
        let mine = Command::new(&ours).args(args).output().unwrap();
        assert_eq!(mine.status.code(), Some(code), "ours: {args:?}");
        assert_eq!(
            real_probe(args).status.code(),
            Some(code),
            "the real one: {args:?}"
        );
    };
    agree(&["-addr", &format!("localhost:{port}")], 0);
    agree(
        &[
            "-addr",
            &server.address(),
            "-service=evaluator.FunctionEvaluator",
        ],
        0,
    );
    agree(&["-addr", &server.address(), "-service=nobody"], 3);
    agree(&["-addr=127.0.0.1:1", "-connect-timeout=500ms"], 2);
    agree(&[], 1);
}
