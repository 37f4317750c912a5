//! What is noted about a call on its way, by whoever knows it, and read at its end: for
//! the log's line and for a trace.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A call's notes. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Noted>>);

/// What was noted so far.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// `bundled`, `exec` or `pod`.
    pub runtime: Option<&'static str>,
    pub pod: Option<Arc<str>>,
    /// Of the image that ran.
    pub digest: Option<Arc<str>>,
    /// How long the call has waited for a processor, for memory or for a pod.
    pub queue_wait: Duration,
    /// How long the function took, without its waiting.
    pub run_time: Duration,
    /// How often the call was sent again.
    pub retries: u32,
}

impl Notes {
    fn inner(&self) -> MutexGuard<'_, Noted> {
        // Notes are right also if somebody panicked elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn noted(&self) -> Noted {
        self.inner().clone()
    }

    pub fn note(&self, note: impl FnOnce(&mut Noted)) {
        note(&mut self.inner());
    }

    /// The call waits, until what this returns is dropped.
    pub fn waits(&self) -> Waiting {
        Waiting {
            notes: self.clone(),
            began: Instant::now(),
        }
    }

    /// The function runs, until what this returns is dropped.
    pub fn runs(&self) -> Running {
        Running {
            notes: self.clone(),
            began: Instant::now(),
        }
    }
}

/// A call that waits.
#[derive(Debug)]
pub struct Waiting {
    notes: Notes,
    began: Instant,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.notes.inner().queue_wait += self.began.elapsed();
    }
}

/// A function that runs.
#[derive(Debug)]
pub struct Running {
    notes: Notes,
    began: Instant,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.notes.inner().run_time += self.began.elapsed();
    }
}
