//! Every child of this process: started here, reaped here.
//!
//! One thread waits for any child to end. A registered child's status goes to
//! the call that started it; anything else is an orphan that the kernel gave us
//! and is only reaped. Because every status passes through one place, none can
//! be taken from its owner.
//!
//! A [`Call`] stands for everything that one program may have started. Dropping
//! it ends what is left: the process group at once, processes that left the group
//! as they come to us. Each death may hand us further ones, so the reaping thread
//! looks for strays again after deaths that were not a call's own regular end.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};
use tokio::sync::oneshot;

use crate::{
    command::Command,
    strays::{self, CallId},
    sys,
};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// How often the reaping thread looks for orphans while it has no children: as
/// PID 1 it may be given some by processes that were started from outside.
const IDLE_LOOK: Duration = Duration::from_secs(5);

/// Most children that are reaped between two looks for strays.
const REAPED_TOGETHER: usize = 64;

static CHILDREN: LazyLock<&'static Children> = LazyLock::new(Children::begin);

struct Children {
    /// Read-locked while a child is being started and not yet registered;
    /// write-locked to be sure that an unknown child really is an orphan.
    starting: RwLock<()>,
    state: Mutex<State>,
    changed: Condvar,
    /// Whether this process began without children. If it did not (a script
    /// started something and then became us), unmarked processes may be theirs.
    began_alone: bool,
}

#[derive(Default)]
struct State {
    last_call: CallId,
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
}

#[derive(Debug)]
struct Stray {
    /// The call that it belongs to, if it is marked.
    call: Option<CallId>,
    /// The newest call when it was first seen.
    newest: CallId,
    /// How often its mark was looked for: in the moment of becoming another
    /// program a process has no environment.
    looks: u8,
}

/// After so many looks a process without a mark counts as one.
const LOOKS: u8 = 3;

impl State {
    fn is_live(&self, call: CallId) -> bool {
        self.calls.contains(&call) || self.waiting.contains(&call)
    }

    fn all_started(&self, pids: &[Pid]) -> bool {
        pids.iter().all(|pid| self.children.contains_key(pid))
    }
}

struct Registered {
    call: CallId,
    exit: oneshot::Sender<Exit>,
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
    pub(crate) exit: oneshot::Receiver<Exit>,
}

/// Takes on the duties of PID 1 from now on; otherwise they begin with the first
/// program. Call it before anything else could have started children.
pub fn adopt_orphans() {
    LazyLock::force(&CHILDREN);
}

/// Starts a program in a process group of its own.
pub(crate) fn start(command: &Command) -> io::Result<Started> {
    let children = *CHILDREN;
    let _starting = children
        .starting
        .read()
        .unwrap_or_else(PoisonError::into_inner);
    let id = {
        let mut state = children.state();
        if state.is_over {
            return Err(io::Error::other("this server is ending"));
        }
        state.last_call += 1;
        state.last_call
    };
    let (name, value) = strays::mark(id);
    let mut child = command.prepare((name, &value)).spawn()?;
    let group = Pid::from_child(&child);
    let (exit, news) = oneshot::channel();
    {
        let mut state = children.state();
        state.calls.insert(id);
        state.children.insert(group, Registered { call: id, exit });
        children.changed.notify_all();
    }
    let call = Call { id, group };
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Started {
            call,
            stdin,
            stdout,
            stderr,
            exit: news,
        }),
        _ => Err(io::Error::other("a pipe is missing")),
    }
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
        let state = children.state();
        let left = deadline.saturating_duration_since(Instant::now());
        if (state.children.is_empty() && strays == 0) || left.is_zero() {
            return;
        }
        // Woken by the next death; looks again after a while in any case.
        let nap = left.min(Duration::from_millis(100));
        drop(children.changed.wait_timeout(state, nap));
    }
}

impl Call {
    pub(crate) fn leader(&self) -> Pid {
        self.group
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
        let child = state.children.get(&self.group).map(|child| child.call);
        // The number is ours as long as the child is not reaped, or its group
        // still has members. Should it have been given to another call's child
        // meanwhile, our group is gone already.
        if child.is_none_or(|call| call == self.id) {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        drop(state);
        // Otherwise its death is about to come, and with it a look for strays.
        if child != Some(self.id) {
            children.end_strays();
        }
    }
}

/// Without the thread that reaps no call could ever end: the process ends, and
/// whoever runs it starts another one.
struct DeadEnd;

impl Drop for DeadEnd {
    fn drop(&mut self) {
        tracing::error!("the thread that reaps children has ended; please report it");
        std::process::exit(1);
    }
}

impl Children {
    fn begin() -> &'static Self {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "cannot adopt orphans; a function's daemons may outlive it");
        }
        let children = Box::leak(Box::new(Self {
            starting: RwLock::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            began_alone: strays::adopted().is_empty(),
        }));
        let reaper = thread::Builder::new().name("reaper".into());
        let reap = || {
            let _dead_end = DeadEnd;
            children.reap_forever();
        };
        if let Err(error) = reaper.spawn(reap) {
            // Without it no call could ever end: better not to begin.
            panic!("cannot start the thread that reaps children: {error}");
        }
        children
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap_forever(&self) {
        loop {
            match sys::wait_for_any_child() {
                Ok(Some(pid)) => self.reap_ended(pid),
                Ok(None) => {
                    let state = self.state();
                    if state.children.is_empty() {
                        drop(self.changed.wait_timeout(state, IDLE_LOOK));
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot wait for children");
                    thread::sleep(IDLE_LOOK);
                }
            }
        }
    }

    /// Reaps a child and others that have ended by now, and looks for strays once:
    /// when much ends together, looking after each takes longer than all the rest.
    fn reap_ended(&self, first: Pid) {
        let mut may_have_strays = self.reap(first);
        for _ in 1..REAPED_TOGETHER {
            let Ok(Some(next)) = sys::any_ended_child() else {
                break;
            };
            may_have_strays |= self.reap(next);
        }
        if may_have_strays {
            self.end_strays();
        }
    }

    /// Reaps a child; returns whether it may have left strays.
    fn reap(&self, pid: Pid) -> bool {
        if !self.state().children.contains_key(&pid) {
            // Perhaps just started: once nobody is starting, it is registered.
            drop(self.starting.write());
        }
        let mut state = self.state();
        let status = waitpid(Some(pid), WaitOptions::NOHANG);
        let registered = state.children.remove(&pid);
        state.strays.remove(&pid);
        self.changed.notify_all();
        let Some(Registered { call, exit }) = registered else {
            return true;
        };
        let live = state.is_live(call);
        drop(state);
        if let Ok(Some((_, status))) = status {
            let end = status.terminating_signal().map_or_else(
                || Exit::Code(status.exit_status().unwrap_or(-1)),
                Exit::Signal,
            );
            // Nobody listens if the caller gave up.
            let _ = exit.send(end);
        }
        !live
    }

    /// Kills the strays whose call has ended; returns how many there were. They
    /// are reaped by the thread, which looks again then.
    fn end_strays(&self) -> usize {
        let adopted = strays::adopted();
        if self.state().all_started(&adopted) {
            return 0;
        }

        let _nobody_starts = self
            .starting
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // With the state locked nobody reaps, so no number can change its owner.
        let mut state = self.state();
        let mut ended = 0;
        for pid in strays::adopted() {
            if !state.all_started(&[pid]) && self.is_over(&mut state, pid) {
                let _ = kill_process(pid, Signal::KILL);
                ended += 1;
            }
        }
        ended
    }

    /// Whether the call that a stray belongs to has ended. A stray without a mark
    /// belongs to one of the calls that were live when it came: once all of those
    /// have ended, so has its own.
    fn is_over(&self, state: &mut State, stray: Pid) -> bool {
        let newest = state.last_call;
        let known = state.strays.entry(stray).or_insert(Stray {
            call: None,
            newest,
            looks: 0,
        });
        if known.call.is_none() && known.looks < LOOKS {
            known.looks += 1;
            known.call = strays::call_of(stray);
        }
        let (call, newest) = (known.call, known.newest);
        match call {
            Some(call) => !state.is_live(call),
            None => {
                let oldest = state.calls.first();
                self.began_alone && oldest.is_none_or(|oldest| *oldest > newest)
            }
        }
    }
}
