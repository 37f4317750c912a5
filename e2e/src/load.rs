//! Callers that call without end, beside a test that changes something under them.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::future::join_all;
use tokio::task::JoinHandle;

/// How long so many calls may take; a call that waits for a new pod fits in several times.
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls under way. Ends when dropped.
#[derive(Debug)]
pub struct Load {
    progress: Arc<Progress>,
    callers: Vec<JoinHandle<Result<()>>>,
}

#[derive(Debug, Default)]
struct Progress {
    answered: AtomicU64,
    is_over: AtomicBool,
    /// Of the first call that failed.
    failure: OnceLock<String>,
}

impl Load {
    /// So many callers, each with one call after the other, until one fails or it is over.
    pub fn start<F>(callers: usize, call: impl Fn() -> F + Clone + Send + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send,
    {
        let progress = Arc::<Progress>::default();
        let caller = || {
            let (progress, call) = (Arc::clone(&progress), call.clone());
            tokio::spawn(async move {
                while !progress.is_over.load(Ordering::Relaxed) {
                    call().await.inspect_err(|error| {
                        let _ = progress.failure.set(format!("{error:#}"));
                    })?;
                    progress.answered.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let callers = (0..callers).map(|_| caller()).collect();
        Self { progress, callers }
    }

    /// How many calls were answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.progress.answered.load(Ordering::Relaxed)
    }

    /// Waits until so many more calls were answered.
    pub async fn goes_on(&self, calls: u64) -> Result<()> {
        let (begin, goal) = (Instant::now(), self.answered() + calls);
        while self.answered() < goal {
            if let Some(failure) = self.progress.failure.get() {
                bail!(
                    "a call failed after {} were answered: {failure}",
                    self.answered()
                );
            }
            let is_late = begin.elapsed() > PATIENCE;
            ensure!(!is_late, "only {} of {goal} calls", self.answered());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Ends it; fails with what a caller has heard if one call failed.
    pub async fn end(mut self) -> Result<u64> {
        self.progress.is_over.store(true, Ordering::Relaxed);
        for ended in join_all(std::mem::take(&mut self.callers)).await {
            let answered = self.answered();
            ended?.with_context(|| format!("a call failed after {answered} were answered"))?;
        }
        Ok(self.answered())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for caller in &self.callers {
            caller.abort();
        }
    }
}
