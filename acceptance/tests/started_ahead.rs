//! Functions that are started before they are called: the same answers, sooner,
//! and nothing that stays, from both servers.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use acceptance::{LIST, Server, call, evaluate, system};
use tokio::task::JoinSet;
use tonic::{Code, transport::Channel};

const LONG: &str = "--started-ahead-idle=10m";

fn both(args: &[&str], name: &str) -> [Server; 2] {
    [Server::runner(args), Server::wrapper_with(args, name)]
}

/// The process that served a call of `says-who`.
async fn who(channel: &Channel) -> u32 {
    let answer = evaluate(channel.clone(), call("says-who", LIST)).await;
    let list = answer.expect("an answer").resource_list;
    let text = std::str::from_utf8(&list).expect("text");
    let pid = text.trim().rsplit(' ').next().expect("a number");
    pid.parse().expect("a number")
}

fn processes(server: &Server) -> BTreeSet<u32> {
    let all = system::descendants(server.pid());
    all.into_iter().map(|(pid, _)| pid).collect()
}

fn assert_gone(pids: &BTreeSet<u32>) {
    system::wait_until("processes left", || {
        let left = pids.iter().filter(|pid| lives(**pid)).count();
        if left == 0 {
            Ok(())
        } else {
            Err(format!("{left}"))
        }
    });
}

/// Whether the process is there and not only waits to be reaped by somebody else.
fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
    })
}

/// A server with processes that wait.
async fn with_waiting(server: &Server) -> BTreeSet<u32> {
    who(&server.connect().await).await;
    assert_only_two_wait(server);
    processes(server)
}

#[tokio::test]
async fn a_call_is_served_by_a_process_that_waited_for_it_and_served_no_other() {
    for server in both(&[LONG], "says-who") {
        let channel = server.connect().await;
        let mut served = BTreeSet::new();
        let mut ahead = 0;
        let deadline = Instant::now() + Duration::from_secs(20);
        while ahead < 5 {
            assert!(Instant::now() < deadline, "{ahead} calls");
            let waiting = processes(&server);
            let pid = who(&channel).await;
            assert!(served.insert(pid), "process {pid} served two calls");
            ahead += usize::from(waiting.contains(&pid));
        }
    }
}

#[tokio::test]
async fn answers_are_the_same_with_and_without() {
    for name in [
        "echo",
        "cannot-start",
        "fails-silently",
        "fails-with-results",
        "fails-with-text",
        "kills-itself",
        "never-reads",
        "reports-errors",
        "writes-nothing",
        "writes-text",
    ] {
        let mut answers = BTreeSet::new();
        for args in [&[][..], &["--started-ahead=0"]] {
            for server in both(args, name) {
                let channel = server.connect().await;
                for _ in 0..4 {
                    let answer = evaluate(channel.clone(), call(name, LIST)).await;
                    answers.insert(match answer {
                        Ok(answer) => format!("{answer:?}"),
                        Err(status) => format!("{:?}: {}", status.code(), status.message()),
                    });
                }
                server.assert_nothing_left_running();
            }
        }
        assert_eq!(answers.len(), 1, "{name}: {answers:#?}");
    }
}

#[tokio::test]
async fn sixteen_callers_are_served_by_as_many_processes_as_calls() {
    for server in both(&[], "says-who") {
        let channel = server.connect().await;
        let mut callers = JoinSet::new();
        for _ in 0..16 {
            let channel = channel.clone();
            callers.spawn(async move {
                let mut pids = Vec::new();
                for _ in 0..10 {
                    pids.push(who(&channel).await);
                }
                pids
            });
        }
        let pids: Vec<u32> = callers.join_all().await.into_iter().flatten().collect();
        let distinct: BTreeSet<u32> = pids.iter().copied().collect();
        assert_eq!((pids.len(), distinct.len()), (160, 160));
        server.assert_nothing_left_running();
    }
}

#[tokio::test]
async fn nothing_waits_when_it_is_turned_off() {
    for server in both(&["--started-ahead=0"], "says-who") {
        let channel = server.connect().await;
        for _ in 0..3 {
            who(&channel).await;
            assert_eq!(processes(&server), BTreeSet::new());
        }
    }
}

#[tokio::test]
async fn nothing_waits_after_the_idle_time() {
    for server in both(&[], "says-who") {
        with_waiting(&server).await;
        server.assert_nothing_left_running();
    }
}

#[tokio::test]
async fn nothing_waits_after_the_server_has_ended() {
    for mut server in both(&[LONG], "says-who") {
        let waiting = with_waiting(&server).await;
        server.terminate();
        assert_eq!(server.wait().code(), Some(0));
        assert_gone(&waiting);
    }
    for mut server in both(&[LONG], "says-who") {
        let waiting = with_waiting(&server).await;
        server.kill();
        assert_gone(&waiting);
    }
}

/// Two wait, and nothing is left of the call before: neither its process, nor the
/// one that it waited for, nor the one that left its group.
fn assert_only_two_wait(server: &Server) {
    system::wait_until("two that wait", || match processes(server).len() {
        2 => Ok(()),
        other => Err(format!("{other}")),
    });
}

#[tokio::test]
async fn deadlines_end_a_function_that_was_started_ahead() {
    let server = Server::runner(&[LONG, "--evaluation-timeout=500ms"]);
    let channel = server.connect().await;
    for _ in 0..3 {
        let call = call("hangs-after-reading", LIST);
        let status = evaluate(channel.clone(), call).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        assert_only_two_wait(&server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_give_up_end_a_function_that_was_started_ahead() {
    let name = "hangs-after-reading";
    for server in both(&[LONG], name) {
        let channel = server.connect().await;
        for _ in 0..3 {
            let call = evaluate(channel.clone(), call(name, LIST));
            let answer = tokio::time::timeout(Duration::from_millis(500), call).await;
            assert!(answer.is_err(), "{answer:?}");
            assert_only_two_wait(&server);
        }
    }
}

/// Puts a function in its place in one step.
fn install(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::rename(&new, path).expect("a new file");
}

#[tokio::test]
async fn a_replaced_executable_is_used_from_the_next_call_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let function = folder.path().join("says-who");
    let version = |n: usize| {
        format!(
            "#!/bin/sh\nwhile read -r line; do :; done\necho 'kind: ResourceList'\necho 'version: {n}'\n"
        )
    };
    install(&function, &version(0));
    let functions = format!("--functions={}", folder.path().display());
    let server = Server::runner(&[LONG, &functions]);
    let channel = server.connect().await;
    for n in 0..4 {
        install(&function, &version(n));
        for _ in 0..2 {
            let answer = evaluate(channel.clone(), call("says-who", LIST)).await;
            let list = answer.expect("an answer").resource_list;
            assert!(
                list.ends_with(format!("version: {n}\n").as_bytes()),
                "{n}: {list:?}"
            );
            assert_only_two_wait(&server);
        }
    }
}
