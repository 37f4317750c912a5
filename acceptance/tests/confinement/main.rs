//! What a function that means harm can do in the exec runtime: nothing to the runner, to
//! its secrets or to its neighbours. Each attempt fails, its caller hears why, others go on.

mod hostile;

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    path::Path,
    process::Command,
    time::Duration,
};

use acceptance::{LIST, Server, call, evaluate, evaluate_within, server::binary, system};
use hostile::{SECRETS, assert_done, assert_stopped, attempt, runner, runner_through};
use tempfile::TempDir;
use tonic::Code;

async fn assert_secret(name: &str) {
    let server = runner("", &["--confine=required"]);
    server.wait_for_log("functions are confined: Landlock ABI");
    let path = server.folder.path().join(name);
    let read = format!("read {}", path.display());
    assert_stopped(&server, &read, "Permission denied").await;
}

#[tokio::test]
async fn the_token_cannot_be_read() {
    assert_secret("token").await;
}

#[tokio::test]
async fn the_docker_config_cannot_be_read() {
    assert_secret(".dockerconfigjson").await;
}

#[tokio::test]
async fn without_confinement_everything_can_be_read_which_shows_that_these_tests_look() {
    let server = runner("", &["--confine=off"]);
    server.wait_for_log("functions are not confined");
    for (name, content) in SECRETS {
        let path = server.folder.path().join(name);
        let read = assert_done(&server, &format!("read {}", path.display())).await;
        assert!(read.contains(content), "{read}");
    }
    let environment = assert_done(&server, "runner environ").await;
    assert!(environment.contains("a-secret-value"), "{environment}");
}

#[tokio::test]
async fn what_the_configuration_names_can_be_read() {
    let shared = TempDir::new().expect("a folder");
    fs::write(shared.path().join("schema"), "a-schema").expect("a file");
    let settings = format!("  readPaths: [{}]\n", shared.path().display());
    let server = runner(&settings, &[]);
    let path = shared.path().join("schema");
    let read = assert_done(&server, &format!("read {}", path.display())).await;
    assert!(read.contains("a-schema"), "{read}");
    let write = format!("write {}", path.display());
    assert_stopped(&server, &write, "Permission denied").await;
}

#[tokio::test]
async fn the_runners_environment_and_memory_cannot_be_read() {
    let server = runner("", &[]);
    for what in ["runner environ", "runner mem"] {
        assert_stopped(&server, what, "Permission denied").await;
    }
}

#[tokio::test]
async fn the_environment_of_process_1_cannot_be_read() {
    let server = runner("", &[]);
    assert_stopped(&server, "read /proc/1/environ", "Permission denied").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn temporary_files_are_out_of_reach_for_other_calls_and_gone_after_their_own() {
    let server = runner("", &[]);
    let temporary = server.folder.path().join("tmp");
    let channel = server.connect().await;
    // Its caller goes when the other call has tried, however long that takes.
    let list = format!("{LIST}# try: temporary 300\n");
    let writer = tokio::spawn(evaluate(channel, call("hostile", list)));
    let mut found = None;
    system::wait_until("the other call's file", || {
        found = find(&temporary, "secret");
        found.is_some().then_some(()).ok_or_else(String::new)
    });
    let path = found.expect("a path");
    for what in ["read", "write"] {
        let tried = attempt(&server, &format!("{what} {}", path.display())).await;
        let status = tried.expect_err("another call's file was reached");
        assert!(status.message().contains("Permission denied"), "{status:?}");
    }
    assert!(!writer.is_finished(), "the file's own call has ended");
    writer.abort();
    nothing_is_left(&temporary);
    // The same after a call that ended by itself.
    assert_done(&server, "temporary 0").await;
    nothing_is_left(&temporary);
}

fn nothing_is_left(temporary: &Path) {
    system::wait_until("temporary files left", || match find(temporary, "secret") {
        None => Ok(()),
        Some(path) => Err(path.display().to_string()),
    });
}

fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find(&path, name)
        } else {
            path.ends_with(name).then_some(path)
        }
    })
}

#[tokio::test]
async fn the_runner_cannot_be_signalled() {
    let server = runner("", &[]);
    assert_stopped(&server, "signal", "Operation not permitted").await;
}

#[tokio::test]
#[ignore = "needs perl"]
async fn the_runner_cannot_be_traced() {
    let server = runner("", &[]);
    let words = "ptrace: Operation not permitted";
    assert_stopped(&server, "ptrace", words).await;
}

#[tokio::test]
#[ignore = "needs root and perl"]
async fn without_confinement_the_runner_can_be_traced_which_shows_that_it_is_tried() {
    let server = runner("", &["--confine=off"]);
    assert_done(&server, "ptrace").await;
}

#[tokio::test]
async fn connections_by_tcp_need_a_word_in_the_configuration() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = format!("tcp {}", listener.local_addr().expect("an address"));
    assert_needs_network(&tcp).await;
}

#[tokio::test]
async fn packets_by_udp_need_a_word_in_the_configuration() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let udp = format!("udp {}", socket.local_addr().expect("an address"));
    assert_needs_network(&udp).await;
}

async fn assert_needs_network(what: &str) {
    let server = runner("", &[]);
    assert_stopped(&server, what, "Operation not permitted").await;
    let server = runner("  network: true\n", &[]);
    assert_done(&server, what).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_starts_processes_without_end_is_ended() {
    let server = runner("  processes: 50\n", &[]);
    let status = assert_stopped(&server, "fork 10", "processes, and may have 50").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_function_that_fills_the_disk_is_ended_and_its_files_are_removed() {
    let server = runner("", &[]);
    let status = assert_stopped(&server, "fill", "MiB of temporary files").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    let left = || find(&server.folder.path().join("tmp"), "1");
    system::wait_until("temporary files left", || {
        left().is_none().then_some(()).ok_or_else(String::new)
    });
}

#[tokio::test]
async fn a_function_writes_nowhere_but_to_its_temporary_files() {
    let server = runner("", &[]);
    let elsewhere = server.folder.path().join("elsewhere");
    let write = format!("write {}", elsewhere.display());
    assert_stopped(&server, &write, "Permission denied").await;
}

const MEMORY: &str = "  memory: 200Mi\n";
const TOO_MUCH: &str = "MiB of memory, and may have 200 MiB";

#[tokio::test]
async fn a_function_that_takes_memory_without_end_in_one_process_is_ended() {
    let server = runner(MEMORY, &[]);
    // Less than the 1224 MiB that it may map: beyond that the kernel stops it, if the runner looks
    // late.
    let status = assert_stopped(&server, "allocate 1000", TOO_MUCH).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
}

/// None of its processes has too much.
#[tokio::test]
async fn a_function_that_takes_memory_without_end_in_many_processes_is_ended() {
    let server = runner(MEMORY, &[]);
    let status = assert_stopped(&server, "allocate-in-many 10 100", TOO_MUCH).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn a_function_without_a_bound_of_its_own_gets_no_more_memory_than_there_is() {
    let server = runner("", &["--memory-budget=400Mi"]);
    let status = assert_stopped(&server, "allocate-in-many 10 100", "--memory-budget").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_environment_ends_with_its_call() {
    let server = runner("", &["--confine=auto"]);
    let daemon = left_behind(&server).await;
    has_ended(daemon).await;
    server.assert_nothing_left_running();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_environment_ends_with_its_call_while_others_run() {
    assert_ends_beside_another_call("--confine=auto").await;
}

/// It is not dumpable there: nobody keeps it from that.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_ends_with_its_call_while_others_run_also_without_confinement() {
    assert_ends_beside_another_call("--confine=off").await;
}

async fn assert_ends_beside_another_call(mode: &str) {
    let server = runner("", &[mode]);
    let long = format!("{LIST}# try: stay\n");
    let long = evaluate_within(&server, call("hostile", long), Duration::from_secs(300));
    let daemon = async {
        one_process_is_left(&server, "the long call").await;
        let daemon = left_behind(&server).await;
        has_ended(daemon).await;
        one_process_is_left(&server, "only the long call").await;
    };
    // Cancel-safe: the long call ends with the server.
    tokio::select! {
        () = daemon => {}
        answer = long => panic!("{answer:?}"),
    }
}

/// The daemon that a call has left. It was alive when the function answered.
async fn left_behind(server: &Server) -> u32 {
    let list = assert_done(server, "daemon").await;
    let (_, pid) = list.trim_end().rsplit_once("a daemon: ").expect("a daemon");
    pid.parse().expect("its number")
}

/// Waits beside the calls, which go on meanwhile.
async fn has_ended(daemon: u32) {
    let waiting = move || {
        system::wait_until("the daemon", || {
            // It has no command line any more when it only waits to be reaped.
            let line = fs::read_to_string(format!("/proc/{daemon}/cmdline"));
            match line {
                Ok(line) if line.contains("daemon-stays") => Err("it still runs".into()),
                _ => Ok(()),
            }
        });
    };
    let waited = tokio::task::spawn_blocking(waiting).await;
    waited.expect("the daemon ends");
}

/// Waits beside the calls, which go on meanwhile.
async fn one_process_is_left(server: &Server, what: &'static str) {
    let pid = server.pid();
    let waiting = move || {
        system::wait_until(what, || {
            let left = system::descendants(pid);
            (left.len() == 1).then_some(()).ok_or(format!("{left:?}"))
        });
    };
    tokio::task::spawn_blocking(waiting)
        .await
        .expect("it comes to that");
}

#[tokio::test]
async fn a_function_cannot_open_a_million_files() {
    let server = runner("", &[]);
    assert_done(&server, "open 500").await;
    assert_stopped(&server, "open 1000000", "Too many open files").await;
}

#[tokio::test]
#[ignore = "needs root"]
async fn a_nobodys_runner_is_as_safe_as_roots() {
    let nobody = [
        "setpriv",
        "--reuid=10001",
        "--regid=10001",
        "--clear-groups",
    ];
    let server = runner_through(&nobody, "", &["--confine=required"]);
    for what in ["runner environ", "runner mem"] {
        assert_stopped(&server, what, "Permission denied").await;
    }
    assert_stopped(&server, "signal", "Operation not permitted").await;
    assert_done(&server, "nothing").await;
}

#[test]
fn a_runner_that_cannot_confine_what_it_must_does_not_start() {
    let folder = TempDir::new().expect("a folder");
    let run = Command::new(binary("function-runner"))
        .args(["--port=0", "--disable-runtimes=pod", "--confine=required"])
        .env("TMPDIR", folder.path().join("missing"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("temporary directories"), "{said}");
}
