//! Counts calls, those under way and those that have ended, and keeps failed calls for the
//! status page.

use std::{sync::Arc, time::Instant};

use krm::Output;
use metrics::{
    Code,
    functions::{self, Ended, Runtime, Series},
};
use service::{EvaluateError, Evaluation, Notes};

use crate::status::failures;

/// Counts a call when it is dropped. If it was given no outcome by then, the caller
/// has gone away, or the call has panicked.
#[derive(Debug)]
pub(crate) struct Observed {
    notes: Notes,
    began: Instant,
    series: Option<Arc<Series>>,
    code: Code,
}

impl Observed {
    pub(crate) fn begin(evaluation: &Evaluation) -> Self {
        Self {
            notes: evaluation.notes.clone(),
            began: Instant::now(),
            series: None,
            code: Code::Cancelled,
        }
    }

    /// It is known which function is meant.
    pub(crate) fn is_about(&mut self, image: &str) {
        let series = functions::of(image);
        series.in_flight.add(1);
        self.notes.is_about(image, Arc::clone(&series));
        self.series = Some(series);
    }

    pub(crate) fn ended(mut self, answer: &Result<Output, EvaluateError>) {
        let code = answer
            .as_ref()
            .map_or_else(|error| error.code().into(), |_| 0);
        self.code = Code::from_number(code);
        if let Err(error) = answer {
            failures::keep(error, self.code, &self.notes.noted());
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let noted = self.notes.noted();
        if std::thread::panicking() {
            self.code = Code::Internal;
            let image = noted.image.as_deref().unwrap_or_default().to_owned();
            failures::keep(&EvaluateError::Panicked { image }, self.code, &noted);
        }
        let ended = Ended {
            runtime: noted.runtime.unwrap_or(Runtime::Nobody),
            code: self.code,
            took: self.began.elapsed(),
            queue_wait: noted.queue_wait,
        };
        functions::ended(noted.image.as_deref(), ended);
        // Last: who sees that none is under way finds all counted.
        if let Some(series) = &self.series {
            series.in_flight.add(-1);
        }
    }
}
