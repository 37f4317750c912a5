//! What programs started ahead promise, shown with small shell programs.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use process::{Ahead, Bounds, Command, Completed, Environment, Exit, Gate, Limits, RunError};
use tokio::task::JoinSet;

const LONG: Duration = Duration::from_secs(60);

/// A folder with a shell program in it, and processes of it started ahead.
struct Bench {
    folder: tempfile::TempDir,
    ahead: Ahead,
    keeping: JoinSet<()>,
}

impl Bench {
    fn new(script: &str, idle: Duration) -> Self {
        let bounds = Bounds {
            // Whatever else the machine does: these tests are about more than one.
            processors: 4,
            ..Bounds::new(4, idle)
        };
        let folder = tempfile::tempdir().unwrap();
        let bench = Self::within(folder, bounds);
        bench.install(script);
        bench
    }

    fn within(folder: tempfile::TempDir, bounds: Bounds) -> Self {
        // A gate that holds nobody up.
        let ahead = Ahead::new(bounds, Gate::new(1 << 40));
        let mut keeping = JoinSet::new();
        keeping.spawn(ahead.keep());
        Self {
            folder,
            ahead,
            keeping,
        }
    }

    /// Puts the program in its place in one step.
    fn install(&self, script: &str) {
        let new = self.folder.path().join("new");
        // Every process says that it was started.
        fs::write(
            &new,
            format!("#!/bin/sh\necho $$ >> {}\n{script}\n", self.starts_file()),
        )
        .unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&new, self.folder.path().join("program")).unwrap();
    }

    fn starts_file(&self) -> String {
        self.folder.path().join("starts").display().to_string()
    }

    /// The process ids of everything that was started so far.
    fn starts(&self) -> Vec<String> {
        let text = fs::read_to_string(self.starts_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn wait_for_starts(&self, count: usize) {
        wait_until(|| self.starts().len() >= count).await;
    }

    fn living(&self) -> usize {
        let lives = |pid: &&String| Path::new("/proc").join(pid).exists();
        self.starts().iter().filter(lives).count()
    }

    async fn run_within(&self, input: &str, time: Duration) -> Result<Completed, RunError> {
        let command = Command::new(self.folder.path().join("program"), Environment::Minimal);
        let limits = Limits {
            output: 1 << 20,
            deadline: tokio::time::Instant::now() + time,
        };
        let input = Bytes::copy_from_slice(input.as_bytes());
        self.ahead.run(&command, input, limits).await
    }

    async fn run(&self, input: &str) -> Completed {
        self.run_within(input, LONG).await.unwrap()
    }
}

async fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "it does not come true");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_program_that_was_being_written_at_its_first_call_is_started_ahead_later() {
    let bench = Bench::new("read line; echo $line", LONG);
    let program = bench.folder.path().join("program");
    let writer = fs::OpenOptions::new().append(true).open(program).unwrap();
    let written = async {
        // The keeper has its turns, and cannot start anything.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        drop(writer);
    };
    tokio::join!(bench.run("first\n"), written);
    bench.run("second\n").await;
    // One for each call, and one more.
    bench.wait_for_starts(3).await;
}

#[tokio::test]
async fn each_process_serves_one_call_and_most_are_there_before_their_call() {
    let bench = Bench::new("read line; echo $$ $line", LONG);
    let mut served = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut served_ahead = 0;
    while served_ahead < 5 {
        assert!(Instant::now() < deadline, "{served_ahead} calls");
        let before = bench.starts();
        let text = format!("call {}\n", served.len());
        let done = bench.run(&text).await;
        let answer = String::from_utf8(done.stdout.to_vec()).unwrap();
        let (pid, echo) = answer.split_once(' ').unwrap();
        assert_eq!(echo, text);
        let pid = pid.to_owned();
        assert!(!served.contains(&pid), "{pid} served two calls");
        served_ahead += usize::from(before.contains(&pid));
        served.push(pid);
        // Two get ready: as many as calls at a time, and one more.
        wait_until(|| bench.living() == 2).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn none_is_left_when_the_program_was_idle_for_a_while() {
    let bench = Bench::new("exec cat", Duration::from_secs(2));
    bench.run("call").await;
    bench.wait_for_starts(3).await;
    wait_until(|| bench.living() == 0).await;
    assert_eq!(bench.run("again").await.stdout, "again");
}

#[tokio::test]
async fn none_is_left_when_the_keeper_is_dropped() {
    let bench = Bench::new("exec cat", LONG);
    bench.run("call").await;
    bench.wait_for_starts(3).await;
    let Bench {
        folder,
        ahead,
        keeping,
    } = bench;
    drop((ahead, keeping));
    let bench = Bench::within(folder, Bounds::new(0, LONG));
    wait_until(|| bench.living() == 0).await;
}

#[tokio::test]
async fn nothing_is_started_ahead_if_none_may_wait() {
    let bench = Bench::within(tempfile::tempdir().unwrap(), Bounds::new(0, LONG));
    bench.install("exec cat");
    for n in 1..4 {
        bench.run("call").await;
        assert_eq!(bench.starts().len(), n);
    }
}

/// Programs that do more than wait: each gives the same answer at every call,
/// and soon is started only when it is called.
#[tokio::test]
async fn programs_that_do_more_than_wait_are_started_per_call() {
    for (script, exit, stdout) in [
        ("echo hello", Exit::Code(0), "hello\n"),
        ("exit 3", Exit::Code(3), ""),
        ("kill -9 $$", Exit::Signal(9), ""),
        ("echo hello; exec cat", Exit::Code(0), "hello\ncall"),
        ("echo hello >&2; exec cat", Exit::Code(0), "call"),
        ("exec 1>&-; cat > /dev/null", Exit::Code(0), ""),
        ("cat & wait", Exit::Code(0), ""),
        ("cat; exit 4", Exit::Code(4), "call"),
    ] {
        let bench = Bench::new(script, LONG);
        let deadline = Instant::now() + Duration::from_secs(20);
        // So many calls one after the other that started only themselves.
        let mut plain = 0;
        while plain < 3 {
            assert!(Instant::now() < deadline, "{script}");
            let before = bench.starts().len();
            let done = bench.run("call").await;
            let seen = (done.exit, &done.stdout[..]);
            assert_eq!(seen, (exit, stdout.as_bytes()), "{script}");
            wait_until(|| bench.living() == 0).await;
            // Long enough for a start ahead to show.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let is_alone = bench.starts().len() == before + 1;
            plain = if is_alone { plain + 1 } else { 0 };
        }
    }
}

#[tokio::test]
async fn a_process_that_ends_while_it_waits_is_not_used() {
    // Patient for a moment only: exits if no input came.
    let script = "exec bash -c 'read -t 1 line || exit 9; echo $line'";
    let bench = Bench::new(script, LONG);
    for _ in 0..2 {
        assert_eq!(bench.run("call\n").await.stdout, "call\n");
        bench.wait_for_starts(2).await;
        wait_until(|| bench.living() == 0).await;
    }
    let before = bench.starts().len();
    assert_eq!(bench.run("call\n").await.stdout, "call\n");
    assert_eq!(bench.starts().len(), before + 1);
}

#[tokio::test]
async fn a_replaced_file_is_used_at_once() {
    let bench = Bench::new("exec cat", LONG);
    bench.run("call").await;
    bench.wait_for_starts(3).await;
    bench.install("exec sed s/call/new/");
    assert_eq!(bench.run("call").await.stdout, "new");
    // Of the old file nothing waits any more.
    bench.wait_for_starts(6).await;
    wait_until(|| bench.living() == 2).await;
    // One that could not wait may do so in its new version.
    bench.install("echo hello; exec cat");
    for _ in 0..3 {
        assert_eq!(bench.run("call").await.stdout, "hello\ncall");
    }
    bench.install("exec cat");
    let before = bench.starts().len();
    bench.run("call").await;
    bench.wait_for_starts(before + 3).await;
}

#[tokio::test]
async fn deadlines_end_a_process_that_was_started_ahead() {
    let bench = Bench::new("exec sed -n 's/hang/sleep 300/e;p'", LONG);
    bench.run("call").await;
    bench.wait_for_starts(3).await;
    let begin = Instant::now();
    let answer = bench.run_within("hang\n", Duration::from_millis(500)).await;
    assert!(
        matches!(answer, Err(RunError::DeadlineExceeded { .. })),
        "{answer:?}"
    );
    assert!(begin.elapsed() < Duration::from_secs(4));
    bench.wait_for_starts(4).await;
    wait_until(|| bench.living() == 2).await;
}

/// Grandchildren that left their group, with and without their mark, end with a
/// call whose process was started ahead, although others wait meanwhile.
#[tokio::test]
async fn strays_of_a_process_that_was_started_ahead_end_with_its_call() {
    let bench = Bench::new("exec bash -c 'read line; eval \"$line\"'", LONG);
    bench.run("echo call\n").await;
    bench.wait_for_starts(3).await;
    for stray in [
        "setsid sh -c 'echo $$; exec sleep 300 >&2' &",
        "env -i setsid /bin/sh -c 'echo $$; exec /bin/sleep 300 >&2' &",
    ] {
        let starts = bench.starts().len();
        let done = bench.run(&format!("{stray} sleep 0.3\n")).await;
        let pid = String::from_utf8(done.stdout.to_vec()).unwrap();
        let pid = pid.trim();
        assert!(pid.parse::<u32>().is_ok(), "{pid:?}");
        wait_until(|| !Path::new("/proc").join(pid).exists()).await;
        bench.wait_for_starts(starts + 1).await;
        assert_eq!(bench.living(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_callers_get_their_own_answers() {
    let bench = std::sync::Arc::new(Bench::new("exec cat", LONG));
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..16 {
        let bench = std::sync::Arc::clone(&bench);
        callers.spawn(async move {
            for n in 0..20 {
                let text = format!("{caller}, {n}");
                assert_eq!(bench.run(&text).await.stdout, text);
            }
        });
    }
    callers.join_all().await;
    // Never more wait than may.
    wait_until(|| bench.living() == 4).await;
}
