//! What a bundled function is, and running one on the bytes of a list.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::{
    list::{Dialect, ResourceList},
    results::Report,
};

/// A KRM function: edits the items of a list, and reports.
pub trait Function: Sync {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop>;
}

/// Why a function stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It failed, with these words; what it did and reported so far is written.
    Failed(String),
    /// The time is up: nothing is written.
    Late,
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// When a run has to end. Functions look at it between two items.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
}

impl Clock {
    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..Self::default()
        }
    }

    /// Ends the run now, from whichever thread.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// `Err` if the run has to end.
    pub fn check(&self) -> Result<(), Stop> {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        match is_late || self.cancelled.load(Ordering::Relaxed) {
            true => Err(Stop::Late),
            false => Ok(()),
        }
    }
}

/// How a run ended: what the process of the Go function would leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit: u8,
    pub stdout: String,
    pub stderr: String,
}

/// A function's run was cut short by its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late;

/// Runs a function that is not in the catalog, in the manner of the functions SDK.
pub fn run_sdk(function: &dyn Function, input: &[u8], clock: &Clock) -> Result<Ended, Late> {
    run(function, "", Dialect::Sdk, input, clock)
}

/// Runs a function on a list.
pub(crate) fn run(
    function: &dyn Function,
    name: &str,
    dialect: Dialect,
    input: &[u8],
    clock: &Clock,
) -> Result<Ended, Late> {
    let failed = |message: String, stdout: String| Ended {
        exit: 1,
        stdout,
        stderr: match dialect {
            Dialect::Sdk => format!("failed to evaluate function: {message}\n"),
            Dialect::Framework { .. } => format!("{message}\n"),
        },
    };
    let text = match std::str::from_utf8(input) {
        Ok(text) => text,
        Err(_) => {
            let message = "yaml: invalid leading UTF-8 octet".to_owned();
            return Ok(failed(message, String::new()));
        }
    };
    let mut list = match ResourceList::read(text, dialect) {
        Ok(list) => list,
        Err(message) => return Ok(failed(message, String::new())),
    };
    let ended = clock.check().and_then(|()| function.run(&mut list, clock));
    let ended = ended.and_then(|()| clock.check());
    match ended {
        Err(Stop::Late) => Err(Late),
        Err(Stop::Failed(message)) => Ok(failed(message, list.write(dialect, name))),
        Ok(()) => Ok(Ended {
            exit: 0,
            stdout: list.write(dialect, name),
            stderr: String::new(),
        }),
    }
}

/// A failure that is also a result of the list.
pub(crate) fn report_failure(list: &mut ResourceList, told: String, message: String) -> Stop {
    list.results = vec![Report::error(told)];
    Stop::Failed(message)
}
