//! What people and kubelets run: `function-runner eval` and `grpc-health-probe`.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output, Stdio},
};

use acceptance::{
    Server,
    server::{binary, functions},
    system,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

fn eval(server: &Server, args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(binary("function-runner"));
    command
        .args(["eval", "--address", &server.address()])
        .args(args);
    fed(&mut command, stdin, |_| {})
}

/// What comes of a command that is given this; `meanwhile` sees its pid.
fn fed(command: &mut Command, stdin: &str, meanwhile: impl FnOnce(u32)) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without reading.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    meanwhile(child.id());
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

/// `eval` without a server, in a folder with a `config.yaml` that is none of a runner's;
/// `meanwhile` sees its pid. It leaves nothing there.
fn eval_here_while(args: &[&str], stdin: &str, meanwhile: impl FnOnce(u32)) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.yaml"), "kind: Unrelated\n").unwrap();
    let mut command = Command::new(binary("function-runner"));
    command
        .arg("eval")
        .args(args)
        .current_dir(folder.path())
        .env("TMPDIR", folder.path());
    let output = fed(&mut command, stdin, meanwhile);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    output
}

fn eval_here(args: &[&str], stdin: &str) -> Output {
    eval_here_while(args, stdin, |_| {})
}

/// Flags that name an executable as `example.com/mine:v1`.
fn mine(folder: &TempDir, name: &str) -> [String; 3] {
    let config = folder.path().join("mine.yaml");
    let entry = format!("functions:\n- function: {name}\n  images: [example.com/mine:v1]\n");
    fs::write(&config, entry).unwrap();
    [
        "--image=example.com/mine:v1".to_owned(),
        format!("--config={}", config.display()),
        format!("--functions={}", functions().display()),
    ]
}

#[test]
fn eval_needs_no_server_for_bundled_functions() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let args = ["--image=set-namespace:v0.4.5", "-", "--", "namespace=prod"];
    let output = eval_here(&args, object);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        text(&output.stdout),
        format!("{object}  namespace: prod\n"),
        "{output:?}"
    );
    let output = eval_here(&["--image=example.com/unknown:v1"], object);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("example.com/unknown:v1"), "{told}");
}

#[test]
fn eval_needs_no_server_for_configured_executables() {
    let folder = TempDir::new().unwrap();
    let flags = mine(&folder, "echo");
    let output = eval_here(&flags.each_ref().map(String::as_str), "kind: A\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "kind: A\n");
    let missing = "--config=/missing.yaml";
    let output = eval_here(&["--image=example.com/mine:v1", missing], "kind: A\n");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("/missing.yaml"), "{output:?}");
}

#[test]
fn an_interrupted_eval_leaves_no_process_and_no_file() {
    let folder = TempDir::new().unwrap();
    let flags = mine(&folder, "hangs");
    let mut started = Vec::new();
    let interrupt = |pid: u32| {
        system::wait_until("a function", || {
            started = system::descendants(pid);
            let is_there = started.iter().any(|(_, name)| name.contains("hangs"));
            is_there.then_some(()).ok_or(format!("{started:?}"))
        });
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    };
    let flags = flags.each_ref().map(String::as_str);
    let output = eval_here_while(&flags, "kind: A\n", interrupt);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("interrupted"), "{output:?}");
    for (pid, name) in started {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{name}");
    }
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

#[test]
fn a_help_that_nobody_reads_to_its_end_is_no_error() {
    for words in [&["--help"][..], &["eval", "--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(binary("function-runner"))
            .args(words)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stderr), "");
    }
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
