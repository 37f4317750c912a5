//! How callers get a pod: they ask, wait as long as they like, and give the pod back
//! by dropping their loan. Ownership counts the places and slots, no counter does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use service::{Trace, trace::SpanContext};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    plan::{Event, Refusal},
    state::{CallerId, Failure, PodId, Settings},
};

/// What the worker hears.
pub(super) enum Message<C> {
    /// A request, and where its answer goes.
    Acquire {
        caller: CallerId,
        event: Event,
        trace: Trace,
        answer: oneshot::Sender<Result<Loan<C>, Refusal>>,
    },
    /// Anything else that happened.
    Happened(Event),
    /// A pod of an earlier runner, with a connection to it.
    Adopt {
        function: String,
        settings: Settings,
        connection: C,
    },
}

/// The pool as callers and watchers see it. Cheap to clone.
#[derive(Debug)]
pub(crate) struct Pool<C> {
    messages: mpsc::UnboundedSender<Message<C>>,
    began: Instant,
    last_caller: Arc<AtomicU64>,
}

impl<C> Clone for Pool<C> {
    fn clone(&self) -> Self {
        Self {
            messages: self.messages.clone(),
            began: self.began,
            last_caller: Arc::clone(&self.last_caller),
        }
    }
}

/// Why there is no pod for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquireError {
    Refused(Refusal),
    /// The pool is shutting down.
    Closed,
}

impl AcquireError {
    /// The start that failed, if it is part of a trace.
    pub(crate) fn failed_start(&self) -> Option<&SpanContext> {
        match self {
            Self::Refused(Refusal::PodFailed(failure) | Refusal::Remembered { failure, .. }) => {
                failure.start.as_deref()
            }
            _ => None,
        }
    }
}

/// A pod that may be used until this is dropped.
#[derive(Debug)]
pub(crate) struct Loan<C> {
    pub(crate) connection: C,
    pub(crate) pod: PodId,
    pub(super) _slot: Slot<C>,
}

/// A caller's slot in a pod; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot<C> {
    pub(super) pool: Pool<C>,
    pub(super) caller: CallerId,
    pub(super) pod: PodId,
}

impl<C> Drop for Slot<C> {
    fn drop(&mut self) {
        let (caller, pod, now) = (self.caller, self.pod, self.pool.now());
        self.pool.tell(Event::Released { caller, pod, now });
    }
}

/// A caller's place in the waitlist; dropping it before the answer has come gives
/// it up.
struct Place<'a, C> {
    pool: &'a Pool<C>,
    caller: CallerId,
    function: &'a str,
    is_answered: bool,
}

impl<C> Drop for Place<'_, C> {
    fn drop(&mut self) {
        if !self.is_answered {
            let (caller, function) = (self.caller, self.function.to_owned());
            self.pool.tell(Event::GaveUp { caller, function });
        }
    }
}

impl<C> Pool<C> {
    pub(super) fn new(messages: mpsc::UnboundedSender<Message<C>>) -> Self {
        Self {
            messages,
            began: Instant::now(),
            last_caller: Arc::default(),
        }
    }

    /// Waits for a pod of `function`. Dropping the future gives the place up.
    pub(crate) async fn acquire(
        &self,
        function: &str,
        settings: Settings,
    ) -> Result<Loan<C>, AcquireError> {
        let trace = Trace::default();
        self.acquire_again(function, settings, &[], &trace).await
    }

    /// The same for a caller that was sent to some pods before, in vain: any other is
    /// better. A pod that has to be started for it is started within `trace`.
    pub(crate) async fn acquire_again(
        &self,
        function: &str,
        settings: Settings,
        avoid: &[PodId],
        trace: &Trace,
    ) -> Result<Loan<C>, AcquireError> {
        let caller = CallerId(self.last_caller.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let event = Event::Request {
            caller,
            function: function.to_owned(),
            settings,
            avoid: avoid.to_vec(),
            now: self.now(),
        };
        let mut place = Place {
            pool: self,
            caller,
            function,
            is_answered: false,
        };
        let asked = self.messages.send(Message::Acquire {
            caller,
            event,
            trace: trace.clone(),
            answer,
        });
        asked.map_err(|_| AcquireError::Closed)?;
        let answer = answered.await;
        place.is_answered = true;
        match answer {
            Ok(answer) => answer.map_err(AcquireError::Refused),
            Err(_) => Err(AcquireError::Closed),
        }
    }

    /// Has a pod of `function` started, if there is none.
    pub(crate) fn warm(&self, function: &str, settings: Settings) {
        let function = function.to_owned();
        self.tell(Event::Warm {
            function,
            settings,
            now: self.now(),
        });
    }

    /// Reports that other settings hold for a function, which may have pods.
    pub(crate) fn settled(&self, function: &str, settings: Settings) {
        let function = function.to_owned();
        self.tell(Event::Settled { function, settings });
    }

    /// Takes over a pod that somebody else has started.
    pub(crate) fn adopt(&self, function: &str, settings: Settings, connection: C) {
        let function = function.to_owned();
        let _ = self.messages.send(Message::Adopt {
            function,
            settings,
            connection,
        });
    }

    /// Reports that a call was lost in a pod, or could not be sent to it: nobody gets
    /// it before it has answered.
    pub(crate) fn doubted(&self, pod: PodId) {
        self.tell(Event::Doubted { pod });
    }

    /// Reports that a pod cannot be used any more.
    pub(crate) fn failed(&self, pod: PodId, failure: Failure) {
        let now = self.now();
        self.tell(Event::Failed { pod, failure, now });
    }

    /// Reports that pods are made differently now, of one function or of all: starts
    /// that failed are forgotten.
    pub(crate) fn changed(&self, function: Option<&str>) {
        let function = function.map(str::to_owned);
        self.tell(Event::Changed { function });
    }

    /// Reports that a pod is to be replaced.
    pub(crate) fn outdated(&self, pod: PodId) {
        let now = self.now();
        self.tell(Event::Outdated { pod, now });
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// After the worker's end nobody is interested.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.messages.send(Message::Happened(event));
    }
}
