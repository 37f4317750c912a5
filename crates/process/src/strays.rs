//! Finds processes that a call started and that left its process group.
//!
//! This process is a subreaper (or PID 1), so a process whose parent ends becomes
//! our child. A stray differs from the children that we started: nobody registered it.
//! Its call is found by a mark: one in its environment, which it may lose, and one among
//! its limits, which it inherits and cannot change (see [`crate::confine::limits`]).

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    process,
    sync::LazyLock,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::confine::limits::{self, Mark};

/// A call's number; later calls have larger ones.
pub(crate) type CallId = u64;

/// The variable that marks a call's processes. It holds this process's id as
/// well, so that a runner which itself runs as a function is not confused.
const MARK: &str = "KRM_FUNCTION_CALL";

static OWN_MARK: LazyLock<String> = LazyLock::new(|| format!("{MARK}={}.", process::id()));

/// The mark of `call` as a variable's name and value.
pub(crate) fn mark(call: CallId) -> (&'static OsStr, OsString) {
    (OsStr::new(MARK), format!("{}.{call}", process::id()).into())
}

/// Calls are counted from 1.
const NO_CALL: CallId = 0;

/// The call that `pid` belongs to, if it is marked. Only of `live` ones the limit
/// says which one it is; of others it says that it is none of them.
pub(crate) fn call_of(pid: Pid, mut live: impl Iterator<Item = CallId>) -> Option<CallId> {
    if let Some(mark) = limits::mark_of(pid) {
        let is_its = |call: &CallId| Mark::of(*call) == mark;
        return Some(live.find(is_its).unwrap_or(NO_CALL));
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(OWN_MARK.as_bytes())?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

/// The children of this process's main thread. The kernel gives strays to that
/// thread; children that we started may be among them.
pub(crate) fn adopted() -> Vec<Pid> {
    // Kept open: every call looks at it when it ends.
    static CHILDREN: LazyLock<Option<File>> = LazyLock::new(|| {
        let own = process::id();
        File::open(format!("/proc/self/task/{own}/children")).ok()
    });
    let children = CHILDREN.as_ref().map(read_from_start);
    match children {
        Some(Ok(children)) => children.split_whitespace().filter_map(parse_pid).collect(),
        // Kernels built without that file: look at everybody's parent.
        _ => children_by_scan(process::id()),
    }
}

/// The children of the main thread that have a mark.
pub(crate) fn adopted_and_marked() -> Vec<(Pid, Mark)> {
    let marked = |pid| Some((pid, limits::mark_of(pid)?));
    adopted().into_iter().filter_map(marked).collect()
}

/// How long processes that start others are chased.
const CHASE: Duration = Duration::from_secs(10);

/// Kills every process with this mark, on a thread where nobody else waits: looking at all
/// processes may take as long as [`CHASE`], and a server of one thread would seem dead. If
/// the caller goes away, the chase goes on.
pub(crate) async fn end_marked(mark: Mark) {
    // It fails only if it panics, which has been reported, or if this server ends.
    let _ = tokio::task::spawn_blocking(move || chase(mark)).await;
}

/// Killing what comes to us, parents first, is too slow for a program that starts processes
/// without end. So all are looked at, in the order of their numbers, which is that of their
/// starts: what is started meanwhile is met later on the way. A process that was killed
/// starts nothing more.
fn chase(mark: Mark) {
    let deadline = Instant::now() + CHASE;
    let mut killed = HashSet::new();
    loop {
        let before = killed.len();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| parse_pid(entry.file_name().to_str()?)) {
            // The handle stays with the process that was asked for its mark.
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            let is_its = limits::mark_of(pid) == Some(mark) && is_below_us(pid);
            if is_its && killed.insert(pid) {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        }
        if killed.len() == before || Instant::now() > deadline {
            return;
        }
    }
}

/// The longest chain of parents that is followed. A longer chain becomes shorter when
/// those at its top are killed, because their children come to us.
const DEPTH: usize = 4096;

/// Whether a process descends from this one. Another runner of the same user counts its
/// calls, and so its marks, from the same number on.
fn is_below_us(pid: Pid) -> bool {
    let own = process::id();
    let mut at = Some(pid);
    for _ in 0..DEPTH {
        match at.and_then(parent_of) {
            Some(parent) if parent == own => return true,
            Some(parent) => at = Pid::from_raw(parent.cast_signed()),
            None => return false,
        }
    }
    false
}

/// The whole text of an open file of /proc, which is made anew when read from its start.
fn read_from_start(file: &File) -> io::Result<String> {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match file.read_at(&mut chunk, text.len() as u64)? {
            0 => break,
            read => text.extend_from_slice(&chunk[..read]),
        }
    }
    String::from_utf8(text).map_err(io::Error::other)
}

/// The children of a process, of all its threads.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(children) => found.extend(children.split_whitespace().filter_map(parse_pid)),
            Err(_) => return children_by_scan(pid.as_raw_pid().cast_unsigned()),
        }
    }
    found
}

/// From this much memory on that is shared it is asked with what: a program's file is
/// hardly that large.
const MUCH_SHARED: u64 = 96 << 20;

/// The resident memory that a process shares with no file, in bytes; 0 if it
/// cannot be told.
pub(crate) fn own_memory(pid: Pid) -> u64 {
    let pages = || {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut fields = text.split_whitespace().map(str::parse::<u64>);
        let resident = fields.nth(1)?.ok()?;
        let shared = fields.next()?.ok()?;
        Some((resident.saturating_sub(shared), shared))
    };
    let (own, shared) = pages().unwrap_or((0, 0));
    let page = rustix::param::page_size() as u64;
    let nameless = if shared * page > MUCH_SHARED {
        shared_with_no_file(pid).unwrap_or(0)
    } else {
        0
    };
    own * page + nameless
}

/// The resident memory that a process may share with others, but not with a file.
fn shared_with_no_file(pid: Pid) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = |line: &str| Some(line.strip_prefix("RssShmem:")?.trim().to_owned());
    let kib = status.lines().find_map(line)?;
    Some(kib.strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

fn children_by_scan(own: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| parse_pid(entry.ok()?.file_name().to_str()?))
        .filter(|pid| parent_of(*pid) == Some(own))
        .collect()
}

/// The fourth field of `/proc/PID/stat`. The second, the program's name, is in
/// parentheses and may contain anything, so counting starts after the last one.
fn parent_of(pid: Pid) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll};

    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_the_end_of_a_calls_processes_holds_up_nobody() {
        // The other thread may be done before this one looks; hardly every time.
        for _ in 0..5 {
            let mut chase = pin!(end_marked(Mark::of(1)));
            let first = poll_fn(|context| Poll::Ready(chase.as_mut().poll(context))).await;
            if first.is_pending() {
                return chase.await;
            }
        }
        panic!("all processes were looked at meanwhile");
    }

    #[test]
    fn both_ways_of_listing_children_know_the_same_parent() {
        let own = process::id();
        let parent = parent_of(Pid::from_raw(own.cast_signed()).unwrap()).unwrap();
        assert_eq!(parent, std::os::unix::process::parent_id());
        let parent_pid = Pid::from_raw(parent.cast_signed()).unwrap();
        assert!(!is_below_us(parent_pid), "who started us is not ours");
        assert!(
            children_by_scan(parent)
                .iter()
                .any(|pid| pid.as_raw_pid() as u32 == own)
        );
    }
}
