//! The programs that were called before, and their processes that wait for a call.
//!
//! A program that does more than wait before it is given its input (see
//! [`NotAhead`]) is started per call for as long as its file stays the same. A
//! process of a file that was replaced is not used.

use std::{
    collections::{HashMap, VecDeque},
    io::ErrorKind,
    time::Instant,
};

use super::{
    plan::{Demand, Usage},
    waiting::{FileId, NotAhead, Ready, Waiting},
};
use crate::{command::Command, run::Program};

#[derive(Default)]
pub(super) struct State {
    pub(super) programs: HashMap<Command, Kept>,
    /// Calls under way, over all programs.
    pub(super) in_flight: usize,
}

impl State {
    pub(super) fn program(&mut self, command: &Command) -> &mut Kept {
        if !self.programs.contains_key(command) {
            let new = Kept::new(Instant::now());
            self.programs.insert(command.clone(), new);
        }
        self.programs.get_mut(command).expect("was just inserted")
    }
}

/// What is kept of a program that was called before.
pub(super) struct Kept {
    pub(super) usage: Usage,
    /// The file that all of this is about.
    pub(super) file: Option<FileId>,
    /// It cannot be started ahead.
    is_plain: bool,
    /// How the last process that became ready did so.
    pub(super) ready: Option<Ready>,
    /// The oldest first, so that none waits for ever.
    pub(super) waiting: VecDeque<Waiting>,
}

impl Kept {
    fn new(now: Instant) -> Self {
        Self {
            usage: Usage::new(now),
            file: None,
            is_plain: false,
            ready: None,
            waiting: VecDeque::new(),
        }
    }

    /// What the processes that wait have together, as far as known.
    pub(super) fn waiting_memory(&self) -> u64 {
        self.ready.map_or(0, |ready| ready.memory) * self.waiting.len() as u64
    }

    pub(super) fn demand(&self) -> Demand<'_> {
        Demand {
            usage: &self.usage,
            memory: self.ready.map_or(0, |ready| ready.memory),
            is_plain: self.is_plain || self.file.is_none(),
        }
    }

    /// Looks at the processes that get ready; returns those that are of no use.
    pub(super) fn look(&mut self, command: &Command, now: Instant) -> VecDeque<Waiting> {
        for waiting in &mut self.waiting {
            match waiting.look(now) {
                Ok(None) => {}
                Ok(Some(ready)) => self.ready = Some(ready),
                Err(reason) => return self.fall_back(command, &reason),
            }
        }
        VecDeque::new()
    }

    /// Adds a process that was started, or notes that it could not be.
    pub(super) fn add(
        &mut self,
        command: &Command,
        file: Option<FileId>,
        started: Result<Waiting, NotAhead>,
    ) {
        // Otherwise the file was replaced meanwhile: what was started ends here.
        if self.file == file {
            match started {
                Ok(waiting) => self.waiting.push_back(waiting),
                // Still being written: tried again after the next call, as for a new file.
                Err(NotAhead::Start(busy)) if busy.kind() == ErrorKind::ExecutableFileBusy => {
                    self.file = None;
                }
                Err(reason) => drop(self.fall_back(command, &reason)),
            }
        }
    }

    /// A process for a call, if the program's file is still the same; and those
    /// that are of no use any more.
    pub(super) fn take(
        &mut self,
        command: &Command,
        file: Option<FileId>,
    ) -> (Option<Program>, VecDeque<Waiting>) {
        if self.file != file {
            self.file = file;
            self.is_plain = false;
            self.ready = None;
            return (None, std::mem::take(&mut self.waiting));
        }
        let usable = |waiting: &mut Waiting| waiting.is_usable(self.ready);
        match self.waiting.pop_front_if(usable).map(Waiting::take) {
            None => (None, VecDeque::new()),
            Some(Ok(program)) => (Some(program), VecDeque::new()),
            Some(Err(reason)) => (None, self.fall_back(command, &reason)),
        }
    }

    /// From now on the program is started when it is called; returns the
    /// processes that wait in vain.
    fn fall_back(&mut self, command: &Command, reason: &NotAhead) -> VecDeque<Waiting> {
        let program = command.program().display();
        tracing::debug!("{program} is not started ahead any more: {reason}");
        self.is_plain = true;
        std::mem::take(&mut self.waiting)
    }
}
