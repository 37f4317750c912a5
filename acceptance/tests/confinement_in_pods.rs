//! What a function that means harm can do to the wrapper server beside it, in a container
//! that is its own: nothing. Files and network are its pod's to bound.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use acceptance::{LIST, Server, call, evaluate, server::binary, system};
use tempfile::TempDir;
use tonic::{Code, Status};

/// A wrapper without root's privileges, which hardly a container has. Its files are copies,
/// because the building folder may be root's alone.
fn wrapper() -> Server {
    wrapper_with(None)
}

/// The same, with directories for calls in this folder.
fn wrapper_with(temporary: Option<&str>) -> Server {
    let folder = TempDir::new().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let [server, hostile] = ["wrapper-server", "hostile"].map(|name| folder.path().join(name));
    system::copy_program(binary("wrapper-server"), &server);
    system::copy_program(env!("CARGO_BIN_EXE_hostile"), &hostile);
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=10001", "--regid=10001", "--clear-groups"]);
        command.arg(server);
        command
    } else {
        Command::new(server)
    };
    command
        .args(["--port=0", "--started-ahead=0", "--"])
        .arg(hostile);
    let shared = folder.path().join("tmp");
    fs::create_dir(&shared).expect("a folder");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).expect("a mode");
    command.env("TMPDIR", shared);
    if let Some(temporary) = temporary {
        command.env("WRAPPER_SERVER_TEMPORARY", temporary);
    }
    Server::start(command, folder)
}

async fn attempt(server: &Server, what: &str) -> Result<String, Status> {
    let list = format!("{LIST}# try: {what}\n");
    let answer = evaluate(server.connect().await, call("hostile", list)).await?;
    Ok(String::from_utf8_lossy(&answer.resource_list).into_owned())
}

/// The attempt fails for the reason given, and the server goes on.
async fn assert_stopped(server: &Server, what: &str, words: &str) -> Status {
    let status = attempt(server, what).await.expect_err(what);
    assert!(status.message().contains(words), "{what}: {status:?}");
    attempt(server, "nothing").await.expect("the next call");
    server.assert_nothing_left_running();
    status
}

#[tokio::test]
async fn the_wrapper_cannot_be_signalled() {
    assert_stopped(&wrapper(), "signal", "Operation not permitted").await;
}

#[tokio::test]
#[ignore = "needs perl"]
async fn the_wrapper_cannot_be_traced() {
    let words = "ptrace: Operation not permitted";
    assert_stopped(&wrapper(), "ptrace", words).await;
}

#[tokio::test]
async fn the_wrapper_cannot_be_looked_into() {
    let server = wrapper();
    for what in ["runner environ", "runner mem"] {
        assert_stopped(&server, what, "Permission denied").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_without_end_are_ended() {
    let server = wrapper();
    let status = assert_stopped(&server, "fork 10", "processes, and may have 256").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_million_files_cannot_be_opened() {
    assert_stopped(&wrapper(), "open 1000000", "Too many open files").await;
}

#[tokio::test]
async fn a_daemon_without_environment_ends_with_its_call() {
    let server = wrapper();
    // It was alive when the function answered.
    let list = attempt(&server, "daemon").await.expect("a daemon");
    let (_, pid) = list.trim_end().rsplit_once("a daemon: ").expect("a daemon");
    system::wait_until("the daemon", || {
        // It has no command line any more when it only waits to be reaped.
        match fs::read_to_string(format!("/proc/{pid}/cmdline")) {
            Ok(line) if line.contains("daemon-stays") => Err("it still runs".into()),
            _ => Ok(()),
        }
    });
    server.assert_nothing_left_running();
}

#[tokio::test]
async fn what_a_container_allows_stays_allowed() {
    let server = wrapper();
    let folder = TempDir::new().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
    let write = format!("write {}", folder.path().join("file").display());
    attempt(&server, &write).await.expect("its own files");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = format!("tcp {}", listener.local_addr().expect("an address"));
    attempt(&server, &tcp).await.expect("its own network");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_for_temporary_files_costs_no_call() {
    let folder = TempDir::new().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
    let beside_others = folder.path().display().to_string();
    // Not there, not a path from the root, and one beside which anybody may add something.
    for unusable in ["/there/is/none", "relative", &beside_others] {
        let server = wrapper_with(Some(unusable));
        let answer = attempt(&server, "temporary 0").await.expect("a call");
        let path = server.folder.path().join("tmp/secret");
        let path = path.display().to_string();
        assert!(answer.contains(&path), "{unusable}: {answer}");
    }
}
