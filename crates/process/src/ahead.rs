//! Programs that are started before their input is there.
//!
//! Much of a short call is the program's start. So processes of programs that
//! were used lately are kept started, waiting for their input. Each serves
//! exactly one call: calls are as separate as if each had started its own.
//!
//! ```text
//! run ──► a waiting process? ── yes ──► feed it
//!              │ no                       ▲
//!              └──► start one ────────────┘
//! keeper: after each call and each start, as `plan` says: start, or end
//! ```
//!
//! How many are kept, and when they are started, is decided by [`plan`], which
//! follows the calls at the same time lately. A program that does more than wait
//! before it is given its input (see [`waiting`]) is started per call for as long
//! as its file stays the same. A process of a file that was replaced is not used.

mod plan;
mod waiting;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use metrics::processes;
pub use plan::Bounds;
use plan::{Demand, Usage};
use tokio::{
    sync::Notify,
    time::{Instant as TokioInstant, sleep_until},
};
use waiting::{FileId, LOOK, NotAhead, Ready, Waiting};

use crate::{
    command::{Command, Variable},
    gate::Gate,
    run::{Completed, Limits, Program, RunError},
};

/// When a call's process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Before the call.
    Ahead,
    /// For the call.
    Now,
}

/// Runs programs, with processes started ahead. Those end with this value and
/// what [`Ahead::keep`] has returned.
pub struct Ahead {
    shared: Arc<Shared>,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

struct Shared {
    bounds: Bounds,
    gate: Gate,
    state: Mutex<State>,
    /// There may be something to start or to end.
    changed: Notify,
}

#[derive(Default)]
struct State {
    uses: HashMap<Command, Use>,
    in_flight: usize,
}

/// A program that was called before.
struct Use {
    usage: Usage,
    /// The file that all of this is about.
    file: Option<FileId>,
    is_plain: bool,
    /// How the last process that became ready did so.
    ready: Option<Ready>,
    /// The oldest first, so that none waits for ever.
    waiting: VecDeque<Waiting>,
}

/// What the keeper has to do.
#[derive(Default)]
struct Work {
    start: Vec<(Command, Option<FileId>)>,
    end: Vec<Waiting>,
    /// When to look again, whatever happens until then.
    next: Option<Instant>,
}

impl Bounds {
    /// As many as `count` processes, each program's until it was not used for `idle`.
    pub fn new(count: usize, idle: Duration) -> Self {
        Self {
            count,
            idle,
            // A Go function takes 2 to 4 MB while it waits; what takes much more
            // is not worth a server's memory.
            memory: 64 * 1024 * 1024,
            processors: thread::available_parallelism().map_or(1, Into::into),
        }
    }
}

impl Ahead {
    /// Processes are started through `gate`.
    pub fn new(bounds: Bounds, gate: Gate) -> Self {
        let shared = Arc::new(Shared {
            bounds,
            gate,
            state: Mutex::default(),
            changed: Notify::new(),
        });
        Self { shared }
    }

    /// Starts and ends processes, and watches those that run, for ever. Its owner has
    /// to run it, and to notice if it ends: without it nothing is started ahead,
    /// and no process that takes too much memory is ended.
    pub fn keep(&self) -> impl Future<Output = ()> + Send + use<> {
        let watch = self.shared.gate.watch();
        let shared = Arc::clone(&self.shared);
        async move {
            let keep = async {
                match shared.bounds.count {
                    0 => pending().await,
                    _ => Arc::clone(&shared).keep().await,
                }
            };
            tokio::join!(watch, keep);
        }
    }

    /// Runs `command` on `input` as [`run`](crate::run) does, with a waiting process
    /// if there is one, once the gate lets it in. A program that had to give way
    /// to others is run once more, with nobody beside it.
    pub async fn run(
        &self,
        command: &Command,
        input: Bytes,
        limits: Limits,
    ) -> Result<Completed, RunError> {
        self.run_telling(command, input, limits, |_| None).await
    }

    /// The same, and tells when the gate has let the call in: until then it waited. What
    /// it hears may give a process that is started for this call a variable; one that was
    /// started ahead cannot be told anything but its input.
    pub async fn run_telling(
        &self,
        command: &Command,
        input: Bytes,
        limits: Limits,
        mut begins: impl FnMut(Begin) -> Option<Variable>,
    ) -> Result<Completed, RunError> {
        let again = input.clone();
        let first = self.run_once(command, input, limits, false, &mut begins);
        match first.await {
            Err(RunError::NotEnoughMemory {
                has_run: true,
                was_alone: false,
                ..
            }) => {
                let second = self.run_once(command, again, limits, true, &mut begins);
                second.await
            }
            answer => answer,
        }
    }

    async fn run_once(
        &self,
        command: &Command,
        input: Bytes,
        limits: Limits,
        alone: bool,
        begins: &mut impl FnMut(Begin) -> Option<Variable>,
    ) -> Result<Completed, RunError> {
        let entered = self
            .shared
            .gate
            .enter(command, input.len(), alone, limits.deadline);
        let mut place = entered.await?;
        // Counted until the answer is there.
        let (_call, program) = match self.shared.bounds.count {
            0 => (None, None),
            _ => {
                let (call, program) = self.shared.begin(command);
                let found = match &program {
                    Some(_) => processes::Ahead::Hit,
                    None => processes::Ahead::Miss,
                };
                processes::AHEAD.of(found).increment();
                (Some(call), program)
            }
        };
        let begin = match &program {
            Some(_) => Begin::Ahead,
            None => Begin::Now,
        };
        let variable = begins(begin);
        let program = match program {
            Some(program) => program,
            None => Program::start_for_call(command, variable.as_ref())?,
        };
        program.run(input, limits, Some(&mut place)).await
    }
}

/// A call under way; counted until this is dropped.
struct InFlight<'a> {
    shared: &'a Shared,
    command: &'a Command,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.in_flight -= 1;
        if let Some(program) = state.uses.get_mut(self.command) {
            program.usage.end(Instant::now());
        }
        self.shared.tell_keeper(&state);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has begun or ended. While no processor is free there is no news in it.
    fn tell_keeper(&self, state: &State) {
        if plan::may_start(&self.bounds, state.in_flight, 0) > 0 {
            self.changed.notify_one();
        }
    }

    /// Counts a call, and hands it a process if one waits.
    fn begin<'a>(&'a self, command: &'a Command) -> (InFlight<'a>, Option<Program>) {
        let file = FileId::of(command);
        let mut state = self.state();
        state.in_flight += 1;
        let used = state.used(command);
        used.usage.begin(Instant::now());
        let (program, spoiled) = used.take(command, file);
        self.tell_keeper(&state);
        drop(state);
        // Ending them takes a moment: nobody else should wait for it.
        drop(spoiled);
        let call = InFlight {
            shared: self,
            command,
        };
        (call, program)
    }

    async fn keep(self: Arc<Self>) {
        loop {
            let Work { start, end, next } = self.work(Instant::now());
            drop(end);
            for (command, file) in start {
                let started = Waiting::start(&command);
                self.state().used(&command).add(&command, file, started);
            }
            let later = async {
                match next {
                    Some(next) => sleep_until(TokioInstant::from_std(next)).await,
                    None => pending().await,
                }
            };
            // Cancel-safe: a notice is kept until it is heard, and the time is
            // looked up anew.
            tokio::select! {
                () = self.changed.notified() => {}
                () = later => {}
            }
        }
    }

    /// Looks at everything: what is to be started or ended now, and when to look again.
    fn work(&self, now: Instant) -> Work {
        let bounds = &self.bounds;
        let mut state = self.state();
        let mut work = Work::default();
        let mut getting_ready = 0;
        for (command, used) in &mut state.uses {
            work.end.extend(used.look(command, now));
            let is_unready = |waiting: &&Waiting| !waiting.is_usable(used.ready);
            getting_ready += used.waiting.iter().filter(is_unready).count();
        }
        let memory = state.uses.values().map(Use::waiting_memory).sum();
        self.gate.set_ahead(memory);
        processes::AHEAD_MEMORY.set(memory);
        let waiting = state.uses.values().map(|used| used.waiting.len());
        processes::AHEAD_WAITING.set(waiting.sum::<usize>() as u64);
        let demands: Vec<Demand<'_>> = state.uses.values().map(Use::demand).collect();
        let keep = plan::keep(&demands, bounds, now);
        let mut may_start = plan::may_start(bounds, state.in_flight, getting_ready);
        for ((command, used), keep) in state.uses.iter_mut().zip(keep) {
            let surplus = used.waiting.len().saturating_sub(keep);
            work.end.extend(used.waiting.drain(..surplus));
            let start = (keep - used.waiting.len()).min(may_start);
            may_start -= start;
            let wanted = (0..start).map(|_| (command.clone(), used.file));
            work.start.extend(wanted);
            let idle_from = used.usage.idle_from(bounds.idle);
            let look = match used.waiting.iter().all(Waiting::is_ready) && start == 0 {
                true if used.waiting.is_empty() => None,
                true => idle_from,
                false => Some(now + LOOK),
            };
            work.next = [work.next, look].into_iter().flatten().min();
        }
        work
    }
}

impl State {
    fn used(&mut self, command: &Command) -> &mut Use {
        if !self.uses.contains_key(command) {
            let new = Use {
                usage: Usage::new(Instant::now()),
                file: None,
                is_plain: false,
                ready: None,
                waiting: VecDeque::new(),
            };
            self.uses.insert(command.clone(), new);
        }
        self.uses.get_mut(command).expect("was just inserted")
    }
}

impl Use {
    /// What the processes that wait have together, as far as known.
    fn waiting_memory(&self) -> u64 {
        self.ready.map_or(0, |ready| ready.memory) * self.waiting.len() as u64
    }

    fn demand(&self) -> Demand<'_> {
        Demand {
            usage: &self.usage,
            memory: self.ready.map_or(0, |ready| ready.memory),
            is_plain: self.is_plain || self.file.is_none(),
        }
    }

    /// Looks at the processes that get ready; returns those that are of no use.
    fn look(&mut self, command: &Command, now: Instant) -> VecDeque<Waiting> {
        for waiting in &mut self.waiting {
            match waiting.look(now) {
                Ok(None) => {}
                Ok(Some(ready)) => self.ready = Some(ready),
                Err(reason) => return self.fall_back(command, &reason),
            }
        }
        VecDeque::new()
    }

    /// Takes in a process that was started, or the news that it could not be.
    fn add(&mut self, command: &Command, file: Option<FileId>, started: Result<Waiting, NotAhead>) {
        // Otherwise the file was replaced meanwhile: what was started ends here.
        if self.file == file {
            match started {
                Ok(waiting) => self.waiting.push_back(waiting),
                Err(reason) => drop(self.fall_back(command, &reason)),
            }
        }
    }

    /// A process for a call, if the program's file is still the same; and those
    /// that are of no use any more.
    fn take(
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
