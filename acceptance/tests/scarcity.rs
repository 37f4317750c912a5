//! What a machine runs out of: memory, processes, descriptors, disk. The call
//! that meets it gets a clear error, others and the server go on.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command, time::Duration};

use acceptance::{
    LIST, Server, call, evaluate, evaluate_within, image,
    server::{binary, exec_config, functions},
    system,
};
use proto::EvaluateFunctionResponse;
use tempfile::TempDir;
use tokio::{task::JoinSet, time::timeout};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile");

/// Calls that run until the test lets them end, however long a busy machine takes to
/// start them.
struct Held {
    calls: JoinSet<Result<EvaluateFunctionResponse, Status>>,
    /// They end when this file has gone.
    file: PathBuf,
}

impl Held {
    async fn on(server: &Server, count: usize) -> Self {
        let file = server.folder.path().join("held");
        fs::write(&file, "").expect("a file");
        let list = format!("{LIST}# try: until-gone {}\n", file.display());
        let channel = server.connect().await;
        let calls = (0..count)
            .map(|_| evaluate(channel.clone(), call("hostile", list.clone())))
            .collect();
        Self { calls, file }
    }

    /// All answers that there are not yet.
    async fn let_go(self) -> Vec<Result<EvaluateFunctionResponse, Status>> {
        fs::remove_file(&self.file).expect("the file");
        self.calls.join_all().await
    }
}

/// A runner started by `through`, a command that runs the words behind it.
fn runner_through(through: &[&str], args: &[&str]) -> Server {
    let folder = TempDir::new().expect("a folder");
    // Also for another user.
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), open).expect("its mode");
    let config = folder.path().join("config.yaml");
    let mut entries = exec_config();
    let hostile = image("hostile");
    entries += &format!("- function: hostile\n  images: ['{hostile}']\n");
    fs::write(&config, entries).expect("a file");
    let own = folder.path().join("functions");
    fs::create_dir(&own).expect("a folder");
    fs::copy(HOSTILE, own.join("hostile")).expect("a copy");
    for script in fs::read_dir(functions()).expect("functions").flatten() {
        fs::copy(script.path(), own.join(script.file_name())).expect("a copy");
    }
    let mut command = Command::new(through[0]);
    command
        .args(&through[1..])
        .arg(binary("function-runner"))
        .args(["--port=0", "--disable-runtimes=pod", "--started-ahead=0"])
        .arg(format!("--functions={}", own.display()))
        .arg(format!("--config={}", config.display()))
        .args(args);
    Server::start(command, folder)
}

fn wrapper_through(through: &[&str], name: &str) -> Server {
    let mut command = Command::new(through[0]);
    command
        .args(&through[1..])
        .arg(binary("wrapper-server"))
        .args(["--port=0", "--started-ahead=0", "--"])
        .arg(functions().join(name));
    Server::start(command, TempDir::new().expect("a folder"))
}

fn list_of(mib: u32) -> String {
    format!("{LIST}# memory: {mib}\n")
}

#[tokio::test]
async fn a_function_that_needs_more_memory_than_there_is_fails_alone_with_the_numbers() {
    let server = Server::runner(&["--memory-budget=300Mi"]);
    let channel = server.connect().await;
    let other = evaluate(channel.clone(), call("takes-memory", list_of(20)));
    let large = evaluate(channel.clone(), call("takes-memory", list_of(600)));
    let (other, large) = tokio::join!(other, large);
    other.unwrap();
    let status = large.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().reason, "OUT_OF_MEMORY");
    for words in [
        "test/takes-memory:v1",
        "was killed",
        "MiB",
        "--memory-budget",
    ] {
        assert!(status.message().contains(words), "{}", status.message());
    }
    // The next one of that size is not even started.
    let refused = evaluate(channel.clone(), call("takes-memory", list_of(600))).await;
    let refused = refused.unwrap_err();
    assert!(
        refused.message().contains("is not started"),
        "{}",
        refused.message()
    );
    evaluate(channel, call("echo", LIST)).await.unwrap();
    server.assert_nothing_left_running();
}

#[tokio::test]
async fn ten_calls_that_do_not_fit_together_all_succeed() {
    let server = Server::runner(&["--memory-budget=500Mi"]);
    let channel = server.connect().await;
    let mut calls = JoinSet::new();
    for _ in 0..10 {
        calls.spawn(evaluate(
            channel.clone(),
            call("takes-memory", list_of(200)),
        ));
    }
    for answer in calls.join_all().await {
        assert!(answer.unwrap().resource_list.starts_with(LIST.as_bytes()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_run_at_once_than_the_given_limit_of_descriptors_would_let() {
    let through = ["prlimit", "--nofile=128:"];
    for server in [
        runner_through(&through, &[]),
        wrapper_through(&through, HOSTILE),
    ] {
        let calls = Held::on(&server, 100).await;
        // Each has three pipes.
        system::wait_until("calls in flight", || {
            match system::descendants(server.pid()).len() {
                100.. => Ok(()),
                few => Err(format!("{few} processes")),
            }
        });
        for answer in calls.let_go().await {
            answer.unwrap();
        }
    }
}

#[tokio::test]
async fn functions_get_the_limit_of_descriptors_that_the_server_was_given() {
    let through = ["prlimit", "--nofile=1024:4096"];
    for server in [
        runner_through(&through, &[]),
        wrapper_through(&through, "shows-limits"),
    ] {
        let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let own = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        assert_eq!(own.unwrap().split_whitespace().nth(3), Some("4096"));
        let answer = evaluate(server.connect().await, call("shows-limits", LIST)).await;
        let list = answer.unwrap().resource_list;
        assert!(list.ends_with(b"# 1024\n"), "{list:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_descriptors_calls_fail_and_the_server_goes_on() {
    let through = ["prlimit", "--nofile=64:64"];
    for server in [
        runner_through(&through, &[]),
        wrapper_through(&through, HOSTILE),
    ] {
        let mut calls = Held::on(&server, 60).await;
        let first = timeout(Duration::from_secs(60), calls.calls.join_next());
        let first = first.await.expect("a call that fails");
        let first = first.expect("calls").expect("no panic");
        let mut answers = calls.let_go().await;
        answers.push(first);
        let failed: Vec<_> = answers
            .iter()
            .filter_map(|answer| answer.as_ref().err())
            .collect();
        assert!(
            !failed.is_empty() && failed.len() < answers.len(),
            "{} failed",
            failed.len()
        );
        for status in failed {
            assert_eq!(status.code(), Code::Internal, "{status:?}");
            assert!(
                status.message().contains("Too many open files"),
                "{}",
                status.message()
            );
        }
        let answer = evaluate(server.connect().await, call("hostile", LIST)).await;
        answer.unwrap();
        server.assert_nothing_left_running();
    }
}

#[tokio::test]
#[ignore = "needs root"]
async fn a_refused_fork_is_an_error_and_the_server_goes_on() {
    // No process of this user runs elsewhere, so the limit is for this one. The
    // server's own threads count; it is lowered when they are there.
    let through = [
        "setpriv",
        "--reuid=10001",
        "--regid=10001",
        "--clear-groups",
        // The checkout may be in a folder that only root may enter.
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ];
    let server = runner_through(&through, &[]);
    let channel = server.connect().await;
    evaluate(channel.clone(), call("echo", LIST)).await.unwrap();
    let limit = |count: &str| {
        let limited = Command::new(through[0])
            .args(&through[1..])
            .arg("prlimit")
            .args([
                format!("--pid={}", server.pid()),
                format!("--nproc={count}"),
            ])
            .status();
        assert!(limited.unwrap().success());
    };
    limit("1:");
    let status = evaluate(channel.clone(), call("echo", LIST))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Internal, "{status:?}");
    assert_eq!(
        status.get_error_details().error_info().unwrap().reason,
        "CANNOT_START"
    );
    for words in ["test/echo:v1", "Resource temporarily unavailable"] {
        assert!(status.message().contains(words), "{}", status.message());
    }
    limit("1000:");
    evaluate(channel, call("echo", LIST)).await.unwrap();
    server.assert_nothing_left_running();
}

#[tokio::test]
#[ignore = "needs root"]
async fn a_full_disk_is_the_functions_error_and_the_server_goes_on() {
    // In a namespace of its own, so that the mount ends with the server.
    let mounted = "mount -t tmpfs -o size=1m tmpfs /mnt && exec env TMPDIR=/mnt \"$@\"";
    let through = ["unshare", "--mount", "sh", "-c", mounted, "sh"];
    for server in [
        runner_through(&through, &[]),
        wrapper_through(&through, "fills-the-disk"),
    ] {
        let channel = server.connect().await;
        for _ in 0..2 {
            let answer = evaluate(channel.clone(), call("fills-the-disk", LIST)).await;
            let status = answer.unwrap_err();
            assert_eq!(status.code(), Code::Internal, "{status:?}");
            assert!(
                status.message().contains("No space left"),
                "{}",
                status.message()
            );
        }
        server.assert_nothing_left_running();
    }
}

#[tokio::test]
async fn a_server_that_inherits_an_ignored_sigchld_hears_of_its_functions_ends() {
    let through = ["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh"];
    for server in [
        runner_through(&through, &[]),
        wrapper_through(&through, "hangs-after-reading"),
    ] {
        let before = system::processor_time(server.pid());
        let call = call("hangs-after-reading", LIST);
        let answer = evaluate_within(&server, call, Duration::from_secs(2));
        let status = answer.await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        let used = system::processor_time(server.pid()) - before;
        assert!(used < Duration::from_secs(1), "{used:?} of processor time");
        server.assert_nothing_left_running();
    }
    let server = runner_through(&through, &[]);
    let answer = evaluate(server.connect().await, call("echo", LIST)).await;
    assert_eq!(answer.unwrap().resource_list, LIST);
}
