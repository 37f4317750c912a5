//! A process that was started ahead: is it ready, and may it still be used?

use std::{
    env, fs, io,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use crate::{command::Command, run::Program, strays, sys};

/// How often a process that gets ready is looked at.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(1);

/// A process that has used no processor in this many checks is ready: it waits for
/// its input. If it was only held up, the call that gets it waits a little longer, as
/// it would have done with a process of its own.
const QUIET_LOOKS: u32 = 2;

/// A program that is busy for longer without its input does other things than
/// get ready.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Why a program cannot be started ahead.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAhead {
    #[error("it cannot be started: {0}")]
    Start(#[from] io::Error),
    #[error("it ended or wrote something before it was given its input")]
    Spoke,
    #[error("it started other programs before it was given its input")]
    StartedOthers,
    #[error("it was busy for {READY_WITHIN:?} without its input")]
    Busy,
}

/// A process that was started ahead.
#[derive(Debug)]
pub(super) struct Waiting {
    program: Program,
    began: Instant,
    looked: Instant,
    /// The processor time that it had used at the last look.
    used: Duration,
    /// For how many looks it has used no more.
    quiet: u32,
}

/// What is known of a program once a process of it was ready.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    /// The processor time that getting ready takes.
    pub(super) takes: Duration,
    /// The memory of a waiting process that is not shared with others, in bytes.
    pub(super) memory: u64,
}

impl Waiting {
    pub(super) fn start(command: &Command) -> Result<Self, NotAhead> {
        let program = Program::start(command, None)?;
        metrics::processes::STARTS
            .of(metrics::processes::Started::Ahead)
            .increment();
        let now = Instant::now();
        Ok(Self {
            program,
            began: now,
            looked: now,
            used: Duration::ZERO,
            quiet: 0,
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        self.quiet >= QUIET_LOOKS
    }

    /// Looks whether the process has become ready; not more often than every [`LOOKS_EVERY`].
    pub(super) fn look(&mut self, now: Instant) -> Result<Option<Ready>, NotAhead> {
        if self.is_ready() || now < self.looked + LOOKS_EVERY {
            return Ok(None);
        }
        self.looked = now;
        if !is_silent(&mut self.program) {
            return Err(NotAhead::Spoke);
        }
        let pid = self.program.call.leader();
        let used = sys::processor_time(pid)?;
        self.quiet = if used == self.used { self.quiet + 1 } else { 0 };
        self.used = used;
        if !self.is_ready() {
            let is_late = now > self.began + READY_WITHIN;
            return if is_late {
                Err(NotAhead::Busy)
            } else {
                Ok(None)
            };
        }
        if !strays::children(pid).is_empty() {
            return Err(NotAhead::StartedOthers);
        }
        sys::make_first_to_go(pid);
        self.program.call.wait();
        Ok(Some(Ready {
            takes: used,
            memory: strays::own_memory(pid),
        }))
    }

    /// Whether the process is ready, or as good as that: it has used most of the
    /// processor time that processes before it needed.
    pub(super) fn is_usable(&self, before: Option<Ready>) -> bool {
        let is_nearly_ready = |before: Ready| {
            let used = sys::processor_time(self.program.call.leader());
            used.is_ok_and(|used| used * 10 >= before.takes * 9)
        };
        self.is_ready() || before.is_some_and(is_nearly_ready)
    }

    /// The process, for the one call that it serves; if it still waits.
    pub(super) fn take(mut self) -> Result<Program, NotAhead> {
        if !is_silent(&mut self.program) {
            return Err(NotAhead::Spoke);
        }
        self.program.call.go_on();
        Ok(self.program)
    }
}

/// Whether a program neither has ended nor has written or closed anything.
fn is_silent(program: &mut Program) -> bool {
    let mut pipes = [
        PollFd::new(&program.stdin, PollFlags::empty()),
        PollFd::new(&program.stdout, PollFlags::IN),
        PollFd::new(&program.stderr, PollFlags::IN),
    ];
    let at_once = rustix::event::Timespec::default();
    let pipes_are_silent = loop {
        match poll(&mut pipes, Some(&at_once)) {
            // A child of ours has just ended.
            Err(Errno::INTR) => {}
            answer => break answer == Ok(0),
        }
    };
    pipes_are_silent && program.exit.is_empty() && !program.exit.is_terminated()
}

/// Which file a command would run now: another one, or the same with new content,
/// is another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileId {
    /// `None`: there is no such file, or it cannot be looked at.
    pub(super) fn of(command: &Command) -> Option<Self> {
        let file = fs::metadata(path(command)?).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

/// Where the command's program is: a bare name is searched as `exec` does.
fn path(command: &Command) -> Option<PathBuf> {
    let program = command.program();
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}
