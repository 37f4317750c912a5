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
//! [`plan`] decides how many processes are kept and when they are started, from the
//! number of simultaneous calls in the last seconds. [`kept`] remembers the programs
//! and their waiting processes: which can serve a call, and which are of no use.

mod kept;
mod plan;
mod waiting;

use std::{
    fmt,
    future::pending,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use kept::{Kept, State};
use metrics::processes;
use parking_lot::{Mutex, MutexGuard};
pub use plan::Bounds;
use plan::Demand;
use tokio::{
    sync::Notify,
    time::{Instant as TokioInstant, sleep_until},
};
use waiting::{FileId, LOOKS_EVERY, Waiting};

use crate::{
    command::{Command, Variable},
    error::RunError,
    gate::Gate,
    run::{Completed, Limits, Program},
};

/// When a call's process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Before the call.
    Ahead,
    /// For the call.
    Now,
}

/// Runs programs, with processes started ahead. The waiting processes end when this value
/// and the future of [`Ahead::keep`] are dropped.
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

    /// The same, and calls `begins` when the gate has let the call in: until then it waited.
    /// `begins` may return a variable for a process that is started for this call; a process
    /// that was started ahead gets nothing but its input.
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
            None => Program::start_for_call(command, variable.as_ref(), limits.deadline).await?,
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
        if let Some(program) = state.programs.get_mut(self.command) {
            program.usage.end(Instant::now());
        }
        self.shared.tell_keeper(&state);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A call has begun or ended. While no processor is free the keeper need not know.
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
        let program = state.program(command);
        program.usage.begin(Instant::now());
        let (program, spoiled) = program.take(command, file);
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
                self.state().program(&command).add(&command, file, started);
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
        for (command, kept) in &mut state.programs {
            work.end.extend(kept.look(command, now));
            let is_unready = |waiting: &&Waiting| !waiting.is_usable(kept.ready);
            getting_ready += kept.waiting.iter().filter(is_unready).count();
        }
        let memory = state.programs.values().map(Kept::waiting_memory).sum();
        self.gate.set_ahead(memory);
        processes::AHEAD_MEMORY.set(memory);
        let waiting = state.programs.values().map(|kept| kept.waiting.len());
        processes::AHEAD_WAITING.set(waiting.sum::<usize>() as u64);
        let demands: Vec<Demand<'_>> = state.programs.values().map(Kept::demand).collect();
        let wanted = plan::keep(&demands, bounds, now);
        let mut may_start = plan::may_start(bounds, state.in_flight, getting_ready);
        for ((command, kept), wanted) in state.programs.iter_mut().zip(wanted) {
            let surplus = kept.waiting.len().saturating_sub(wanted);
            work.end.extend(kept.waiting.drain(..surplus));
            let start = (wanted - kept.waiting.len()).min(may_start);
            may_start -= start;
            let starts = (0..start).map(|_| (command.clone(), kept.file));
            work.start.extend(starts);
            let idle_from = kept.usage.idle_from(bounds.idle);
            let is_settled = kept.waiting.iter().all(Waiting::is_ready) && start == 0;
            let look = if !is_settled {
                Some(now + LOOKS_EVERY)
            } else if kept.waiting.is_empty() {
                None
            } else {
                idle_from
            };
            work.next = [work.next, look].into_iter().flatten().min();
        }
        work
    }
}
