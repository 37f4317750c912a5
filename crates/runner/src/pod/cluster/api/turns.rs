//! How many requests are under way at once: at most [`AT_ONCE`], and fewer while the API server does not
//! keep up. Some of its work, such as giving a service its address, is done for one request at a time,
//! whoever asks. When twenty runners ask for more than it can do within their patience, each of them gives
//! up and asks again, the API server still works off what was given up, and nobody gets anything. So the
//! number is halved when a request has failed for now or was answered late. It grows when answers come soon,
//! and slowly while nothing fails and nothing is late: where each pod takes its two seconds, because of a
//! webhook for example, few answers come soon although there is room for more.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use super::patience::Patience;

/// Enough to keep an API server busy, and few enough to leave it to others: a
/// thousand starts at once would otherwise be two thousand connections.
pub(super) const AT_ONCE: usize = 16;

/// To begin with: others may be at it, too.
const FIRST: usize = 4;

/// An answer that took longer says that there is enough under way.
const SOON: Duration = Duration::from_secs(1);

/// An answer that took longer says that there is too much under way.
const LATE: Duration = Duration::from_secs(5);

/// So many are always left: a single request that gets no answer would otherwise hold up everything else of
/// this runner for as long as its patience lasts, which is up to a minute.
const LEAST: usize = 2;

/// After this time without trouble there is room for one more. Long beside [`LATE`]: what the last one did
/// is known by then.
const CALM: Duration = Duration::from_secs(10);

/// What a request's end says about the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Answered,
    /// No answer, or one that says "not now".
    Failed,
}

/// How many may be under way: pure.
#[derive(Debug)]
struct Width {
    now: usize,
    /// Answers in a row that came soon since it has changed. Some kinds of requests are answered soon while
    /// others wait.
    soon: usize,
    narrowed: Option<Instant>,
    /// Since when nothing was late or failed, and it has not grown for that reason.
    calm: Instant,
}

impl Width {
    fn new(now: Instant) -> Self {
        Self {
            now: FIRST,
            soon: 0,
            narrowed: None,
            calm: now,
        }
    }

    fn hear(&mut self, end: End, began: Instant, now: Instant) {
        let took = now - began;
        if end == End::Failed || took > LATE {
            return self.narrow(began, now);
        }
        self.soon = if took < SOON { self.soon + 1 } else { 0 };
        // As long as nothing has failed there is nothing to be careful about.
        let enough = if self.narrowed.is_some() { self.now } else { 1 };
        let is_calm = now - self.calm >= CALM;
        if self.now < AT_ONCE && (self.soon >= enough || is_calm) {
            self.now += 1;
            self.soon = 0;
            self.calm = now;
        }
    }

    /// Halves it. What was under way together fails together, and counts once.
    fn narrow(&mut self, began: Instant, now: Instant) {
        (self.soon, self.calm) = (0, now);
        if self.narrowed.is_none_or(|narrowed| began > narrowed) && self.now > LEAST {
            self.now = (self.now / 2).max(LEAST);
            self.narrowed = Some(now);
        }
    }
}

#[derive(Debug)]
pub(super) struct Turns {
    places: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    width: Width,
    /// Places that there are, taken or not.
    places: usize,
    patience: Patience,
}

/// A request's turn, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    place: Option<SemaphorePermit<'a>>,
    began: Instant,
}

impl Turns {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            places: Semaphore::new(FIRST),
            state: Mutex::new(State {
                width: Width::new(now),
                places: FIRST,
                patience: Patience::new(now),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    #[cfg(test)]
    pub(super) fn width(&self) -> usize {
        self.state().width.now
    }

    /// A turn, if there is one at once.
    pub(super) fn free(&self) -> Option<Turn<'_>> {
        let place = self.places.try_acquire().ok()?;
        Some(self.begin(Some(place)))
    }

    /// The next turn, in order.
    pub(super) async fn next(&self) -> Turn<'_> {
        // It cannot fail: nobody closes it.
        let place = self.places.acquire().await.ok();
        self.begin(place)
    }

    fn begin<'a>(&'a self, place: Option<SemaphorePermit<'a>>) -> Turn<'a> {
        Turn {
            turns: self,
            place,
            began: Instant::now(),
        }
    }
}

impl Turn<'_> {
    /// How long the request may wait for its answer.
    pub(super) fn patience(&self) -> Duration {
        self.turns.state().patience.now(self.began)
    }

    /// How the request has ended. A turn that nobody says this of, because its caller has gone away,
    /// says nothing about the API server.
    pub(super) fn ended(self, end: End) {
        let (mut state, now) = (self.turns.state(), Instant::now());
        state.width.hear(end, self.began, now);
        state.patience.hear(now - self.began, now);
        let more = state.width.now.saturating_sub(state.places);
        state.places += more;
        self.turns.places.add_permits(more);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if state.places > state.width.now
            && let Some(place) = self.place.take()
        {
            place.forget();
            state.places -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
