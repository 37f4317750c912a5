//! Threads that start programs.
//!
//! Loading a filter costs as much as starting a small program, because the kernel
//! compiles it. So one thread loads it once, and what counts for one program only
//! (its Landlock rules) is put onto a thread that starts nothing else:
//!
//! ```text
//! thread (filtered) ── takes a start ──► makes its successor ──► takes the rules
//!                                                                on itself, starts
//!                                                                the program, ends
//! ```

use std::{
    io,
    process::{Child, Command},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use landlock::RulesetCreated;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::filter;

/// A start needs little more than the standard library's own frames.
const STACK: usize = 128 * 1024;

pub(super) struct Launcher {
    starts: mpsc::Sender<Start>,
}

/// A program to be started.
struct Start {
    command: Command,
    rules: RulesetCreated,
    answer: mpsc::SyncSender<io::Result<Child>>,
}

/// The threads take turns at it.
type Starts = Arc<Mutex<mpsc::Receiver<Start>>>;

impl Launcher {
    /// Begins the first thread. `network`: whether programs may use it; `None`: they
    /// are not filtered, and keep their privileges. Also whether it is filtered.
    pub(super) fn new(
        name: &'static str,
        network: Option<bool>,
    ) -> io::Result<(Self, Result<(), String>)> {
        let (starts, receiver) = mpsc::channel();
        let receiver: Starts = Arc::new(Mutex::new(receiver));
        let (report, reported) = mpsc::sync_channel(1);
        let first = move || {
            let filtered = network.map_or(Ok(()), |network| {
                give_up_privileges().and_then(|()| filter::apply(network))
            });
            // Nobody listens only if nobody could be told.
            let _ = report.send(filtered);
            serve(name, &receiver);
        };
        thread::Builder::new()
            .name(name.into())
            .stack_size(STACK)
            .spawn(first)?;
        let filtered = reported
            .recv()
            .unwrap_or_else(|_| Err("its thread ended".to_owned()));
        Ok((Self { starts }, filtered))
    }

    pub(super) fn start(&self, command: Command, rules: RulesetCreated) -> io::Result<Child> {
        let (answer, answered) = mpsc::sync_channel(1);
        let start = Start {
            command,
            rules,
            answer,
        };
        let ended = || io::Error::other("the thread that starts functions has ended");
        self.starts.send(start).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

/// Capabilities of a server that runs as root are not its programs'.
fn give_up_privileges() -> Result<(), String> {
    let told = |error| format!("cannot give up privileges: {error}");
    set_no_new_privs(true).map_err(told)?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(told)
}

/// Waits for one start, and serves it after a successor was made for the next one.
fn serve(name: &'static str, starts: &Starts) {
    loop {
        let next = starts.lock().unwrap_or_else(PoisonError::into_inner).recv();
        // Otherwise the launcher is gone.
        let Ok(mut start) = next else { return };
        let theirs = Arc::clone(starts);
        let successor = thread::Builder::new()
            .name(name.into())
            .stack_size(STACK)
            .spawn(move || serve(name, &theirs));
        if let Err(error) = successor {
            // Without one this thread has to stay as it is.
            let _ = start.answer.send(Err(error));
            continue;
        }
        let restricted = start.rules.restrict_self().map_err(io::Error::other);
        // A caller that has gone meanwhile drops the pipes: the program ends.
        let _ = start
            .answer
            .send(restricted.and_then(|_| start.command.spawn()));
        return;
    }
}
