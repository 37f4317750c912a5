//! What a function can do with its temporary directory, and with what is around it. As a
//! user without privileges, as a runner is, where these tests are root's. Confinement counts
//! for a whole process, so these tests have one of their own.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::PathBuf,
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use process::{
    Ahead, Bound, Bounds, Command, Completed, Environment, Gate, Limits, Offered, Profile, RunError,
};
use rustix::{fs::Uid, process::geteuid, thread::set_thread_uid};
use tempfile::TempDir;
use tokio::task::JoinSet;

/// Of root, if these tests are root's, and open to everybody, as `/tmp`.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
});

/// Runs a test on one thread, as a wrapper's executor has, and without privileges.
fn as_user(test: impl Future<Output = ()>) {
    LazyLock::force(&FOLDER);
    if geteuid().is_root() {
        // Only of this thread, and of those that it begins.
        set_thread_uid(Uid::from_raw(10001)).unwrap();
    }
    static OFFERED: OnceLock<Offered> = OnceLock::new();
    OFFERED.get_or_init(|| process::confine_beside(FOLDER.path(), 1 << 30).unwrap());
    let mut executor = tokio::runtime::Builder::new_current_thread();
    executor.enable_all().build().unwrap().block_on(test);
}

/// Programs behind a gate that is watched.
struct Runner {
    ahead: Ahead,
    _watching: JoinSet<()>,
}

impl Runner {
    fn new() -> Self {
        let bounds = Bounds::new(0, Duration::from_secs(1));
        let ahead = Ahead::new(bounds, Gate::new(1 << 40));
        let mut _watching = JoinSet::new();
        _watching.spawn(ahead.keep());
        Self { ahead, _watching }
    }

    async fn run(&self, script: &str) -> Result<Completed, RunError> {
        let command = Command::new("/bin/sh", Environment::Minimal).args(["-c", script]);
        let limits = Limits {
            output: 1000,
            deadline: tokio::time::Instant::now() + Duration::from_secs(300),
        };
        let command = command.confined(Profile::default());
        self.ahead.run(&command, Bytes::new(), limits).await
    }

    async fn says(&self, script: &str) -> String {
        let done = self.run(script).await.unwrap();
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }
}

#[test]
fn nobody_can_close_the_folder_above_to_other_calls() {
    as_user(async {
        let runner = Runner::new();
        let closed = runner
            .says("chmod 0 $(dirname $TMPDIR) && echo closed")
            .await;
        // What belongs to the runner's user can be closed, and is opened again.
        let is_own = FOLDER.path().metadata().unwrap().uid() == geteuid().as_raw();
        assert_eq!(closed == "closed", is_own);
        assert_eq!(
            runner.says("echo x > $TMPDIR/a && cat $TMPDIR/a").await,
            "x"
        );
    });
}

#[test]
fn the_paths_of_other_calls_directories_cannot_be_found() {
    as_user(async {
        let runner = Runner::new();
        // Its path is in its environment, and it works there.
        let other = runner.run("cd $TMPDIR && exec sleep 2");
        let spy = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let found = "for p in /proc/[0-9]*; do \
                         [ $p = /proc/$$ ] || tr '\\0' '\\n' < $p/environ | grep ^TMPDIR=; \
                         readlink $p/cwd | grep function-runner-; \
                         done 2>/dev/null; ls $(dirname $TMPDIR) 2>/dev/null";
            runner.says(found).await
        };
        let (_, found) = tokio::join!(other, spy);
        assert_eq!(found, "");
    });
}

#[test]
fn folders_deeper_than_can_be_counted_end_the_call() {
    as_user(async {
        let deep = "d/".repeat(300);
        let runner = Runner::new();
        let answer = runner
            .run(&format!("mkdir -p $TMPDIR/{deep} && sleep 30"))
            .await;
        let bound = match answer {
            Err(RunError::OverBound { bound, .. }) => bound,
            answer => panic!("{answer:?}"),
        };
        assert!(
            matches!(bound, Bound::TemporaryFiles { had: u64::MAX, .. }),
            "{bound}"
        );
    });
}

#[test]
fn files_in_a_folder_that_a_function_has_closed_to_itself_count() {
    as_user(async {
        let runner = Runner::new();
        let script = "cd $TMPDIR && mkdir d && chmod 300 d && for i in 1 2 3; do \
                      head -c 60000000 /dev/zero > d/$i; done; chmod 0 d; sleep 30";
        let answer = runner.run(script).await;
        let is_over = matches!(
            answer,
            Err(RunError::OverBound {
                bound: Bound::TemporaryFiles { .. },
                ..
            })
        );
        assert!(is_over, "{answer:?}");
    });
}

/// How long this thread has used a processor.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split_whitespace().next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}

#[test]
fn looking_at_many_files_takes_no_time_of_the_thread_that_serves_calls() {
    as_user(async {
        // What it takes to look at so many files once.
        let files = TempDir::new().unwrap();
        (0..15_000).for_each(|file| fs::write(files.path().join(file.to_string()), "").unwrap());
        let before = processor_time();
        for entry in fs::read_dir(files.path()).unwrap() {
            entry.unwrap().metadata().unwrap();
        }
        let once = processor_time() - before;
        let runner = Runner::new();
        let script = "cd $TMPDIR && head -c 15000 /dev/zero | split -b 1 -a 4 - && \
                      : > many-files && sleep 300";
        let looked_at = async {
            while !directories().any(|path| path.join("many-files").exists()) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let before = processor_time();
            tokio::time::sleep(Duration::from_secs(3)).await;
            processor_time() - before
        };
        // Cancel-safe: when the one ends, the other is not needed.
        let used = tokio::select! {
            answer = runner.run(script) => panic!("{answer:?}"),
            used = looked_at => used,
        };
        // They were looked at about ten times.
        assert!(used < once * 3, "{used:?}, and once takes {once:?}");
    });
}

fn directories() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(FOLDER.path()).unwrap();
    entries.map(|entry| entry.unwrap().path())
}
