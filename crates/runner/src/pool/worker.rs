//! Carries out what the plan decides: one loop, no I/O of its own. Starting and
//! deleting pods are tasks that it owns; their outcome comes back as an event.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use metrics::pods::REMOVALS;
use service::Trace;
use tokio::{
    sync::{mpsc, oneshot},
    task::{self, JoinError, JoinSet},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::stop::PODS_LEFT_WITHIN;

use super::{
    counted,
    handle::{Loan, Message, Pool, Slot},
    plan::{Action, Event, Refusal},
    state::{CallerId, Failure, PodId, State},
};

/// Acts on the cluster. All futures end within a bounded time of their own.
pub(crate) trait Launcher: Send + Sync + 'static {
    /// What a caller needs to use a pod.
    type Connection: Clone + Send + Sync + 'static;

    /// Brings up a pod of `function` and connects to it, or says why not, in
    /// words for the callers. `cause` is the call that it is started for; empty if it
    /// is for none.
    fn start(
        &self,
        function: &str,
        pod: PodId,
        cause: &Trace,
    ) -> impl Future<Output = Result<Self::Connection, Failure>> + Send;

    /// From now on a pod that was connected to elsewhere is known by this number.
    fn adopted(&self, pod: PodId, connection: &Self::Connection);

    /// Waits until a pod that a call was lost in answers again, or says why it is no
    /// longer any good.
    fn check(
        &self,
        connection: &Self::Connection,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Removes what there is of a pod and its service. Never at the same time as
    /// `start` of the same pod.
    fn delete(&self, pod: PodId) -> impl Future<Output = ()> + Send;
}

/// Where a caller's answer goes.
type Answer<C> = oneshot::Sender<Result<Loan<C>, Refusal>>;

/// The pool's worker.
pub(crate) struct Worker<L: Launcher> {
    launcher: Arc<L>,
    pool: Pool<L::Connection>,
    messages: mpsc::UnboundedReceiver<Message<L::Connection>>,
    scan_interval: Duration,
    state: State,
    /// Callers that wait for an answer.
    answers: HashMap<CallerId, Answer<L::Connection>>,
    connections: HashMap<PodId, L::Connection>,
    tasks: JoinSet<Result<L::Connection, Failure>>,
    /// Ends starts that nobody waits for any more.
    no_more_starts: CancellationToken,
    starting: HashMap<task::Id, PodId>,
    deleting: HashMap<task::Id, PodId>,
    /// Checks under way; they end with the worker.
    checks: JoinSet<Result<(), Failure>>,
    checking: HashMap<task::Id, PodId>,
    /// Pods that are to be deleted as soon as their start has ended, one way or
    /// the other: what is half made cannot be removed for certain.
    doomed: HashSet<PodId>,
    /// The call that is being decided on: what is started now, is started for it.
    cause: Trace,
}

impl<L: Launcher> Worker<L> {
    /// The worker, and the pool that it serves.
    /// There are at most `max_pods`, if that is not 0.
    pub(crate) fn new(
        launcher: Arc<L>,
        scan_interval: Duration,
        max_pods: usize,
    ) -> (Self, Pool<L::Connection>) {
        let (sender, messages) = mpsc::unbounded_channel();
        let pool = Pool::new(sender);
        let worker = Self {
            launcher,
            pool: pool.clone(),
            messages,
            scan_interval,
            state: State::with_max_pods(max_pods),
            answers: HashMap::new(),
            connections: HashMap::new(),
            tasks: JoinSet::new(),
            no_more_starts: CancellationToken::new(),
            starting: HashMap::new(),
            deleting: HashMap::new(),
            checks: JoinSet::new(),
            checking: HashMap::new(),
            doomed: HashSet::new(),
            cause: Trace::default(),
        };
        (worker, pool)
    }

    /// Serves the pool until it has to stop. Then every caller that waits learns that it is
    /// closed, starts under way end at once, and deletions under way are finished;
    /// pods stay, for the next runner to adopt.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        self.serve(&stop).await;
        self.answers.clear();
        self.no_more_starts.cancel();
        let finish = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(PODS_LEFT_WITHIN, finish).await;
    }

    async fn serve(&mut self, stop: &CancellationToken) {
        let mut scans = interval(self.scan_interval);
        scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Cancel-safe: none of these loses anything when another one is first.
            tokio::select! {
                () = stop.cancelled() => return,
                Some(message) = self.messages.recv() => self.hear(message),
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                Some(ended) = self.checks.join_next_with_id() => self.checked(ended),
                _ = scans.tick() => self.decide(Event::Scan { now: self.pool.now() }),
            }
        }
    }

    fn hear(&mut self, message: Message<L::Connection>) {
        match message {
            Message::Happened(event) => self.decide(event),
            Message::Acquire {
                caller,
                answer,
                event,
                trace,
            } => {
                self.answers.insert(caller, answer);
                self.cause = trace;
                self.decide(event);
                self.cause = Trace::default();
            }
            Message::Adopt {
                function,
                settings,
                connection,
            } => {
                let pod = self.state.next_pod();
                self.launcher.adopted(pod, &connection);
                self.connections.insert(pod, connection);
                let now = self.pool.now();
                self.decide(Event::Adopted {
                    function,
                    settings,
                    pod,
                    now,
                });
            }
        }
    }

    fn decide(&mut self, event: Event) {
        if let Event::GaveUp { caller, .. } = &event {
            self.answers.remove(caller);
        }
        let removal = counted::removal(&event);
        let is_traffic = counted::is_traffic(&event);
        let actions = self.state.decide(event);
        let comes_or_goes =
            |action: &Action| matches!(action, Action::Start { .. } | Action::Delete { .. });
        if !is_traffic || actions.iter().any(comes_or_goes) {
            counted::pods(&self.state);
        }
        for action in actions {
            if matches!(action, Action::Delete { .. }) {
                REMOVALS.of(removal).increment();
            }
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Lend { caller, pod } => {
                let slot = Slot {
                    pool: self.pool.clone(),
                    caller,
                    pod,
                };
                let (Some(answer), Some(connection)) = (
                    self.answers.remove(&caller),
                    self.connections.get(&pod).cloned(),
                ) else {
                    // The slot is given back as it is dropped.
                    return;
                };
                // A caller that is gone drops the loan, which gives it back.
                let _ = answer.send(Ok(Loan {
                    connection,
                    pod,
                    _slot: slot,
                }));
            }
            Action::Refuse { caller, refusal } => {
                if let Some(answer) = self.answers.remove(&caller) {
                    let _ = answer.send(Err(refusal));
                }
            }
            Action::Start { pod, function } => {
                let launcher = Arc::clone(&self.launcher);
                let stop = self.no_more_starts.clone();
                let cause = self.cause.clone();
                // What is half made is adopted or collected by the next runner.
                let start = async move {
                    let start = stop.run_until_cancelled(launcher.start(&function, pod, &cause));
                    let ended = || Err(Failure::passing("the runner is shutting down"));
                    start.await.unwrap_or_else(ended)
                };
                let task = self.tasks.spawn(start).id();
                self.starting.insert(task, pod);
            }
            Action::Check { pod } => {
                let Some(connection) = self.connections.get(&pod).cloned() else {
                    return;
                };
                let launcher = Arc::clone(&self.launcher);
                let check = async move { launcher.check(&connection).await };
                let task = self.checks.spawn(check).id();
                self.checking.insert(task, pod);
            }
            Action::Delete { pod } => {
                self.connections.remove(&pod);
                if self.starting.values().any(|starting| *starting == pod) {
                    self.doomed.insert(pod);
                } else {
                    self.delete(pod);
                }
            }
        }
    }

    fn delete(&mut self, pod: PodId) {
        let launcher = Arc::clone(&self.launcher);
        let delete = async move {
            launcher.delete(pod).await;
            // What it returns is only looked at for starts.
            Err(Failure::passing("deleted"))
        };
        let task = self.tasks.spawn(delete).id();
        self.deleting.insert(task, pod);
    }

    fn ended(&mut self, ended: Result<(task::Id, Result<L::Connection, Failure>), JoinError>) {
        let (task, result) = ended.unwrap_or_else(|error| panicked(&error));
        let now = self.pool.now();
        if let Some(pod) = self.deleting.remove(&task) {
            return self.decide(Event::Gone { pod, now });
        }
        let Some(pod) = self.starting.remove(&task) else {
            return;
        };
        if self.doomed.remove(&pod) {
            self.delete(pod);
            return;
        }
        match result {
            Ok(connection) => {
                self.connections.insert(pod, connection);
                self.decide(Event::Ready { pod, now });
            }
            Err(failure) => self.failed(pod, failure),
        }
    }

    fn checked(&mut self, ended: Result<(task::Id, Result<(), Failure>), JoinError>) {
        let (task, result) = ended.unwrap_or_else(|error| panicked(&error));
        let Some(pod) = self.checking.remove(&task) else {
            return;
        };
        match result {
            Ok(()) => self.decide(Event::Ready {
                pod,
                now: self.pool.now(),
            }),
            Err(failure) => self.failed(pod, failure),
        }
    }

    fn failed(&mut self, pod: PodId, failure: Failure) {
        let now = self.pool.now();
        self.decide(Event::Failed { pod, failure, now });
    }
}

/// What a task comes to that has panicked.
fn panicked<T>(error: &JoinError) -> (task::Id, Result<T, Failure>) {
    tracing::error!(%error, "a task of the pod pool failed");
    let failure = Failure::passing("an internal error; the runner's log says more");
    (error.id(), Err(failure))
}

#[cfg(test)]
mod tests;
