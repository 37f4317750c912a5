//! The gate that programs pass before they start: no more at a time than
//! processors and memory allow.
//!
//! ```text
//! enter ──► plan ──► Place ──► the program runs ──► dropped: its room is free
//!             ▲                      │
//!             └── watcher: how much does each have? who has to go? ──┘
//! ```
//!
//! [`plan`] decides; [`needs`] knows from earlier calls how much memory a program will
//! need. This module has the callers that wait, and the watcher; [`files`] watches what
//! programs write.

mod files;
mod needs;
mod plan;
mod watched;

use std::{collections::HashMap, fmt, future::pending, sync::Arc, thread, time::Instant};

use metrics::budget;
use needs::{Need, Needs};
use parking_lot::{Mutex, MutexGuard};
use plan::{Action, Event, Plan, Ticket};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant as TokioInstant, timeout_at},
};
pub(crate) use watched::Subject;
use watched::Watched;

use crate::{command::Command, error::Bound, strays, sys};

/// Calls per processor that may use it when another one begins: enough to keep
/// it busy while others read and write, not more than it can turn to.
const BUSY_PER_PROCESSOR: usize = 4;

/// If the system has this many more threads than at the last check, the processes of
/// every call are counted.
const SURGE: i16 = 64;

/// A program that is expected to need less becomes the first to go when it is first
/// looked at, and not at its start: most have ended by then, and telling the kernel
/// costs more than everything else that the gate does.
const SMALL: u64 = 64 << 20;

/// Lets programs start.
pub struct Gate {
    shared: Arc<Shared>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

struct Shared {
    state: Mutex<State>,
    /// Something runs that has to be watched.
    began: Notify,
    /// The same, of what has temporary files.
    began_to_write: Notify,
}

struct State {
    plan: Plan,
    needs: Needs,
    last: Ticket,
    waiting: HashMap<Ticket, oneshot::Sender<()>>,
    running: HashMap<Ticket, Watched>,
    /// How many threads the system had at the last look.
    threads: u16,
}

/// Why a call was not let in.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It never could be: what it had last time, and what there is.
    NeverFits { needed: u64, available: u64 },
    /// Its time was up.
    Late { running: usize, queued: usize },
}

/// A call had more than was left for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgrown {
    pub(crate) had: u64,
    pub(crate) left: u64,
    /// Without the others it might have fitted.
    pub(crate) was_alone: bool,
}

/// Why a call has to be ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Over {
    Outgrown(Outgrown),
    /// It took more than its own profile allows, whatever there is.
    Bound(Bound),
}

/// Room for one call, until dropped.
pub(crate) struct Place {
    shared: Arc<Shared>,
    ticket: Ticket,
    command: Command,
    size: usize,
    expected: u64,
    over: oneshot::Receiver<Over>,
    /// The most that this process ever had when the program was started.
    own_peak: u64,
}

impl Gate {
    /// For this much memory, in bytes, of this process and all it starts.
    pub fn new(memory: u64) -> Self {
        let processors = thread::available_parallelism().map_or(1, Into::into);
        budget::LIMIT.of(budget::Part::Processes).set(memory);
        let bounds = plan::Bounds {
            memory,
            busy: BUSY_PER_PROCESSOR * processors,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                plan: Plan::new(bounds),
                needs: Needs::default(),
                last: 0,
                waiting: HashMap::new(),
                running: HashMap::new(),
                threads: 0,
            }),
            began: Notify::new(),
            began_to_write: Notify::new(),
        });
        Self { shared }
    }

    /// Watches what runs, for ever: no program that outgrows its place is ended
    /// unless somebody runs this.
    pub(crate) fn watch(&self) -> impl Future<Output = ()> + Send + use<> {
        let (memory, files) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        async move {
            // Neither ever ends.
            tokio::join!(memory.watch(), files.watch_files());
        }
    }

    /// Waits for room for a call of `command` on `size` bytes; `alone`: for all
    /// the room there is, because an earlier attempt took more than expected.
    pub(crate) async fn enter(
        &self,
        command: &Command,
        size: usize,
        alone: bool,
        deadline: TokioInstant,
    ) -> Result<Place, Refused> {
        let (admitted, place) = {
            let mut state = self.shared.state();
            let available = state.plan.available();
            let expected = match state.needs.of(command, size, Instant::now()) {
                Need::TooMuch(needed) => return Err(Refused::NeverFits { needed, available }),
                Need::About(_) if alone => available,
                Need::About(expected) => expected,
            };
            state.last += 1;
            let ticket = state.last;
            let (admit, admitted) = oneshot::channel();
            let (end, over) = oneshot::channel();
            state.waiting.insert(ticket, admit);
            let watched = Watched::new(command.profile().cloned(), end);
            state.running.insert(ticket, watched);
            let place = Place {
                shared: Arc::clone(&self.shared),
                ticket,
                command: command.clone(),
                size,
                expected,
                over,
                own_peak: 0,
            };
            let actions = state.plan.on(Event::Asked { ticket, expected });
            state.act(actions);
            (admitted, place)
        };
        // Dropping the place takes it out of the queue.
        match timeout_at(deadline, admitted).await {
            Ok(_) => Ok(place),
            Err(_) => {
                let state = self.shared.state();
                Err(Refused::Late {
                    running: state.plan.running(),
                    queued: state.plan.queued(),
                })
            }
        }
    }

    /// What processes have that wait for their call.
    pub(crate) fn set_ahead(&self, memory: u64) {
        let mut state = self.shared.state();
        let actions = state.plan.on(Event::Ahead(memory));
        state.act(actions);
    }
}

impl Place {
    /// The program has been started.
    pub(crate) fn watch(&mut self, subject: Subject) {
        self.own_peak = sys::own_peak();
        if self.expected >= SMALL {
            sys::make_first_to_go(subject.leader());
        }
        let writes = subject.writes();
        let mut state = self.shared.state();
        if let Some(watched) = state.running.get_mut(&self.ticket) {
            watched.begin(subject);
        }
        drop(state);
        self.shared.began.notify_one();
        if writes {
            self.shared.began_to_write.notify_one();
        }
    }

    /// Waits until the program has to be ended. Cancel-safe.
    pub(crate) async fn over(&mut self) -> Over {
        match (&mut self.over).await {
            Ok(Over::Bound(bound)) => Over::Bound(bound),
            Ok(Over::Outgrown(outgrown)) => {
                let mut state = self.shared.state();
                let (command, size) = (&self.command, self.size);
                if outgrown.was_alone {
                    let now = Instant::now();
                    state.needs.outgrew(command, size, outgrown.had, now);
                } else {
                    state.needs.learn(command, size, outgrown.had);
                }
                Over::Outgrown(outgrown)
            }
            Err(_) => pending().await,
        }
    }

    /// The program has ended by itself; `peak` is what the kernel counted.
    pub(crate) fn ended(&self, peak: u64) {
        let mut state = self.shared.state();
        let seen = state.running.get(&self.ticket).map_or(0, Watched::peak);
        // The kernel counts not less than our own memory: a smaller program is
        // judged by what was seen of it, if it lived long enough for a look.
        let needed = if peak > self.own_peak || seen == 0 {
            peak.max(seen)
        } else {
            seen
        };
        state.needs.learn(&self.command, self.size, needed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.waiting.remove(&self.ticket);
        state.running.remove(&self.ticket);
        let actions = state.plan.on(Event::Left(self.ticket));
        state.act(actions);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    async fn watch(self: Arc<Self>) {
        loop {
            let next = {
                let state = self.state();
                (state.plan.running() > 0).then(|| state.plan.next_look())
            };
            match next {
                None => self.began.notified().await,
                Some(next) => {
                    tokio::time::sleep(next).await;
                    self.look();
                }
            }
        }
    }

    /// Looks at everything that runs. Under the lock, which calls take: some
    /// microseconds for each process.
    fn look(&self) {
        let mut state = self.state();
        if state.plan.running() == 0 {
            return;
        }
        let own = strays::own_memory(rustix::process::getpid());
        let now = Instant::now();
        state.count(now);
        let seen = |(ticket, watched): (&Ticket, &mut Watched)| watched.look(*ticket, now);
        let calls = state.running.iter_mut().filter_map(seen).collect();
        let actions = state.plan.on(Event::Measured { own, calls });
        state.act(actions);
    }
}

impl State {
    /// Counts the processes of calls: each at intervals, and all of them if the
    /// system has many more threads than at the last look, because somebody may
    /// be starting processes without end.
    fn count(&mut self, now: Instant) {
        // The kernel counts in 16 bits; what matters is by how much it grew.
        let threads = rustix::system::sysinfo().procs;
        let grown = threads.wrapping_sub(self.threads).cast_signed();
        self.threads = threads;
        let is_surge = grown > SURGE;
        let is_due = |watched: &Watched| is_surge || watched.is_due(now);
        if self.running.values().any(is_due) {
            let adopted = strays::adopted_and_marked();
            for watched in self.running.values_mut().filter(|watched| is_due(watched)) {
                watched.count(&adopted, now);
            }
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        budget::USED
            .of(budget::Part::Processes)
            .set(self.plan.used());
        for action in actions {
            match action {
                Action::Admit(ticket) => {
                    if let Some(admit) = self.waiting.remove(&ticket) {
                        // Gone by now: then its place is dropped and leaves again.
                        let _ = admit.send(());
                    }
                }
                Action::End {
                    ticket,
                    had,
                    left,
                    was_alone,
                } => {
                    let watched = self.running.get_mut(&ticket);
                    if let Some(end) = watched.and_then(Watched::end) {
                        let _ = end.send(Over::Outgrown(Outgrown {
                            had,
                            left,
                            was_alone,
                        }));
                    }
                }
            }
        }
    }
}
