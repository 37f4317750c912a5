//! What is known about images, asked once and kept.
//!
//! Every reference has an entry, and every entry a keeper: a task that asks the
//! registry, tells everybody who waits, and, for a tag, asks again each time its
//! answer has got old.
//!
//! ```text
//!             ┌────────── a tag: each TTL, or sooner after a failure ──────────┐
//!             ▼                                                                │
//! Asking ─► Known ── a digest: for life ── not asked for during IDLE: forgotten ┘
//!    └────► Failed ── definite (no such tag): kept for FAILURES_KEPT · other: forgotten at once
//! ```
//! So concurrent misses make one inquiry, no caller ever waits for a refresh,
//! and a registry that is down changes nothing for what is known. Entries own
//! their keepers: whatever is forgotten stops asking.

mod keeper;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use keeper::{Keeper, State};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    client::{Client, FetchError, Image},
    digest::Digest,
    reference::Reference,
};

/// More functions than any cluster runs, so that scans over all pods in use find
/// every image known; a bound all the same, because callers choose the references.
/// The sleeping task of an entry takes less than 1 kB.
const MOST_ENTRIES: usize = 10_000;

/// Where answers come from.
pub trait Source: Send + Sync + 'static {
    /// All there is to know about an image.
    fn fetch(
        &self,
        reference: &Reference,
    ) -> impl Future<Output = Result<Image, FetchError>> + Send;

    /// What a tag stands for now, if that can be told without fetching it.
    fn digest(
        &self,
        reference: &Reference,
    ) -> impl Future<Output = Result<Option<Digest>, FetchError>> + Send;
}

impl Source for Client {
    async fn fetch(&self, reference: &Reference) -> Result<Image, FetchError> {
        Client::fetch(self, reference, far_away()).await
    }

    async fn digest(&self, reference: &Reference) -> Result<Option<Digest>, FetchError> {
        Client::digest(self, reference, far_away()).await
    }
}

/// The client's own limit comes first: many may be waiting for the answer, each
/// with a deadline of its own.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// Why a caller got no metadata.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MetadataError {
    /// Shared by all who waited for the same answer.
    #[error(transparent)]
    Fetch(Arc<FetchError>),
    #[error("no metadata of {image} before the caller's deadline; its registry is slow to answer")]
    Deadline { image: String },
    #[error("the inquiry about {image} ended without an answer")]
    Lost { image: String },
}

/// How the cache has served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// References that are known, or being asked about.
    pub entries: usize,
    /// Answered from what was known.
    pub hits: u64,
    /// Had to ask a registry.
    pub misses: u64,
    /// Waited for somebody else's inquiry.
    pub joined: u64,
    /// Old answers that were confirmed or replaced.
    pub refreshes: u64,
    /// Tags that turned out to stand for something else.
    pub moved: u64,
    /// Inquiries without an answer, refreshes included.
    pub failures: u64,
    /// Forgotten to make room.
    pub evicted: u64,
}

/// Image metadata for many callers.
#[derive(Debug)]
pub struct Metadata<S> {
    source: Arc<S>,
    shared: Arc<Shared>,
    /// How long a tag's digest is believed; `None`: for ever.
    ttl: Option<Duration>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Mutex<HashMap<Reference, Entry>>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    joined: AtomicU64,
    refreshes: AtomicU64,
    moved: AtomicU64,
    failures: AtomicU64,
    evicted: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    state: watch::Receiver<State>,
    last_asked: Instant,
    /// Ends with the entry.
    _keeper: AbortOnDropHandle<()>,
}

impl Entry {
    /// What is worth least makes room: failures first, so that names that do not
    /// exist do not displace images in use; what somebody waits for last; of equals,
    /// what was not asked for the longest.
    fn worth(&self) -> (u8, Instant) {
        let kind = match *self.state.borrow() {
            State::Failed(_) => 0,
            State::Known(_) => 1,
            State::Asking => 2,
        };
        (kind, self.last_asked)
    }
}

impl<S: Source> Metadata<S> {
    pub fn new(source: S, ttl: Option<Duration>) -> Self {
        Self {
            source: Arc::new(source),
            shared: Arc::default(),
            ttl,
        }
    }

    /// What is known about an image; asks the registry if nothing is.
    pub async fn get(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> Result<Arc<Image>, MetadataError> {
        let mut state = self.subscribe(reference);
        let image = || reference.to_string();
        // Cancel-safe: waiting changes nothing for the keeper or other callers.
        let settled = state.wait_for(|state| !matches!(state, State::Asking));
        match timeout_at(deadline, settled).await {
            Err(_) => Err(MetadataError::Deadline { image: image() }),
            Ok(Err(_)) => Err(MetadataError::Lost { image: image() }),
            Ok(Ok(state)) => match &*state {
                State::Known(image) => Ok(Arc::clone(image)),
                State::Failed(error) => Err(MetadataError::Fetch(Arc::clone(error))),
                State::Asking => Err(MetadataError::Lost { image: image() }),
            },
        }
    }

    pub fn statistics(&self) -> Statistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.shared.counters;
        Statistics {
            entries: self.shared.entries().len(),
            hits: read(&counters.hits),
            misses: read(&counters.misses),
            joined: read(&counters.joined),
            refreshes: read(&counters.refreshes),
            moved: read(&counters.moved),
            failures: read(&counters.failures),
            evicted: read(&counters.evicted),
        }
    }

    /// The entry's state, from now on; a new entry if there is none.
    fn subscribe(&self, reference: &Reference) -> watch::Receiver<State> {
        let counters = &self.shared.counters;
        let mut entries = self.shared.entries();
        if let Some(entry) = entries.get_mut(reference) {
            entry.last_asked = Instant::now();
            let asking = matches!(*entry.state.borrow(), State::Asking);
            count(if asking {
                &counters.joined
            } else {
                &counters.hits
            });
            return entry.state.clone();
        }
        count(&counters.misses);
        if entries.len() >= MOST_ENTRIES {
            let least = entries.iter().min_by_key(|(_, entry)| entry.worth());
            if let Some(least) = least.map(|(reference, _)| reference.clone()) {
                count(&counters.evicted);
                entries.remove(&least);
            }
        }
        let (sender, state) = watch::channel(State::Asking);
        let keeper = Keeper {
            source: Arc::clone(&self.source),
            shared: Arc::downgrade(&self.shared),
            reference: reference.clone(),
            ttl: self.ttl.filter(|_| reference.digest().is_none()),
            state: sender,
        };
        let entry = Entry {
            state: state.clone(),
            last_asked: Instant::now(),
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        };
        entries.insert(reference.clone(), entry);
        state
    }
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, HashMap<Reference, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
