//! Every child of this process: started here, reaped here.
//!
//! One thread (see [`reaper`]) hears of every child's end. A registered child's
//! status goes to the call that started it; anything else is an orphan that the
//! kernel gave us and is only reaped. Because every status passes through one
//! place, none can be taken from its owner.
//!
//! A [`Call`] stands for everything that one program may have started. Dropping
//! it ends what is left: the process group at once, processes that left the group
//! as they come to us. A call's leader is reaped only then: until it is, its
//! number belongs to its group, so that the group's end can hit nobody else.

mod reaper;

use std::{
    collections::{BTreeSet, HashMap},
    io,
    os::fd::OwnedFd,
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::{
    event::{EventfdFlags, eventfd},
    process::{Pid, Signal, WaitOptions, getpid, kill_process_group, set_child_subreaper, waitpid},
};
use tokio::sync::oneshot;

use crate::{
    command::{Command, Variable},
    confine::{self, Scratch, limits},
    dead_end::DeadEnd,
    strays::{self, CallId},
    sys::{self, Ended},
};

static CHILDREN: LazyLock<&'static Children> = LazyLock::new(Children::begin);

struct Children {
    state: Mutex<State>,
    changed: Condvar,
    /// Rung when a child ends, or when the reaper has to look again.
    bell: &'static OwnedFd,
    /// Whether this process began without children. If it did not (a script
    /// started something and then became us), unmarked processes may be theirs.
    began_alone: bool,
}

#[derive(Default)]
struct State {
    last_call: CallId,
    /// Calls whose program is being started: it may be a child already, but is
    /// not registered yet.
    starting: BTreeSet<CallId>,
    /// Calls that have not ended, and programs that are still getting ready.
    calls: BTreeSet<CallId>,
    /// Programs that are ready and wait for their call. They start nothing while
    /// they wait, so a stray without a mark is none of theirs.
    waiting: BTreeSet<CallId>,
    /// Nothing is started any more: this process ends.
    is_over: bool,
    /// Children that we started and have not reaped.
    children: HashMap<Pid, Registered>,
    /// What is known of processes that came to us, until we reap them. Looking
    /// at each of them again at every death would take a busy server's time.
    strays: HashMap<Pid, Stray>,
    /// A process was passed over because it may be one that is being started.
    look_again: bool,
    /// The end of a process that is being started may have been missed.
    ring_again: bool,
}

#[derive(Debug)]
struct Stray {
    /// The call that it belongs to, if it is marked.
    call: Option<CallId>,
    /// The newest call when it was first seen.
    newest: CallId,
    /// How often its mark was looked for: in the moment of becoming another
    /// program a process has no environment.
    tries: u8,
}

impl State {
    fn is_live(&self, call: CallId) -> bool {
        self.calls.contains(&call) || self.waiting.contains(&call)
    }

    fn all_started(&self, pids: &[Pid]) -> bool {
        pids.iter().all(|pid| self.children.contains_key(pid))
    }

    /// Whether a child certainly came to us: nobody registered it, and whatever
    /// was being started when it was first seen is registered by now.
    fn is_stray(&mut self, pid: Pid) -> bool {
        if self.children.contains_key(&pid) {
            return false;
        }
        let newest = self.last_call;
        let known = self.strays.entry(pid).or_insert(Stray {
            call: None,
            newest,
            tries: 0,
        });
        let oldest = self.starting.first();
        let is_certain = oldest.is_none_or(|oldest| *oldest > known.newest);
        self.look_again |= !is_certain;
        is_certain
    }
}

/// A child that we started.
struct Registered {
    call: CallId,
    /// Gets its end; `None`: it has ended, and waits to be reaped.
    news: Option<oneshot::Sender<Ended>>,
}

/// Everything that a started program consists of; ends with this value.
#[derive(Debug)]
pub(crate) struct Call {
    id: CallId,
    group: Pid,
}

/// A started program: its call, the pipes to it, and the news of its end.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) call: Call,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) exit: oneshot::Receiver<Ended>,
    /// For its temporary files, if it is confined.
    pub(crate) scratch: Option<Scratch>,
}

/// Takes on the duties of PID 1 from now on; otherwise they begin with the first
/// program. Call it before anything else could have started children.
pub fn adopt_orphans() {
    LazyLock::force(&CHILDREN);
}

/// Starts a program in a process group of its own.
pub(crate) fn start(command: &Command, variable: Option<&Variable>) -> io::Result<Started> {
    let children = *CHILDREN;
    let starting = Starting::begin(children)?;
    let id = starting.id;
    let (name, value) = strays::mark(id);
    let profile = command.profile();
    let mut scratch = confine::scratch_for(profile, command.program())?;
    let prepared = command.prepare((name, &value), variable, scratch.as_ref());
    let mut child = confine::spawn(profile, command.program(), scratch.as_mut(), prepared)
        // What could not become a program may have been seen, and its number may
        // be given to another one.
        .inspect_err(|_| children.state().strays.clear())?;
    let group = Pid::from_child(&child);
    // First of all: what it starts before has neither.
    limits::mark(group, id);
    confine::limits_of(profile).give(group);
    let (news, exit) = oneshot::channel();
    {
        // Also if this process ends meanwhile: `end_all` waits for this.
        let mut state = children.state();
        state.calls.insert(id);
        state.strays.remove(&group);
        let news = Some(news);
        state.children.insert(group, Registered { call: id, news });
    }
    drop(starting);
    let call = Call { id, group };
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Started {
            call,
            stdin,
            stdout,
            stderr,
            exit,
            scratch,
        }),
        _ => Err(io::Error::other("a pipe is missing")),
    }
}

/// A start under way.
struct Starting<'a> {
    children: &'a Children,
    id: CallId,
}

impl<'a> Starting<'a> {
    fn begin(children: &'a Children) -> io::Result<Self> {
        let mut state = children.state();
        if state.is_over {
            return Err(io::Error::other("this server is ending"));
        }
        state.last_call += 1;
        let id = state.last_call;
        state.starting.insert(id);
        drop(state);
        Ok(Self { children, id })
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut state = self.children.state();
        state.starting.remove(&self.id);
        if state.is_over {
            self.children.changed.notify_all();
        }
        if state.look_again || state.ring_again {
            sys::ring_bell();
        }
    }
}

/// Whether everything that runs is being ended: then the end of a program's
/// output says nothing about whether it is whole.
pub(crate) fn is_over() -> bool {
    CHILDREN.state().is_over
}

/// Whether nothing is left of calls that have ended, as far as is known: everything
/// that has come to this process was started by it.
pub(crate) fn nothing_is_left() -> bool {
    let adopted = strays::adopted();
    let state = CHILDREN.state();
    adopted.iter().all(|pid| state.children.contains_key(pid))
}

/// Ends everything that still runs, and waits for it, but not beyond `patience`.
/// For the end of the process; calls still under way see their program killed.
pub fn end_all(patience: Duration) {
    let children = *CHILDREN;
    let deadline = Instant::now() + patience;
    {
        let mut state = children.state();
        state.is_over = true;
        state.calls.clear();
        state.waiting.clear();
    }
    loop {
        let state = children.state();
        for group in state.children.keys() {
            // An error means that it has just ended, which is what we want.
            let _ = kill_process_group(*group, Signal::KILL);
        }
        drop(state);
        let strays = children.end_strays();
        let mut state = children.state();
        // A start that had passed its check before is waited for, too.
        let runs = |child: &Registered| child.news.is_some();
        let is_done = state.starting.is_empty() && !state.children.values().any(runs);
        let left = deadline.saturating_duration_since(Instant::now());
        if (is_done && strays == 0) || left.is_zero() {
            return;
        }
        // Woken by the next death; looks again after a while in any case.
        let nap = left.min(Duration::from_millis(100));
        children.changed.wait_for(&mut state, nap);
    }
}

impl Call {
    pub(crate) fn leader(&self) -> Pid {
        self.group
    }

    pub(crate) fn id(&self) -> CallId {
        self.id
    }

    /// The program is ready and does nothing until it is given its input.
    pub(crate) fn wait(&self) {
        let mut state = CHILDREN.state();
        if state.calls.remove(&self.id) {
            state.waiting.insert(self.id);
        }
    }

    /// The program goes on: its input comes.
    pub(crate) fn go_on(&self) {
        let mut state = CHILDREN.state();
        if state.waiting.remove(&self.id) {
            state.calls.insert(self.id);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let children = *CHILDREN;
        let mut state = children.state();
        state.calls.remove(&self.id);
        state.waiting.remove(&self.id);
        let leader = state.children.get(&self.group);
        // Should somebody else have taken its status, the number is not ours.
        let is_ours = leader.is_some_and(|leader| leader.call == self.id);
        let runs = is_ours && leader.is_some_and(|leader| leader.news.is_some());
        if is_ours {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        if is_ours && !runs {
            children.reap(&mut state, self.group);
        }
        drop(state);
        // Otherwise its death is about to come, and with it a look for strays.
        if !runs {
            children.end_strays();
        }
    }
}

impl Children {
    fn begin() -> &'static Self {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "cannot adopt orphans; a function's daemons may outlive it");
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(io::Error::from);
        let begun = bell.and_then(|bell| {
            let bell = Box::leak(Box::new(bell));
            sys::listen_for_children(bell)?;
            let children: &'static Self = Box::leak(Box::new(Self {
                state: Mutex::default(),
                changed: Condvar::new(),
                bell,
                began_alone: strays::adopted().is_empty(),
            }));
            let reaper = thread::Builder::new().name("reaper".into());
            reaper.spawn(|| {
                // Without it no call could ever end.
                let _dead_end = DeadEnd::of("reaps children");
                children.reap_forever();
            })?;
            Ok(children)
        });
        match begun {
            Ok(children) => children,
            // Without it no call could ever end: better not to begin.
            Err(error) => panic!("cannot listen for the end of children: {error}"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Reaps a child that has ended. With the state locked, so that no number
    /// can change its owner under somebody who is about to signal it.
    fn reap(&self, state: &mut State, pid: Pid) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        state.children.remove(&pid);
        state.strays.remove(&pid);
        if state.is_over {
            self.changed.notify_all();
        }
    }
}
