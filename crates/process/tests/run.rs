//! What `run` promises, shown with small shell programs.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    future::poll_fn,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    task::Poll,
    time::{Duration, Instant},
};

use bytes::Bytes;
use process::{Command, Completed, Environment, Exit, Limits, RunError, run};
use tokio::sync::RwLock;

const MB: usize = 1024 * 1024;

/// Written by the test that starts hundreds of programs at a time, read by those whose program
/// has to come to something before its deadline.
static STORM: RwLock<()> = RwLock::const_new(());

fn shell(script: &str) -> Command {
    Command::new("/bin/sh", Environment::Minimal).args(["-c", script])
}

fn within(seconds: u64) -> Limits {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
    Limits {
        output: 8 * MB,
        deadline,
    }
}

async fn run_ok(script: &str, input: impl Into<Bytes>) -> Completed {
    run(&shell(script), input.into(), within(20)).await.unwrap()
}

/// Waits for a process to be gone, reaped and all.
fn assert_gone(pid: &str) {
    let pid = pid.trim();
    assert!(pid.parse::<u32>().is_ok(), "not a process id: {pid:?}");
    let deadline = Instant::now() + Duration::from_secs(5);
    while Path::new("/proc").join(pid).exists() {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn input_and_output_of_megabytes_pass_at_the_same_time() {
    let input = Bytes::from(vec![b'x'; 6 * MB]);
    let done = run_ok("cat", input.clone()).await;
    assert_eq!(done.exit, Exit::Code(0));
    assert!(done.stdout == input);
}

#[tokio::test]
async fn a_program_may_write_a_megabyte_before_it_reads() {
    let script = "head -c 1048576 /dev/zero; cat";
    let done = run_ok(script, vec![b'x'; MB]).await;
    assert_eq!(done.stdout.len(), 2 * MB);
}

#[tokio::test]
async fn a_program_that_never_reads_is_not_waited_for() {
    let done = run_ok("echo done", vec![b'x'; 6 * MB]).await;
    assert_eq!(done.stdout, "done\n");
}

/// A program of its own, and its folder.
fn written(script: &str) -> (tempfile::TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, Command::new(program, Environment::Minimal))
}

#[tokio::test]
async fn a_program_that_is_still_being_written_is_started_when_that_is_done() {
    let (_folder, command) = written("cat");
    let writer = fs::OpenOptions::new()
        .append(true)
        .open(command.program())
        .unwrap();
    let mut call = std::pin::pin!(run(&command, "list".into(), within(20)));
    let tried = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
    assert!(tried.is_pending(), "{tried:?}");
    drop(writer);
    assert_eq!(call.await.unwrap().stdout, "list");
}

#[tokio::test]
async fn a_program_that_stays_open_for_writing_is_an_error_that_says_so() {
    let (_folder, command) = written("cat");
    let _writer = fs::OpenOptions::new()
        .append(true)
        .open(command.program())
        .unwrap();
    let error = run(&command, "list".into(), within(20)).await.unwrap_err();
    let RunError::Start { source, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::ExecutableFileBusy);
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    assert_eq!(run_ok("exit 3", "").await.exit, Exit::Code(3));
    assert_eq!(run_ok("kill -9 $$", "").await.exit, Exit::Signal(9));
}

#[tokio::test]
async fn two_hundred_megabytes_of_log_are_drained_and_cut() {
    let script = "echo begin >&2; head -c 200000000 /dev/zero >&2; echo end >&2; echo done";
    let done = run_ok(script, "").await;
    assert_eq!(done.stdout, "done\n");
    assert!(
        done.log.len() < 256 * 1024,
        "{} bytes of log kept",
        done.log.len()
    );
    assert!(done.log.starts_with(b"begin\n") && done.log.ends_with(b"end\n"));
}

#[tokio::test]
async fn output_beyond_the_limit_ends_the_program() {
    let limits = Limits {
        output: 1000,
        ..within(20)
    };
    let answer = run(&shell("yes"), Bytes::new(), limits).await;
    assert!(matches!(
        answer,
        Err(RunError::OutputTooLarge { limit: 1000 })
    ));
}

#[tokio::test]
async fn output_and_log_count_together() {
    let limits = Limits {
        output: 1000,
        ..within(20)
    };
    let script = "head -c 600 /dev/zero; head -c 600 /dev/zero >&2";
    let answer = run(&shell(script), Bytes::new(), limits).await;
    assert!(matches!(
        answer,
        Err(RunError::OutputTooLarge { limit: 1000 })
    ));
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_systems_error() {
    let command = Command::new("/no/such/program", Environment::Minimal);
    let error = run(&command, Bytes::new(), within(20)).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start /no/such/program");
    let RunError::Start { source, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

/// Programs that outlive their parent, each in a way that is harder to find:
/// in the group, deaf to SIGTERM, in a session of its own, and there without
/// the environment that marks it. Each prints its process id and waits long.
const GRANDCHILDREN: [&str; 4] = [
    "sleep 300 & echo $!;",
    "sh -c 'trap \"\" TERM; echo $$; sleep 300' & ",
    "setsid sh -c 'echo $$; exec sleep 300' & ",
    "env -i setsid /bin/sh -c 'echo $$; exec /bin/sleep 300' & ",
];

#[tokio::test]
async fn a_grandchild_that_holds_the_log_ends_with_its_call() {
    let folder = tempfile::tempdir().unwrap();
    for grandchild in GRANDCHILDREN {
        let file = folder.path().join("pid");
        let begin = Instant::now();
        // The parent stays until the grandchild has said its number.
        let file = file.display();
        let script =
            format!("({grandchild}) > {file}; while ! [ -s {file} ]; do sleep 0.01; done; echo ok");
        let done = run_ok(&script, "").await;
        assert_eq!((done.exit, &done.stdout[..]), (Exit::Code(0), &b"ok\n"[..]));
        assert!(begin.elapsed() < Duration::from_secs(5), "{grandchild}");
        assert_gone(&fs::read_to_string(file.to_string()).unwrap());
    }
}

#[tokio::test]
async fn what_a_helper_writes_after_its_parents_end_is_part_of_the_output() {
    for helper in [
        "(sleep 1; echo last) &",
        "setsid sh -c 'sleep 1; echo last' &",
        "env -i setsid /bin/sh -c '/bin/sleep 1; echo last' &",
    ] {
        let done = run_ok(&format!("{helper} echo first; exit 0"), "").await;
        assert_eq!(done.stdout, "first\nlast\n", "{helper}");
    }
}

#[tokio::test]
async fn output_that_is_held_open_is_an_error_that_names_who_holds_it() {
    let _calm = STORM.read().await;
    for grandchild in GRANDCHILDREN {
        let script = format!("{grandchild} exit 0");
        let answer = run(&shell(&script), Bytes::new(), within(3)).await;
        let Err(RunError::OutputHeldOpen { holder, .. }) = answer else {
            panic!("{grandchild}: {answer:?}")
        };
        let holder = holder.unwrap();
        assert!(["sleep", "sh"].contains(&&holder.name[..]), "{holder}");
        assert_gone(&holder.pid.to_string());
    }
}

#[tokio::test]
async fn a_program_that_failed_is_not_waited_for_though_a_helper_holds_its_output() {
    for (end, exit) in [("exit 3", Exit::Code(3)), ("kill -9 $$", Exit::Signal(9))] {
        let begin = Instant::now();
        let done = run_ok(&format!("sleep 300 & echo some; {end}"), "").await;
        assert_eq!((done.exit, &done.stdout[..]), (exit, &b"some\n"[..]));
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_leaders_number_stays_its_own_until_the_call_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (number, go) = (folder.path().join("pid"), folder.path().join("go"));
    let script = format!(
        "echo $$ > {}; (while ! [ -e {} ]; do sleep 0.01; done; echo done) & exit 0",
        number.display(),
        go.display()
    );
    let command = shell(&script);
    let looked = async {
        let is_held = || {
            let pid = fs::read_to_string(&number).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        while !is_held() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // Others start and end meanwhile, and are heard of.
        for _ in 0..20 {
            assert_eq!(run_ok("exit 4", "").await.exit, Exit::Code(4));
        }
        assert!(is_held());
        fs::write(&go, "").unwrap();
    };
    let (done, ()) = tokio::join!(run(&command, Bytes::new(), within(20)), looked);
    assert_eq!(done.unwrap().stdout, "done\n");
    assert_gone(&fs::read_to_string(&number).unwrap());
}

#[tokio::test]
async fn the_deadline_ends_the_program_and_its_grandchildren() {
    let _calm = STORM.read().await;
    let folder = tempfile::tempdir().unwrap();
    for grandchild in GRANDCHILDREN {
        let file = folder.path().join("pid");
        let script = format!("({grandchild}) > {}; sleep 300", file.display());
        let begin = Instant::now();
        let answer = run(&shell(&script), Bytes::new(), within(3)).await;
        assert!(
            matches!(answer, Err(RunError::DeadlineExceeded { .. })),
            "{answer:?}"
        );
        assert!(begin.elapsed() < Duration::from_secs(10), "{grandchild}");
        assert_gone(&fs::read_to_string(&file).unwrap());
    }
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {}; exec sleep 300'",
        file.display()
    );
    let command = shell(&script);
    let call = run(&command, Bytes::new(), within(20));
    let started = async {
        while fs::read_to_string(&file).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        answer = call => panic!("ended by itself: {answer:?}"),
        () = started => {}
    }
    assert_gone(&fs::read_to_string(&file).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped_and_no_exit_status_is_taken() {
    let _storm = STORM.write().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..300 {
        calls.spawn(async {
            let script = "(setsid sh -c 'echo $$' &); (true &); cat; exit 7";
            run(&shell(script), Bytes::new(), within(20)).await.unwrap()
        });
    }
    while let Some(done) = calls.join_next().await {
        let done = done.unwrap();
        assert_eq!(done.exit, Exit::Code(7));
        for orphan in text(&done.stdout).lines() {
            assert_gone(orphan);
        }
    }
}

#[tokio::test]
async fn a_program_sees_a_minimal_environment_and_three_descriptors() {
    // SAFETY of the claim: a file opened without close-on-exec, as a careless
    // parent process would leave it.
    let leaked = fs::File::open("/proc/self/status").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    process::close_on_exec_from(3).unwrap();
    let done = run_ok("env | cut -d= -f1 | sort; ls /proc/self/fd", "").await;
    let seen: Vec<&str> = text(&done.stdout).lines().collect();
    let allowed = [
        "HOME",
        "KRM_FUNCTION_CALL",
        "LANG",
        "PATH",
        "PWD",
        "SHLVL",
        "TMPDIR",
        "TZ",
        "_",
    ];
    let variables = seen.iter().filter(|name| name.parse::<u32>().is_err());
    for name in variables {
        assert!(
            allowed.contains(name) || name.starts_with("LC_"),
            "{name} was passed on"
        );
    }
    // 0, 1, 2, and the folder that `ls` itself has open.
    assert_eq!(
        seen.iter()
            .filter(|name| name.parse::<u32>().is_ok())
            .count(),
        4,
        "{seen:?}"
    );
}
