//! A cache of what registries say about images and about repositories' tags.
//!
//! Every reference has an entry, and every entry a keeper: a task that asks the
//! registry, answers every caller that waits, and, for a tag or a list of tags, asks
//! again when its answer is older than the TTL, or too old for a caller.
//!
//! ```text
//!             ┌────────── a tag: each TTL, or sooner after a failure ──────────┐
//!             ▼                                                                │
//! Asking ─► Known ── a digest: for life ── not asked for during IDLE: forgotten ┘
//!    └────► Failed ── definite (no such tag): kept for FAILURES_KEPT · other: forgotten at once
//! ```
//! So concurrent misses make one request, no caller ever waits for a refresh, and
//! known answers stay in use while a registry is down. Entries own their keepers: the
//! keeper of a forgotten entry stops asking.

mod keeper;
mod sources;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use keeper::{Keeper, State};
use metrics::registries::{Lookup, METADATA};
use parking_lot::{Mutex, MutexGuard};
pub use sources::{SignatureLists, TagLists, Tags};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{client::FetchError, digest::Digest, reference::Reference};

/// More functions than any cluster runs, so that scans over all pods in use find
/// every image known; bounded nevertheless, because callers choose the references.
/// The sleeping task of an entry takes less than 1 kB.
const MOST_ENTRIES: usize = 10_000;

/// Where answers come from.
pub trait Source: Send + Sync + 'static {
    type Answer: PartialEq + std::fmt::Debug + Send + Sync + 'static;

    /// All there is to know.
    fn fetch(
        &self,
        reference: &Reference,
    ) -> impl Future<Output = Result<Self::Answer, FetchError>> + Send;

    /// What an answer can be recognised by, if it can.
    fn digest_of(answer: &Self::Answer) -> Option<&Digest>;

    /// What a tag stands for now, if that can be found out without fetching it. Asked only
    /// about answers that have a digest.
    fn digest(
        &self,
        reference: &Reference,
    ) -> impl Future<Output = Result<Option<Digest>, FetchError>> + Send;
}

/// Why a caller got no metadata.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MetadataError {
    /// Shared by all who waited for the same answer.
    #[error(transparent)]
    Fetch(Arc<FetchError>),
    #[error(
        "nothing was learnt about {image} before the caller's deadline; its registry is slow to answer"
    )]
    Deadline { image: String },
    #[error("the request about {image} ended without an answer")]
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
    /// Waited for another caller's request.
    pub joined: u64,
    /// Old answers that were confirmed or replaced.
    pub refreshes: u64,
    /// Tags that turned out to stand for something else.
    pub moved: u64,
    /// Requests without an answer, refreshes included.
    pub failures: u64,
    /// Forgotten to make room.
    pub evicted: u64,
}

/// What registries know, for many callers.
#[derive(Debug)]
pub struct Metadata<S: Source> {
    source: Arc<S>,
    shared: Arc<Shared<S::Answer>>,
    /// How long a tag's digest, or a list of tags, is remembered; `None`: for ever.
    ttl: Option<Duration>,
    most_entries: usize,
}

#[derive(Debug)]
struct Shared<A> {
    entries: Mutex<HashMap<Reference, Entry<A>>>,
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
struct Entry<A> {
    state: watch::Receiver<State<A>>,
    last_asked: Instant,
    /// Makes the keeper ask again at once.
    too_old: Arc<Notify>,
    /// Ends with the entry.
    _keeper: AbortOnDropHandle<()>,
}

impl<A> Entry<A> {
    /// The least useful entry makes room: failures first, so that names that do not
    /// exist do not displace images in use; what somebody waits for last; of equals,
    /// what was not asked for the longest.
    fn worth(&self) -> (u8, Instant) {
        let kind = match *self.state.borrow() {
            State::Failed(_) => 0,
            State::Known { .. } => 1,
            State::Asking => 2,
        };
        (kind, self.last_asked)
    }
}

impl<S: Source> Metadata<S> {
    pub fn new(source: impl Into<Arc<S>>, ttl: Option<Duration>) -> Self {
        let shared = Shared {
            entries: Mutex::default(),
            counters: Counters::default(),
        };
        Self {
            source: source.into(),
            shared: Arc::new(shared),
            ttl,
            most_entries: MOST_ENTRIES,
        }
    }

    /// What is known about a reference; asks the registry if nothing is.
    pub async fn get(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> Result<Arc<S::Answer>, MetadataError> {
        self.get_since(reference, None, deadline).await
    }

    /// The same, but what was looked up longer than `age` ago is looked up again first.
    /// If that fails, what is known is the answer all the same.
    pub async fn get_younger(
        &self,
        reference: &Reference,
        age: Duration,
        deadline: Instant,
    ) -> Result<Arc<S::Answer>, MetadataError> {
        let since = Instant::now().checked_sub(age);
        self.get_since(reference, since, deadline).await
    }

    async fn get_since(
        &self,
        reference: &Reference,
        since: Option<Instant>,
        deadline: Instant,
    ) -> Result<Arc<S::Answer>, MetadataError> {
        let (mut state, too_old) = self.subscribe(reference);
        let is_old = |state: &State<S::Answer>| match state {
            State::Known { looked, .. } => since.is_some_and(|since| *looked < since),
            State::Asking | State::Failed(_) => false,
        };
        if is_old(&state.borrow()) {
            too_old.notify_one();
        }
        let image = || reference.to_string();
        let is_settled =
            |state: &State<S::Answer>| !matches!(state, State::Asking) && !is_old(state);
        // Cancel-safe: waiting changes nothing for the keeper or other callers.
        let settled = timeout_at(deadline, state.wait_for(is_settled)).await;
        let is_late = settled.is_err();
        // Whatever became of the keeper: what is known stays known.
        drop(settled);
        match &*state.borrow() {
            State::Known { answer, .. } => Ok(Arc::clone(answer)),
            State::Failed(error) => Err(MetadataError::Fetch(Arc::clone(error))),
            State::Asking if is_late => Err(MetadataError::Deadline { image: image() }),
            State::Asking => Err(MetadataError::Lost { image: image() }),
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
    fn subscribe(&self, reference: &Reference) -> (watch::Receiver<State<S::Answer>>, Arc<Notify>) {
        let counters = &self.shared.counters;
        let mut entries = self.shared.entries();
        if let Some(entry) = entries.get_mut(reference) {
            entry.last_asked = Instant::now();
            let asking = matches!(*entry.state.borrow(), State::Asking);
            if asking {
                count(&counters.joined);
                METADATA.of(Lookup::Joined).increment();
            } else {
                count(&counters.hits);
                METADATA.of(Lookup::Hit).increment();
            }
            return (entry.state.clone(), Arc::clone(&entry.too_old));
        }
        count(&counters.misses);
        METADATA.of(Lookup::Miss).increment();
        if entries.len() >= self.most_entries {
            let least = entries.iter().min_by_key(|(_, entry)| entry.worth());
            if let Some(least) = least.map(|(reference, _)| reference.clone()) {
                count(&counters.evicted);
                entries.remove(&least);
            }
        }
        let (sender, state) = watch::channel(State::Asking);
        let too_old = Arc::new(Notify::new());
        let keeper = Keeper {
            source: Arc::clone(&self.source),
            shared: Arc::downgrade(&self.shared),
            reference: reference.clone(),
            ttl: self.ttl.filter(|_| reference.digest().is_none()),
            state: sender,
            too_old: Arc::clone(&too_old),
        };
        let entry = Entry {
            state: state.clone(),
            last_asked: Instant::now(),
            too_old: Arc::clone(&too_old),
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        };
        entries.insert(reference.clone(), entry);
        (state, too_old)
    }
}

impl<A> Shared<A> {
    fn entries(&self) -> MutexGuard<'_, HashMap<Reference, Entry<A>>> {
        self.entries.lock()
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
