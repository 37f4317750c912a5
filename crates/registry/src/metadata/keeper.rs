//! The task behind one entry of the cache: it asks, answers callers, asks again, and
//! forgets.

use std::{
    future::pending,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep},
};

use super::{Shared, Source, count};
use crate::{client::FetchError, jitter, reference::Reference};

/// Long enough to spare a registry a pipeline's worth of the same question,
/// short enough for a person who has just pushed the missing tag.
const FAILURES_KEPT: Duration = Duration::from_secs(10);

/// A tag that was not asked for during this time is no longer refreshed.
const IDLE: Duration = Duration::from_secs(3600);

/// A refresh that failed is repeated after this time, if the TTL is not shorter.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// This part of a pause is random: what was asked about together at a
/// start is not asked about together for ever.
const CHANCE: u32 = 10;

/// What is known about one reference.
#[derive(Debug)]
pub(super) enum State<A> {
    Asking,
    Known {
        answer: Arc<A>,
        /// When the registry was asked last, whether or not it answered.
        looked: Instant,
    },
    Failed(Arc<FetchError>),
}

impl<A> State<A> {
    fn known(answer: &Arc<A>) -> Self {
        Self::Known {
            answer: Arc::clone(answer),
            looked: Instant::now(),
        }
    }
}

pub(super) struct Keeper<S: Source> {
    pub(super) source: Arc<S>,
    /// Weak: the cache owns its keepers, and not the other way round.
    pub(super) shared: Weak<Shared<S::Answer>>,
    pub(super) reference: Reference,
    /// `None`: what was found is true for ever.
    pub(super) ttl: Option<Duration>,
    pub(super) state: watch::Sender<State<S::Answer>>,
    /// Somebody wants a younger answer.
    pub(super) too_old: Arc<Notify>,
}

impl<S: Source> Keeper<S> {
    pub(super) async fn run(self) {
        // Also after a panic of the source: nobody shall find an entry that
        // nobody keeps.
        let _forget = Forget(&self);
        // On the heap, here and below: a task is as large as its largest moment for
        // all of its life, and this one lives to sleep.
        match Box::pin(self.source.fetch(&self.reference)).await {
            Ok(answer) => {
                let answer = Arc::new(answer);
                self.state.send_replace(State::known(&answer));
                self.refresh(answer).await;
            }
            Err(error) => {
                self.count(|shared| &shared.counters.failures);
                let is_definite = error.is_definite();
                self.state.send_replace(State::Failed(Arc::new(error)));
                if is_definite {
                    sleep(FAILURES_KEPT).await;
                }
            }
        }
    }

    /// Keeps an answer young for as long as somebody wants it. No answer gets older
    /// than the TTL, so random pauses are shorter, not longer.
    async fn refresh(&self, mut known: Arc<S::Answer>) {
        let mut pause = self.ttl;
        let mut in_trouble = false;
        loop {
            // Cancel-safe: neither of them does anything.
            tokio::select! {
                () = nap(pause) => {}
                () = self.too_old.notified() => {}
            }
            if self.ttl.is_some_and(|ttl| self.is_idle(ttl)) {
                return;
            }
            match Box::pin(self.look_again(&known)).await {
                Ok(found) => {
                    self.count(|shared| &shared.counters.refreshes);
                    if let Some(found) = found {
                        self.count(|shared| &shared.counters.moved);
                        self.tell_change(&known, &found);
                        known = Arc::new(found);
                    }
                    (pause, in_trouble) = (self.ttl, false);
                }
                Err(error) => {
                    self.count(|shared| &shared.counters.failures);
                    if !in_trouble {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(image = %self.reference, error, "cannot check whether it has changed in its registry; what is known stays in use");
                    }
                    let soon = |ttl: Duration| ttl.min(AFTER_FAILURE);
                    (pause, in_trouble) = (self.ttl.map(soon), true);
                }
            }
            self.state.send_replace(State::known(&known));
        }
    }

    fn tell_change(&self, known: &S::Answer, found: &S::Answer) {
        let image = &self.reference;
        match (S::digest_of(known), S::digest_of(found)) {
            (Some(from), Some(to)) => tracing::info!(%image, %from, %to, "the tag has moved"),
            _ => tracing::debug!(%image, "its list of tags has changed"),
        }
    }

    /// What the registry says now, if it is something else than before.
    async fn look_again(&self, known: &S::Answer) -> Result<Option<S::Answer>, FetchError> {
        if let Some(digest) = S::digest_of(known)
            && self.source.digest(&self.reference).await?.as_ref() == Some(digest)
        {
            return Ok(None);
        }
        let found = self.source.fetch(&self.reference).await?;
        Ok(Some(found).filter(|found| found != known))
    }

    fn is_idle(&self, ttl: Duration) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return true;
        };
        let entries = shared.entries();
        let last_asked = entries.get(&self.reference).map(|entry| entry.last_asked);
        last_asked.is_none_or(|last_asked| last_asked.elapsed() > IDLE.max(ttl))
    }

    fn count(&self, counter: impl Fn(&Shared<S::Answer>) -> &std::sync::atomic::AtomicU64) {
        if let Some(shared) = self.shared.upgrade() {
            count(counter(&shared));
        }
    }
}

/// Sleeps for almost this long; `None`: for ever.
async fn nap(pause: Option<Duration>) {
    match pause {
        Some(pause) => sleep(pause - jitter::below(pause / CHANCE)).await,
        None => pending().await,
    }
}

/// Removes the entry when the keeper ends, if it is still the keeper's own.
struct Forget<'a, S: Source>(&'a Keeper<S>);

impl<S: Source> Drop for Forget<'_, S> {
    fn drop(&mut self) {
        let Keeper {
            shared,
            reference,
            state,
            ..
        } = self.0;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let mut entries = shared.entries();
        let is_own = |entry: &super::Entry<S::Answer>| entry.state.same_channel(&state.subscribe());
        if entries.get(reference).is_some_and(is_own) {
            entries.remove(reference);
        }
    }
}
