//! Keeps the known objects up to date: lists once, then follows the changes, and lists
//! again whenever the API server no longer has the changes since then (410). Objects
//! that are not in a new list are gone; the others stay known throughout.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::{StreamExt as _, pin_mut};
use kube::{
    Api, ResourceExt as _,
    runtime::watcher::{self, Event},
};
use metrics::pods::WATCHES;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};

use super::{Known, Loss, Watched, pauses::Pauses};
use crate::pod::{
    cluster::{WATCH_SECONDS, api::jittered, as_asked},
    marks::IMAGE_LABEL,
    watching::sparse::Sparse,
};

/// A watch that has failed and then neither fails nor reports anything for this time seems
/// to go on. Whether it does is found out by a list, whose end says that all is well.
const GOES_ON: Duration = Duration::from_secs(10);

/// Objects of a list that come at once. The text of each is ten times as large as what is kept of it.
const PAGE: u32 = 200;

/// What a longer list needed is worth to be given back: the allocator would keep it for calls to come.
const LONG_LIST: usize = 100;

pub(super) struct Keeper<K: Watched> {
    pub(super) known: Arc<Mutex<Known<K>>>,
    pub(super) synced: watch::Sender<bool>,
    pub(super) losses: mpsc::Sender<Loss>,
}

impl<K: Watched> Keeper<K> {
    pub(super) async fn run(self, api: Api<Sparse<K>>) {
        let kind = K::kind(&());
        let config = watcher::Config::default()
            .labels(IMAGE_LABEL)
            .page_size(PAGE)
            .timeout(WATCH_SECONDS);
        // Not with kube's own pauses: those begin anew with each attempt to list.
        let begin = || watcher::watcher(api.clone(), config.clone());
        let events = begin();
        pin_mut!(events);
        let mut pauses = Pauses::default();
        // Names of the list that is coming in, which replaces what was known.
        let mut listed: Option<HashSet<String>> = None;
        // When that list was asked for.
        let mut asked = Instant::now();
        let mut in_trouble = false;
        // A watch goes on after a failure, and says nothing before something happens.
        let mut goes_on = false;
        loop {
            let patience = if goes_on { GOES_ON } else { Duration::MAX };
            // Cancel-safe: the stream keeps what it has begun.
            let event = match timeout(patience, events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) => {
                    goes_on = false;
                    events.set(begin());
                    continue;
                }
            };
            let lost = match event {
                Ok(Event::Init) => {
                    (listed, asked) = (Some(HashSet::new()), Instant::now());
                    continue;
                }
                Ok(Event::InitApply(Sparse(object))) => {
                    listed.get_or_insert_default().insert(object.name_any());
                    self.apply(&object)
                }
                Ok(Event::InitDone) => {
                    let listed = listed.take().unwrap_or_default();
                    let lost = self.listed(&listed, asked);
                    self.synced.send_replace(true);
                    if listed.len() > LONG_LIST {
                        drop(listed);
                        // An error would mean that the runner ends.
                        let _ = spawn_blocking(process::give_back_freed_memory).await;
                    }
                    lost
                }
                Ok(Event::Apply(Sparse(object))) => self.apply(&object),
                Ok(Event::Delete(Sparse(object))) => self.remove(&object.name_any()),
                Err(error) => {
                    WATCHES.of(K::COUNTED).interrupted();
                    self.known.lock().is_broken = true;
                    let is_expired = is_expired(&error);
                    // Reported once: it is retried until it works again.
                    if !in_trouble && !is_expired {
                        tracing::warn!(%error, "cannot watch {kind} objects of functions; trying again");
                        in_trouble = true;
                    }
                    let pause = pauses.after_failure(Instant::now());
                    sleep(jittered(pause).max(wish(&error))).await;
                    goes_on = !is_expired && listed.is_none();
                    if is_expired {
                        events.set(begin());
                    }
                    continue;
                }
            };
            goes_on = false;
            WATCHES.of(K::COUNTED).heard();
            self.known.lock().is_broken = false;
            if std::mem::take(&mut in_trouble) {
                tracing::info!("watching {kind} objects of functions again");
            }
            for loss in lost {
                if self.losses.send(loss).await.is_err() {
                    return;
                }
            }
        }
    }

    pub(super) fn apply(&self, object: &K) -> Vec<Loss> {
        let seen = object.seen();
        let name = K::name(&seen).clone();
        let now = K::loss(&seen);
        let mut known = self.known.lock();
        // Not by `insert` alone, which keeps the old key: the name would be there twice.
        let before = known.objects.remove(&name);
        known.objects.insert(name.clone(), Arc::new(seen));
        known.changed(&name);
        let was_good = before.is_some_and(|before| K::loss(&before).is_none());
        match now {
            Some(reason) if was_good => vec![(name.to_string(), reason.into())],
            _ => Vec::new(),
        }
    }

    pub(super) fn remove(&self, name: &str) -> Vec<Loss> {
        let mut known = self.known.lock();
        if known.objects.remove(name).is_none() {
            return Vec::new();
        }
        known.changed(name);
        vec![(name.to_owned(), K::GONE.into())]
    }

    /// There is nothing but these, and there was not when they were asked for.
    pub(super) fn listed(&self, listed: &HashSet<String>, asked: Instant) -> Vec<Loss> {
        let lost = self.retain(listed);
        let mut known = self.known.lock();
        known.listed = Some(asked);
        // Some may wait for what was there for too short a time to be seen.
        known.waits.values().for_each(|wait| wait.send_replace(()));
        lost
    }

    fn retain(&self, listed: &HashSet<String>) -> Vec<Loss> {
        let gone: Vec<String> = self
            .known
            .lock()
            .objects
            .keys()
            .filter(|name| !listed.contains(&***name))
            .map(ToString::to_string)
            .collect();
        gone.iter().flat_map(|name| self.remove(name)).collect()
    }
}

impl<K: Watched> Drop for Keeper<K> {
    /// Nobody waits in vain.
    fn drop(&mut self) {
        let mut known = self.known.lock();
        known.has_ended = true;
        known.waits.clear();
    }
}

/// The API server has forgotten the version from which the watch was to go on. That
/// is no trouble, and what happened meanwhile is in the new list. Whichever way it
/// says so, the next step is that list: kube's own would go on from the same version
/// where the answer was not an event.
pub(super) fn is_expired(error: &watcher::Error) -> bool {
    matches!(status(error), Some(status) if status.code == 410)
}

/// How long an overloaded API server wants to be left alone.
pub(super) fn wish(error: &watcher::Error) -> Duration {
    let details = status(error).and_then(|status| status.details.as_ref());
    let seconds = details.map_or(0, |details| details.retry_after_seconds);
    as_asked(seconds.into())
}

pub(super) fn status(error: &watcher::Error) -> Option<&kube::core::Status> {
    match error {
        watcher::Error::WatchError(status) => Some(status),
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status),
        _ => None,
    }
}
