//! What people and kubelets run: `function-runner eval` and `grpc-health-probe`.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    process::{Command, Output, Stdio},
};

use acceptance::{Server, server::binary};

fn eval(server: &Server, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(binary("function-runner"))
        .args(["eval", "--address", &server.address()])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without reading.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn eval_prints_the_resources_and_tells_the_rest_on_stderr() {
    let server = Server::runner(&[]);
    let stream = "# a comment\nkind: A # why\n---\nkind: B\ndata: |\n  x\n\n  y\n";
    let output = eval(
        &server,
        &["--image", "test/echo:v1", "-", "--", "key=value"],
        stream,
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), stream);
    assert_eq!(text(&output.stderr), "log | a line of log\n");

    let output = eval(&server, &["--image", "test/reports-errors:v1"], stream);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "[error]: not nice\nlog | a line of log\n"
    );
}

#[test]
fn eval_takes_a_package_directory() {
    let server = Server::runner(&[]);
    fs::write(server.folder.path().join("Kptfile"), "kind: Kptfile\n").unwrap();
    fs::remove_file(server.folder.path().join("config.yaml")).unwrap();
    fs::write(server.folder.path().join("a.yaml"), "kind: A\n").unwrap();
    let folder = server.folder.path().to_str().unwrap();
    let output = eval(&server, &[folder, "--image=test/echo:v1"], "");
    assert_eq!(text(&output.stdout), "kind: Kptfile\n---\nkind: A\n");
}

#[test]
fn eval_takes_a_version_constraint_in_place_of_a_tag() {
    let server = Server::runner(&[]);
    let stream = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let output = eval(&server, &["--image=test/echo", "--tag", ">=v1 <v2"], stream);
    assert!(output.status.success(), "{output:?}");
    let output = eval(&server, &["--image=test/echo:v1", "--tag=>=v2"], stream);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("no tag of \"test/echo\" satisfies"), "{told}");
}

#[test]
fn eval_tells_failures_and_sets_the_exit_code() {
    let server = Server::runner(&[]);
    let output = eval(
        &server,
        &["--image", "test/fails-with-results:v1"],
        "kind: A\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "Internal: failed to evaluate function \"test/fails-with-results:v1\": exit code 1\n\
         [error] v1/ConfigMap/shop/settings data.key: must be set\n[warning]: looks old\n\
         stderr:\na line of log\n"
    );
    let output = eval(
        &server,
        &["--image=x", "--address=127.0.0.1:1"],
        "kind: A\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot reach a function runner at 127.0.0.1:1"));
    assert_eq!(eval(&server, &["--imgae=x"], "").status.code(), Some(2));
    let output = eval(&server, &["--help"], "");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("Examples:"));
}

/// The wrapper's binary under its other name.
#[test]
fn an_unknown_command_is_reported_as_such_and_starts_no_server() {
    let output = Command::new(binary("function-runner"))
        .arg("evla")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("unknown command \"evla\"; there are eval, inspect, fn, status"),
        "{said}"
    );
}

fn probe(server: &Server, args: &[&str]) -> (Option<i32>, String) {
    let path = server.folder.path().join("grpc-health-probe");
    if !path.exists() {
        symlink(binary("wrapper-server"), &path).unwrap();
    }
    let output = Command::new(path).args(args).output().unwrap();
    (output.status.code(), text(&output.stderr).to_owned())
}

#[test]
fn the_probe_tells_healthy_from_unhealthy() {
    let server = Server::runner(&[]);
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    for host in ["localhost", "127.0.0.1", "[::1]", ""] {
        let (code, told) = probe(&server, &["-addr", &format!("{host}:{port}")]);
        assert_eq!(
            (code, told.as_str()),
            (Some(0), "status: SERVING\n"),
            "{host}"
        );
    }
    let named = [
        "--addr",
        &server.address(),
        "--service=evaluator.FunctionEvaluator",
    ];
    assert_eq!(probe(&server, &named).0, Some(0));
    assert_eq!(
        probe(&server, &["-addr", &server.address(), "-service", "nobody"]).0,
        Some(3)
    );
    assert_eq!(probe(&server, &["-addr=127.0.0.1:1"]).0, Some(2));
    assert_eq!(probe(&server, &[]).0, Some(1));
    assert_eq!(probe(&server, &["-addr=nonsense"]).0, Some(1));
}
