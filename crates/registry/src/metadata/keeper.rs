//! The task that knows one image: asks, tells, asks again, and forgets.

use std::{
    future::pending,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::watch, time::sleep};

use super::{Shared, Source, count};
use crate::{
    client::{FetchError, Image},
    jitter,
    reference::Reference,
};

/// Long enough to spare a registry a pipeline's worth of the same question,
/// short enough for a person who has just pushed the missing tag.
const FAILURES_KEPT: Duration = Duration::from_secs(10);

/// A tag that was not asked for during this time is no longer refreshed.
const IDLE: Duration = Duration::from_secs(3600);

/// A refresh that failed is repeated after this time, if the TTL is not shorter.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// This part of a pause is left to chance: what was asked about together at a
/// start is not asked about together for ever.
const CHANCE: u32 = 10;

/// What is known about one image.
#[derive(Debug)]
pub(super) enum State {
    Asking,
    Known(Arc<Image>),
    Failed(Arc<FetchError>),
}

pub(super) struct Keeper<S> {
    pub(super) source: Arc<S>,
    /// Weak: the cache owns its keepers, and not the other way round.
    pub(super) shared: Weak<Shared>,
    pub(super) reference: Reference,
    /// `None`: what was found is true for ever.
    pub(super) ttl: Option<Duration>,
    pub(super) state: watch::Sender<State>,
}

impl<S: Source> Keeper<S> {
    pub(super) async fn run(self) {
        // Also after a panic of the source: nobody shall find an entry that
        // nobody keeps.
        let _forget = Forget(&self);
        // On the heap, here and below: a task is as large as its largest moment for
        // all of its life, and this one lives to sleep.
        match Box::pin(self.source.fetch(&self.reference)).await {
            Ok(image) => {
                let image = Arc::new(image);
                self.state.send_replace(State::Known(Arc::clone(&image)));
                match self.ttl {
                    Some(ttl) => self.refresh(image, ttl).await,
                    None => pending().await,
                }
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

    /// Keeps a tag's answer young for as long as somebody wants it. No answer gets
    /// older than the TTL, so chance makes pauses shorter, not longer.
    async fn refresh(&self, mut image: Arc<Image>, ttl: Duration) {
        let mut pause = ttl;
        let mut in_trouble = false;
        loop {
            sleep(pause - jitter::below(pause / CHANCE)).await;
            if self.is_idle(ttl) {
                return;
            }
            match Box::pin(self.look_again(&image)).await {
                Ok(found) => {
                    self.count(|shared| &shared.counters.refreshes);
                    if let Some(moved) = found {
                        tracing::info!(image = %self.reference, from = %image.digest, to = %moved.digest, "the tag has moved");
                        self.count(|shared| &shared.counters.moved);
                        image = Arc::new(moved);
                        self.state.send_replace(State::Known(Arc::clone(&image)));
                    }
                    (pause, in_trouble) = (ttl, false);
                }
                Err(error) => {
                    self.count(|shared| &shared.counters.failures);
                    if !in_trouble {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(image = %self.reference, error, "cannot look whether the tag has moved; what is known stays in use");
                    }
                    (pause, in_trouble) = (ttl.min(AFTER_FAILURE), true);
                }
            }
        }
    }

    /// The image behind the tag, if it is another one than before.
    async fn look_again(&self, known: &Image) -> Result<Option<Image>, FetchError> {
        if self.source.digest(&self.reference).await? == Some(known.digest.clone()) {
            return Ok(None);
        }
        let image = self.source.fetch(&self.reference).await?;
        Ok(Some(image).filter(|image| image != known))
    }

    fn is_idle(&self, ttl: Duration) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return true;
        };
        let entries = shared.entries();
        let last_asked = entries.get(&self.reference).map(|entry| entry.last_asked);
        last_asked.is_none_or(|last_asked| last_asked.elapsed() > IDLE.max(ttl))
    }

    fn count(&self, counter: impl Fn(&Shared) -> &std::sync::atomic::AtomicU64) {
        if let Some(shared) = self.shared.upgrade() {
            count(counter(&shared));
        }
    }
}

/// Removes the entry when the keeper ends, if it is still the keeper's own.
struct Forget<'a, S>(&'a Keeper<S>);

impl<S> Drop for Forget<'_, S> {
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
        let is_own = |entry: &super::Entry| entry.state.same_channel(&state.subscribe());
        if entries.get(reference).is_some_and(is_own) {
            entries.remove(reference);
        }
    }
}
