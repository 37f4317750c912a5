//! What confined programs can and cannot do, shown with programs that every system has.
//! Confinement counts for a whole process, so these tests have one of their own. What it
//! keeps from a program that means harm is in `acceptance/tests/confinement`.
#![allow(clippy::unwrap_used)]

use std::{
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use process::{Command, Completed, Environment, Exit, Limits, Offered, Profile};
use tempfile::TempDir;

/// The memory for programs.
const BUDGET: u64 = 1 << 30;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().unwrap());

/// Begins once, for all tests of this process.
fn offered() -> &'static Offered {
    static OFFERED: OnceLock<Offered> = OnceLock::new();
    OFFERED.get_or_init(|| process::confine_beside(FOLDER.path(), BUDGET).unwrap())
}

async fn run(script: &str) -> Completed {
    let command = Command::new("/bin/sh", Environment::Minimal).args(["-c", script]);
    completed(&confined(command)).await
}

fn confined(command: Command) -> Command {
    offered();
    command.confined(Profile::default())
}

async fn completed(command: &Command) -> Completed {
    let limits = Limits {
        output: 100_000,
        deadline: tokio::time::Instant::now() + Duration::from_secs(60),
    };
    process::run(command, Bytes::from_static(b"input\n"), limits)
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
        "renice -n 1 -p $PPID",
        "prlimit --pid $PPID --nofile=10:10",
        "prlimit --msgqueue=1:1 true",
        "kill -0 $PPID",
    ] {
        fails(refused).await;
    }
}

/// A system call, its arguments in Perl, and what a confined program gets for an answer.
struct Attempt {
    name: &'static str,
    number: libc::c_long,
    arguments: &'static str,
    refused: i32,
    /// Only for root: then the kernel refuses it as well, because privileges are dropped.
    is_roots: bool,
}

const fn refused(name: &'static str, number: libc::c_long, arguments: &'static str) -> Attempt {
    Attempt {
        name,
        number,
        arguments,
        refused: libc::EPERM,
        is_roots: false,
    }
}

const fn unknown(name: &'static str, number: libc::c_long, arguments: &'static str) -> Attempt {
    Attempt {
        refused: libc::ENOSYS,
        ..refused(name, number, arguments)
    }
}

const fn roots(name: &'static str, number: libc::c_long, arguments: &'static str) -> Attempt {
    Attempt {
        is_roots: true,
        ..refused(name, number, arguments)
    }
}

/// 1 as an address is nobody's, -1 is no descriptor: without a filter these calls have no
/// effect, and where they do not succeed, the kernel's error is another one.
const ATTEMPTS: &[Attempt] = &[
    refused("ptrace", libc::SYS_ptrace, "16, 0, 0, 0"),
    refused(
        "process_vm_readv",
        libc::SYS_process_vm_readv,
        "$$, 0, 0, 0, 0, 0",
    ),
    refused("pidfd_getfd", libc::SYS_pidfd_getfd, "-1, 0, 0"),
    refused(
        "clone, CLONE_NEWUSER",
        libc::SYS_clone,
        "0x10000000 | 17, 0, 0, 0, 0",
    ),
    unknown("clone3", libc::SYS_clone3, "0, 0"),
    refused("unshare, CLONE_NEWUSER", libc::SYS_unshare, "0x10000000"),
    refused("unshare, a flag that there is not", libc::SYS_unshare, "1"),
    refused("setns", libc::SYS_setns, "-1, 0"),
    refused("mount", libc::SYS_mount, "1, 1, 1, 0, 0"),
    refused("chroot", libc::SYS_chroot, "1"),
    refused("bpf", libc::SYS_bpf, "1, 1, 16"),
    refused(
        "perf_event_open",
        libc::SYS_perf_event_open,
        "1, 0, -1, -1, 0",
    ),
    refused("keyctl", libc::SYS_keyctl, "0, -3, 0"),
    refused("add_key", libc::SYS_add_key, "1, 1, 0, 0, -1"),
    refused("request_key", libc::SYS_request_key, "1, 1, 0, -1"),
    roots("init_module", libc::SYS_init_module, "1, 1, 1"),
    roots("finit_module", libc::SYS_finit_module, "-1, 1, 0"),
    roots("delete_module", libc::SYS_delete_module, "1, 0"),
    unknown("io_uring_setup", libc::SYS_io_uring_setup, "1, 1"),
    unknown(
        "io_uring_enter",
        libc::SYS_io_uring_enter,
        "-1, 0, 0, 0, 0, 0",
    ),
    unknown(
        "io_uring_register",
        libc::SYS_io_uring_register,
        "-1, 0, 0, 0",
    ),
    unknown("memfd_create", libc::SYS_memfd_create, "$name, 0"),
    refused("shmget", libc::SYS_shmget, "0, 0, 0"),
    refused("semget", libc::SYS_semget, "0, 0, 0"),
    refused("msgget", libc::SYS_msgget, "4711, 0"),
    refused("mq_open", libc::SYS_mq_open, "1, 0, 0, 0"),
    refused("socket, AF_INET", libc::SYS_socket, "2, 1, 0"),
    refused("socket, AF_INET6", libc::SYS_socket, "10, 2, 0"),
    refused("socket, AF_NETLINK", libc::SYS_socket, "16, 3, 0"),
    refused("prctl, PR_SET_DUMPABLE", libc::SYS_prctl, "4, 0, 0, 0, 0"),
];

/// A Perl script that makes the calls and prints a number for each: the error, or 0.
fn raw_calls() -> Command {
    let call = |attempt: &Attempt| {
        let Attempt {
            number, arguments, ..
        } = attempt;
        // What `clone` makes, if it makes something, goes at once.
        format!(
            "$! = 0; $got = syscall({number}, {arguments}); $$ == $own or exit 0; \
             print $got == -1 ? $! + 0 : 0, qq(\\n);"
        )
    };
    let calls: String = ATTEMPTS.iter().map(call).collect();
    let script = format!("$own = $$; $name = q(name); {calls}");
    Command::new("/usr/bin/perl", Environment::Minimal).args(["-e", &script])
}

async fn errors_of(command: &Command) -> Vec<(&'static Attempt, i32)> {
    let done = completed(command).await;
    assert_eq!(done.exit, Exit::Code(0), "{:?}", done.log);
    let errors = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = errors.lines().map(|error| error.parse().unwrap());
    let errors: Vec<_> = ATTEMPTS.iter().zip(errors).collect();
    assert_eq!(errors.len(), ATTEMPTS.len(), "{:?}", done.log);
    errors
}

#[tokio::test]
#[ignore = "needs perl"]
async fn calls_of_the_kernel_that_a_function_has_no_use_for_are_refused() {
    for (attempt, error) in errors_of(&confined(raw_calls())).await {
        assert_eq!(error, attempt.refused, "{}", attempt.name);
    }
}

/// Otherwise the test above could not fail. A kernel that was built without a call does
/// not know it.
#[tokio::test]
#[ignore = "needs perl, and no filter of somebody else around this test"]
async fn the_same_calls_are_not_refused_without_a_filter() {
    for (attempt, error) in errors_of(&raw_calls()).await {
        let is_refused = error == attempt.refused && error != libc::ENOSYS;
        assert!(attempt.is_roots || !is_refused, "{}", attempt.name);
    }
}

#[tokio::test]
#[ignore = "needs perl, and Landlock's ABI 6 (Linux 6.12)"]
async fn abstract_sockets_of_others_cannot_be_reached() {
    let name = format!("confine-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = "socket(S, 1, 1, 0) or die; \
                  print connect(S, pack('S a*', 1, qq(\\0$ARGV[0]))) ? 'connected' : $! + 0";
    let command = Command::new("/usr/bin/perl", Environment::Minimal).args(["-e", script, &name]);
    assert_eq!(completed(&command).await.stdout, "connected");
    let stopped = completed(&confined(command)).await.stdout;
    assert_eq!(stopped, libc::EPERM.to_string());
}

#[tokio::test]
async fn limits_are_lowered() {
    // They are set in the moment after the start, and before the input comes.
    let limits = says("cat > /dev/null; cat /proc/self/limits").await;
    // The hard limit: what the program itself cannot raise again.
    let hard = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        let hard = line.unwrap().split_whitespace().nth(1).unwrap();
        hard.parse::<u64>().unwrap()
    };
    assert_eq!(hard("Max core file size"), 0);
    assert_eq!(hard("Max open files"), 4096);
    assert_eq!(hard("Max cpu time"), 3600);
    assert_eq!(hard("Max file size"), 128 << 20);
    // The memory that there is, and what runtimes map without using it.
    assert_eq!(hard("Max data size"), BUDGET + (1 << 30));
}

#[tokio::test]
async fn programs_are_nicer_than_this_process() {
    let own = rustix::process::getpriority_process(None).unwrap();
    let nice = says("cat > /dev/null; nice").await;
    assert_eq!(nice, (own + 5).min(19).to_string());
}
