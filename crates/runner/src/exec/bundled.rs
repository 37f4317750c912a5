//! The functions that are part of the runner.
//!
//! All but one run in this process, on threads of their own, so many at a time
//! as there are processors: they only compute. `starlark` runs scripts of users:
//! it is a program beside the runner's own, with limits.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use functions::{Clock, Ended, Late, catalog};
use krm::{Failure, FunctionError, Output};
use process::{Command, Completed, Environment, Exit, Limits};
use service::EvaluateError;
use tokio::{sync::Semaphore, time::timeout_at};

use super::{
    file::Entry,
    program::{Native, Program},
};

/// The program beside the runner that runs scripts.
const STARLARK_PROGRAM: &str = "starlark-function";
pub(crate) const STARLARK: &str = "starlark";
pub(crate) const STARLARK_VERSIONS: &[&str] = &["v0.5", "v0.5.5"];

/// What `name` stands for, if it is bundled.
pub(super) fn find(name: &str) -> Option<Program> {
    if name == STARLARK {
        return starlark().map(Program::File);
    }
    let function = catalog::find(name)?;
    Some(Program::Native(Native(function)))
}

/// The program that runs scripts, if it is installed.
pub(crate) fn starlark() -> Option<Command> {
    // Looked up once: the runner does not move.
    static PATH: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let own = std::env::current_exe().ok()?;
        let path = own.with_file_name(STARLARK_PROGRAM);
        path.is_file().then_some(path)
    });
    let path = PATH.as_ref()?;
    Some(Command::new(path, Environment::Minimal))
}

/// Names, versions and images of everything that is bundled.
pub(crate) fn all() -> Vec<(&'static str, &'static [&'static str])> {
    let native = catalog::FUNCTIONS
        .iter()
        .map(|function| (function.name, function.versions));
    let scripts = starlark().map(|_| (STARLARK, STARLARK_VERSIONS));
    native.chain(scripts).collect()
}

/// The configuration that counts where the operator gives none.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |(name, versions): (&str, &[&str])| Entry {
        function: name.to_owned(),
        images: catalog::images(name, versions),
    };
    all().into_iter().map(entry).collect()
}

/// Threads for functions of this process.
#[derive(Debug, Clone)]
pub(super) struct Threads(Arc<Semaphore>);

impl Threads {
    pub(super) fn new() -> Self {
        let count = std::thread::available_parallelism().map_or(1, Into::into);
        Self(Arc::new(Semaphore::new(count)))
    }

    /// Runs a function on a list.
    pub(super) async fn run(
        &self,
        native: Native,
        image: &str,
        resource_list: Bytes,
        limits: Limits,
    ) -> Result<Output, EvaluateError> {
        let failed = |failure| FunctionError {
            function: image.to_owned(),
            failure,
        };
        let late = || failed(Failure::DeadlineExceeded { log: Bytes::new() }).into();
        let permits = Arc::clone(&self.0);
        let Ok(Ok(permit)) = timeout_at(limits.deadline, permits.acquire_owned()).await else {
            return Err(late());
        };
        let clock = Clock::until(limits.deadline.into_std());
        // A caller that gives up, or whose time is up, stops the function.
        let guard = Cancel(clock.clone());
        let task = tokio::task::spawn_blocking(move || {
            let ended = native.0.run(&resource_list, &clock);
            drop(permit);
            ended
        });
        let ended = timeout_at(limits.deadline, task).await;
        drop(guard);
        let Ended {
            exit,
            stdout,
            stderr,
        } = match ended {
            Err(_) | Ok(Ok(Err(Late))) => return Err(late()),
            Ok(Err(_)) => {
                let image = image.to_owned();
                return Err(EvaluateError::Panicked { image });
            }
            Ok(Ok(Ok(ended))) => ended,
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

/// Cancels when dropped.
struct Cancel(Clock);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
