//! What the parts that serve a call note about it, and what is read at its end: for
//! the log's line, for metrics, for a trace and for the status page.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use metrics::functions::{Runtime, Series};
use opentelemetry::trace::TraceId;
use parking_lot::{Mutex, MutexGuard};

use crate::trace::Trace;

/// A call's notes. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    noted: Noted,
    /// Where those that wait are counted, once the function is known.
    series: Option<Arc<Series>>,
}

/// What was noted so far.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// Which reference was run, where the caller's words had to be resolved.
    pub image: Option<Arc<str>>,
    pub runtime: Option<Runtime>,
    pub pod: Option<Arc<str>>,
    /// Of the image that ran in it.
    pub digest: Option<Arc<str>>,
    /// How long the call has waited for a processor, for memory or for a pod.
    pub queue_wait: Duration,
    /// How long the function took, without its waiting.
    pub run_time: Duration,
    /// How often the call was sent again.
    pub retries: u32,
    /// The number under which the call is found elsewhere.
    pub trace_id: Option<TraceId>,
}

impl Notes {
    /// Of a call that has only been heard of.
    pub fn of(trace: &Trace) -> Self {
        let notes = Self::default();
        notes.inner().noted.trace_id = trace.id();
        notes
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Notes are right also if somebody panicked elsewhere.
        self.0.lock()
    }

    pub fn noted(&self) -> Noted {
        self.inner().noted.clone()
    }

    pub fn note(&self, note: impl FnOnce(&mut Noted)) {
        note(&mut self.inner().noted);
    }

    /// It is known which function is meant.
    pub fn is_about(&self, image: &str, series: Arc<Series>) {
        let mut inner = self.inner();
        inner.noted.image = Some(image.into());
        inner.series = Some(series);
    }

    /// The call waits, until what this returns is dropped.
    pub fn waits(&self) -> Waiting {
        let series = self.inner().series.clone();
        if let Some(series) = &series {
            series.queued.add(1);
        }
        Waiting {
            notes: self.clone(),
            series,
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
    series: Option<Arc<Series>>,
    began: Instant,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(series) = &self.series {
            series.queued.add(-1);
        }
        self.notes.inner().noted.queue_wait += self.began.elapsed();
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
        self.notes.inner().noted.run_time += self.began.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_stops_waiting_is_no_longer_queued_however_it_stops() {
        let (notes, series) = (Notes::default(), Arc::new(Series::default()));
        notes.is_about("x:v1", Arc::clone(&series));
        let waiting = notes.waits();
        assert_eq!(series.queued.get(), 1);
        drop(waiting);
        assert_eq!(series.queued.get(), 0);
        let gone = std::thread::spawn({
            let notes = notes.clone();
            move || {
                let _waiting = notes.waits();
                panic!("on purpose");
            }
        });
        gone.join().unwrap_err();
        assert_eq!(series.queued.get(), 0);
        assert_eq!(notes.noted().image.as_deref(), Some("x:v1"));
    }
}
