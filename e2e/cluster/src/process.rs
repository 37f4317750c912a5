//! Processes that outlive the command which started them.
//!
//! A process is known by its pid, its start time and the boot it belongs to, so a recorded pid
//! that meanwhile belongs to a stranger is never signalled. Records are small files below the
//! state directory; whoever reads them later can stop, pause and resume what an earlier command
//! started.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::cgroup;
use crate::layout::{log_file, state};

/// How often states are looked at that no file descriptor announces.
const GLANCE: Duration = Duration::from_millis(20);

/// How long a killed process may take to end, and a stopped one to stand still.
const DYING: Duration = Duration::from_secs(10);

/// A process that cannot be confused with a later one of the same pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    started: u64,
    boot: String,
}

impl Process {
    /// The process that has this pid now.
    pub fn with_pid(pid: i32) -> Result<Self> {
        let (_, started) = stat(pid).with_context(|| format!("process {pid} is gone"))?;
        Ok(Self {
            pid,
            started,
            boot: boot_id()?,
        })
    }

    /// The recorded process of that name, running or not.
    pub(crate) fn recorded(name: &str) -> Option<Self> {
        let text = fs::read_to_string(record(name)).ok()?;
        let mut words = text.split_whitespace();
        Some(Self {
            pid: words.next()?.parse().ok()?,
            started: words.next()?.parse().ok()?,
            boot: words.next()?.to_owned(),
        })
    }

    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// When it was started, in clock ticks since boot.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started
    }

    /// A zombie counts as dead: nothing of it runs any more.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.state().is_some_and(|state| state != 'Z')
    }

    /// Whether it still has its place in the process table, if only as a zombie.
    pub(crate) fn exists(&self) -> bool {
        self.state().is_some()
    }

    fn state(&self) -> Option<char> {
        let (state, started) = stat(self.pid)?;
        (started == self.started && boot_id().ok()? == self.boot).then_some(state)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        if !self.is_alive() {
            bail!("process {} is gone", self.pid);
        }
        let pid = Pid::from_raw(self.pid).context("pid 0 is no process")?;
        kill_process(pid, signal).with_context(|| format!("could not signal {pid}"))
    }

    /// Stops it in its tracks: its sockets stay open and nothing answers. On a busy machine that
    /// takes a moment, in which it might answer once more.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let begin = Instant::now();
        while !self.stands_still() {
            ensure!(begin.elapsed() < DYING, "process {} goes on", self.pid);
            thread::sleep(GLANCE);
        }
        Ok(())
    }

    /// Whether each of its threads is stopped, or has ended.
    fn stands_still(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid));
        let threads = threads.into_iter().flatten().flatten();
        let runs = |thread: &str| {
            let state = thread.parse().ok().and_then(stat);
            state.is_some_and(|(state, _)| !['T', 'Z', 'X'].contains(&state))
        };
        let mut names = threads.filter_map(|thread| thread.file_name().into_string().ok());
        !names.any(|thread| runs(&thread))
    }

    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends the process without asking, and without waiting.
    pub fn kill(&self) -> Result<()> {
        self.signal(Signal::KILL)
    }

    /// Waits until the process is dead with all its threads: before, its ports are not closed.
    pub fn wait_dead(&self) -> Result<()> {
        let pid = Pid::from_raw(self.pid).context("pid 0 is no process")?;
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            // Another one may have the pid by now.
            Ok(handle) if self.exists() => handle,
            Ok(_) | Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error).context("cannot wait for a killed process"),
        };
        let limit = Timespec::try_from(DYING)?;
        let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))?;
        ensure!(ended > 0, "process {pid} lives on after {DYING:?}");
        Ok(())
    }
}

/// Starts a program in a session and in the node's control group, its output appended to its log,
/// and records it under `name`. It stays in the caller's namespaces.
pub(crate) fn start(name: &str, program: &Path, arguments: &[String]) -> Result<Process> {
    let log = log_file(name);
    fs::create_dir_all(log.parent().context("log directory")?)?;
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    let child = spawn(&log, program, arguments)?;
    let process = Process::with_pid(i32::try_from(child)?)?;
    fs::create_dir_all(state("processes"))?;
    let text = format!("{} {} {}\n", process.pid, process.started, process.boot);
    fs::write(record(name), text)?;
    Ok(process)
}

/// `setsid` keeps the caller's Ctrl-C from it. It gets no descriptor that the caller has inherited: a
/// lock among them would be held as long as the node lives.
fn spawn(log: &File, program: &Path, arguments: &[String]) -> Result<u32> {
    ::process::close_on_exec_from(3).context("cannot keep descriptors from a component")?;
    let child = cgroup::member("setsid")?
        .arg(program)
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .spawn()
        .with_context(|| format!("could not start {}", program.display()))?;
    Ok(child.id())
}

/// Looks until `done` says yes, at most `limit` long.
pub fn wait_until(
    limit: Duration,
    what: &str,
    mut done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !done()? {
        if Instant::now() > deadline {
            bail!("waited {} s in vain for {what}", limit.as_secs());
        }
        thread::sleep(GLANCE);
    }
    Ok(())
}

fn record(name: &str) -> PathBuf {
    state("processes").join(name)
}

fn boot_id() -> Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// State letter and start time. The name field may hold spaces and parentheses, so fields are
/// counted from the last parenthesis.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((
        fields.first()?.chars().next()?,
        fields.get(19)?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_that_was_given_to_another_process_is_not_ours() {
        let me = Process::with_pid(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(me.is_alive());
        let earlier = Process {
            started: me.started - 1,
            ..me.clone()
        };
        assert!(!earlier.is_alive());
        let before_reboot = Process {
            boot: "another".to_owned(),
            ..me
        };
        assert!(!before_reboot.is_alive());
        assert!(before_reboot.signal(Signal::KILL).is_err());
    }
}
