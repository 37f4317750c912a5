//! The outcome of every call of a load.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, ensure};

/// Failures whose words are kept; the others are counted.
const KEPT: usize = 20;

/// What became of all calls.
#[derive(Debug, Clone)]
pub struct Account {
    pub answered: u64,
    pub failed: u64,
    /// The first of the failed ones.
    pub failures: Vec<Failure>,
    /// The longest time in which no call was answered.
    pub silence: Duration,
    pub slowest: Duration,
    began: Instant,
    last_answer: Instant,
}

/// A call that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// When it was sent, since the first call.
    pub at: Duration,
    pub took: Duration,
    pub words: String,
    /// Whether it certainly never left the client.
    pub is_unsent: bool,
}

impl Account {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self {
            answered: 0,
            failed: 0,
            failures: Vec::new(),
            silence: Duration::ZERO,
            slowest: Duration::ZERO,
            began: now,
            last_answer: now,
        }
    }

    pub(crate) fn answered(&mut self, began: Instant) {
        let now = Instant::now();
        self.answered += 1;
        self.silence = self.silence.max(now - self.last_answer);
        self.slowest = self.slowest.max(now - began);
        self.last_answer = now;
    }

    pub(crate) fn failed(&mut self, error: &Error, began: Instant) {
        self.failed += 1;
        if self.failures.len() < KEPT {
            self.failures.push(Failure {
                at: began - self.began,
                took: began.elapsed(),
                words: format!("{error:#}"),
                is_unsent: is_unsent(error),
            });
        }
    }

    pub fn none_failed(&self) -> Result<()> {
        ensure!(self.failed == 0, "{self}");
        Ok(())
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            answered,
            failed,
            silence,
            slowest,
            ..
        } = self;
        write!(
            formatter,
            "{answered} calls were answered and {failed} failed; longest time without an answer \
             {silence:.1?}, slowest answer {slowest:.1?}"
        )?;
        for Failure {
            at, took, words, ..
        } in &self.failures
        {
            write!(formatter, "\n  after {at:.1?}, for {took:.1?}: {words}")?;
        }
        Ok(())
    }
}

/// There was no connection, or it closed while the call still waited for its turn.
fn is_unsent(error: &Error) -> bool {
    error.chain().any(|cause| {
        let cancelled = cause.downcast_ref::<hyper::Error>();
        cause.is::<tonic::ConnectError>() || cancelled.is_some_and(hyper::Error::is_canceled)
    })
}
