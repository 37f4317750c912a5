//! Threads that start programs.
//!
//! Loading a filter costs as much as starting a small program, because the kernel
//! compiles it. So one thread loads it once and makes others, which inherit it. Each of
//! them takes Landlock rules on itself, and starts the programs that they hold for:
//!
//! ```text
//! thread (filtered) ── makes ──► cell (takes the rules on itself) ── starts ──► program
//! ```
//!
//! The programs that a cell starts are in one Landlock domain, whose processes may signal
//! each other. So a cell is used again only when everything that it started has ended.

use std::{
    io,
    process::{Child, Command},
    sync::mpsc,
    thread,
};

use landlock::RulesetCreated;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use super::filter;
use crate::dead_end::DeadEnd;

/// A start needs little more than the standard library's own frames.
const STACK: usize = 128 * 1024;

pub(super) struct Launcher {
    wishes: mpsc::Sender<Wish>,
}

/// For a cell with these rules.
struct Wish {
    rules: RulesetCreated,
    answer: mpsc::SyncSender<io::Result<Cell>>,
}

/// A confined thread. It ends with this value; what it has started goes on.
#[derive(Debug)]
pub(super) struct Cell {
    starts: mpsc::Sender<Start>,
}

/// A program to be started.
struct Start {
    command: Command,
    answer: mpsc::SyncSender<io::Result<Child>>,
}

impl Launcher {
    /// Begins the first thread. `network`: whether programs may use it; `None`: they
    /// are not filtered, and keep their privileges. Also whether it is filtered.
    pub(super) fn new(
        name: &'static str,
        network: Option<bool>,
    ) -> io::Result<(Self, Result<(), String>)> {
        let (wishes, wished) = mpsc::channel::<Wish>();
        let (report, reported) = mpsc::sync_channel(1);
        let first = move || {
            // Without it no confined program could ever be started, and nobody would know.
            let dead_end = DeadEnd::of("confines functions");
            let filtered = network.map_or(Ok(()), |network| {
                give_up_privileges().and_then(|()| filter::apply(network))
            });
            // There is no receiver only if the caller has gone.
            let _ = report.send(filtered);
            for wish in wished {
                let _ = wish.answer.send(Cell::begin(name, wish.rules));
            }
            // The launcher was dropped: nobody wishes anything any more.
            dead_end.avoid();
        };
        thread::Builder::new()
            .name(name.into())
            .stack_size(STACK)
            .spawn(first)?;
        let filtered = reported
            .recv()
            .unwrap_or_else(|_| Err("its thread ended".to_owned()));
        Ok((Self { wishes }, filtered))
    }

    pub(super) fn cell(&self, rules: RulesetCreated) -> io::Result<Cell> {
        let (answer, answered) = mpsc::sync_channel(1);
        let wish = Wish { rules, answer };
        self.wishes.send(wish).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

impl Cell {
    /// To be called by the thread that it inherits from.
    fn begin(name: &str, rules: RulesetCreated) -> io::Result<Self> {
        let (starts, started) = mpsc::channel::<Start>();
        let serve = move || {
            let confined = rules.restrict_self();
            for mut start in started {
                let child = match &confined {
                    Ok(_) => start.command.spawn(),
                    Err(error) => Err(io::Error::other(error.to_string())),
                };
                // A caller that has gone meanwhile drops the pipes: the program ends.
                let _ = start.answer.send(child);
            }
        };
        thread::Builder::new()
            .name(name.into())
            .stack_size(STACK)
            .spawn(serve)?;
        Ok(Self { starts })
    }

    pub(super) fn start(&self, command: Command) -> io::Result<Child> {
        let (answer, answered) = mpsc::sync_channel(1);
        let start = Start { command, answer };
        self.starts.send(start).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that starts functions has ended")
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
