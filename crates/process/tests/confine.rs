//! What confined programs can and cannot do, shown with programs that every system has.
//! Confinement counts for a whole process, so these tests have one of their own. What it
//! keeps from a program that means harm is in `acceptance/tests/confinement.rs`.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use process::{Command, Completed, Environment, Exit, Limits, Offered, Profile};
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().unwrap());

/// Begins once, for all tests of this process.
fn offered() -> &'static Offered {
    static OFFERED: OnceLock<Offered> = OnceLock::new();
    OFFERED.get_or_init(|| process::confine_beside(FOLDER.path(), 1 << 30).unwrap())
}

async fn run(script: &str) -> Completed {
    offered();
    let command = Command::new("/bin/sh", Environment::Minimal).args(["-c", script]);
    let limits = Limits {
        output: 100_000,
        deadline: tokio::time::Instant::now() + Duration::from_secs(60),
    };
    let command = command.confined(Profile::default());
    process::run(&command, Bytes::from_static(b"input\n"), limits)
        .await
        .unwrap()
}

async fn says(script: &str) -> String {
    let done = run(script).await;
    let log = String::from_utf8_lossy(&done.log).into_owned();
    assert_eq!(done.exit, Exit::Code(0), "{script}: {log}");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

async fn fails(script: &str) {
    let done = run(script).await;
    assert_ne!(done.exit, Exit::Code(0), "{script}: {:?}", done.stdout);
}

#[tokio::test]
async fn scripts_work_as_ever() {
    assert_eq!(says("cat /dev/stdin").await, "input");
    assert_eq!(says("cat | sed s/in/out/ 2>/dev/null").await, "output");
    assert_eq!(says("(sleep 0.01; echo late) & wait").await, "late");
    assert_eq!(says("head -c 3 /dev/zero | wc -c").await, "3");
    assert_eq!(says("test -r /proc/self/status && echo yes").await, "yes");
}

#[tokio::test]
async fn each_has_a_directory_of_its_own_and_writes_nowhere_else() {
    let script =
        "cat > $TMPDIR/a && mkdir $TMPDIR/b && mv $TMPDIR/a $TMPDIR/b/c && cat $TMPDIR/b/c";
    assert_eq!(says(script).await, "input");
    let (one, other) = tokio::join!(says("echo $TMPDIR"), says("echo $TMPDIR"));
    assert_ne!(one, other);
    fails(&format!("echo > {}/file", FOLDER.path().display())).await;
    fails("cat /etc/passwd").await;
    // What was written there is not run.
    fails("cp /bin/true $TMPDIR/own && $TMPDIR/own").await;
}

#[tokio::test]
async fn nothing_is_gained_and_nothing_changed_outside() {
    assert_eq!(offered().missing(), None, "this kernel cannot show it");
    let status = says("cat /proc/self/status").await;
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    for refused in [
        "unshare --user true",
        "unshare --mount true",
        "mount -t tmpfs none $TMPDIR",
        "chroot / true",
        "renice -n 1 -p $PPID",
        "prlimit --pid $PPID --nofile=10:10",
        "prlimit --msgqueue=1:1 true",
        "kill -0 $PPID",
    ] {
        fails(refused).await;
    }
}

#[tokio::test]
async fn limits_are_lowered() {
    // They are set the moment after the start.
    let limits = says("sleep 0.3; ulimit -c; ulimit -H -n; ulimit -t").await;
    assert_eq!(limits, "0\n4096\n3600");
}
