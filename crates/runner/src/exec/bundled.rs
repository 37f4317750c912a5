//! The functions that are part of the runner.
//!
//! All but one run in this process, on threads of their own, at most as many
//! at a time as there are processors: they only compute. On a small list they are done before
//! a thread would have begun ([`at_once`]). `starlark` runs scripts of users:
//! it is a program beside the runner's own, with limits.

mod at_once;

use std::{
    path::PathBuf,
    pin::pin,
    sync::{Arc, LazyLock},
    time::Duration,
};

use bytes::Bytes;
use functions::{
    Clock, Ended, Late,
    catalog::{self, Bundled, Chosen},
};
use krm::{Failure, FunctionError, Output};
use parking_lot::Mutex;
use process::{Command, Completed, Environment, Exit, Limits, Profile};
use service::{
    EvaluateError,
    trace::{Part, Trace},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, error::Elapsed, timeout_at},
};

use super::program::Program;
use at_once::AtOnce;

/// The program beside the runner that runs scripts.
const STARLARK_PROGRAM: &str = "starlark-function";
/// How long a call may keep its place among the threads: one that computes for
/// longer goes on, but does not keep shorter ones waiting.
const PLACE_KEPT: Duration = Duration::from_millis(50);

/// What `name` stands for: `NAME`, or `NAME@VERSION`.
pub(super) fn find(name: &str) -> Option<Program> {
    program(catalog::find(name)?)
}

/// What a release runs as, if it can be run here.
pub(crate) fn program(chosen: Chosen) -> Option<Program> {
    if chosen.release.is_program() {
        let command = starlark(chosen.release.version)?;
        return Some(Program::Beside(chosen, command));
    }
    Some(Program::Native(chosen))
}

/// The program that runs scripts as this release does, if it is installed.
pub(crate) fn starlark(version: &str) -> Option<Command> {
    // Looked up once: the runner does not move.
    static PATH: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let own = std::env::current_exe().ok()?;
        let path = own.with_file_name(STARLARK_PROGRAM);
        path.is_file().then_some(path)
    });
    let path = PATH.as_ref()?;
    let command = Command::new(path, Environment::Minimal);
    Some(command.confined(Profile::default()).args([version]))
}

/// Every release that can be run here.
pub(crate) fn all() -> impl Iterator<Item = Chosen> {
    let releases = catalog::FUNCTIONS.iter().flat_map(Bundled::reproduced);
    releases.filter(|chosen| program(*chosen).is_some())
}

/// Threads for functions of this process.
#[derive(Debug)]
pub(super) struct Threads {
    places: Arc<Semaphore>,
    at_once: AtOnce,
}

impl Threads {
    pub(super) fn new() -> Self {
        let count = std::thread::available_parallelism().map_or(1, Into::into);
        Self {
            places: Arc::new(Semaphore::new(count)),
            at_once: AtOnce::default(),
        }
    }

    /// Runs a function on a list.
    pub(super) async fn run(
        &self,
        native: Chosen,
        image: &str,
        resource_list: Bytes,
        limits: Limits,
        part: &mut Part<'_>,
    ) -> Result<Output, EvaluateError> {
        let failed = |failure| FunctionError::new(image, failure);
        let late = || failed(Failure::DeadlineExceeded { log: Bytes::new() }).into();
        let runs = |trace: &Trace| trace.span("native function");
        // Without a place: what keeps those for a while must not hold up what takes a moment.
        let attempt = if self.at_once.takes(&resource_list, limits.deadline) {
            part.runs(runs);
            self.at_once.run(native, &resource_list)
        } else {
            None
        };
        let ended = if let Some(ended) = attempt {
            ended
        } else {
            let permits = Arc::clone(&self.places);
            let Ok(Ok(permit)) = timeout_at(limits.deadline, permits.acquire_owned()).await else {
                return Err(late());
            };
            part.runs(runs);
            on_thread(native, resource_list, permit, limits.deadline).await
        };
        let Ended {
            exit,
            stdout,
            stderr,
        } = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(Late)) => return Err(late()),
            Err(Panicked) => {
                let image = image.to_owned();
                return Err(EvaluateError::Panicked { image });
            }
        };
        let limit = limits.output;
        if stdout.len() + stderr.len() > limit {
            return Err(failed(Failure::OutputTooLarge { limit }).into());
        }
        let completed = Completed {
            exit: Exit::Code(exit.into()),
            stdout: stdout.into(),
            log: stderr.into(),
        };
        Ok(krm::judge_completed(image, completed)?)
    }
}

/// A function has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Panicked;

/// Runs a function on a thread of its own, which keeps the place for a while.
async fn on_thread(
    native: Chosen,
    resource_list: Bytes,
    permit: OwnedSemaphorePermit,
    deadline: Instant,
) -> Result<Result<Ended, Late>, Panicked> {
    let clock = Clock::until(deadline.into_std());
    // A caller that gives up, or whose time is up, stops the function.
    let _guard = Cancel(clock.clone());
    let place = Place(Arc::new(Mutex::new(Some(permit))));
    let kept = place.clone();
    let task = tokio::task::spawn_blocking(move || {
        let ended = native.run(resource_list, &clock);
        kept.give_up();
        ended
    });
    match place.kept_by(task, deadline).await {
        Err(_) => Ok(Err(Late)),
        Ok(Err(_)) => Err(Panicked),
        Ok(Ok(ended)) => Ok(ended),
    }
}

/// A place among the threads, which is given up once: by the function when it ends,
/// or before, by the call that waits for it.
#[derive(Clone)]
struct Place(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Place {
    /// What `task` ends with by the deadline. It loses the place before, if it takes long.
    async fn kept_by<T>(
        &self,
        task: impl Future<Output = T>,
        deadline: Instant,
    ) -> Result<T, Elapsed> {
        let mut task = pin!(task);
        let early = deadline.min(Instant::now() + PLACE_KEPT);
        if let Ok(ended) = timeout_at(early, &mut task).await {
            return Ok(ended);
        }
        self.give_up();
        timeout_at(deadline, task).await
    }

    fn give_up(&self) {
        let permit = self.0.lock().take();
        drop(permit);
    }
}

/// Cancels when dropped.
struct Cancel(Clock);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_run_for_250_ms_gives_up_its_place() {
        let places = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&places).acquire_owned().await.unwrap();
        let place = Place(Arc::new(Mutex::new(Some(permit))));
        let begin = Instant::now();
        let deadline = begin + Duration::from_secs(10);
        let long = tokio::spawn(async move {
            let ended = place.kept_by(std::future::pending::<()>(), deadline).await;
            ended.is_err()
        });
        let next = places.acquire().await.unwrap();
        let waited = begin.elapsed();
        assert!(
            waited >= PLACE_KEPT && waited < 2 * PLACE_KEPT,
            "the next call waited for {waited:?}"
        );
        drop(next);
        assert!(long.await.unwrap(), "it goes on until its deadline");
        assert_eq!(begin.elapsed().as_secs(), 10);
        assert_eq!(places.available_permits(), 1);
    }
}
