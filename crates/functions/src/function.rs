//! What a bundled function is, and running one on the bytes of a list.

use std::rc::Rc;

pub use crate::meter::Clock;
use crate::{
    expression,
    list::{Dialect, Reading, ResourceList},
    meter,
    results::Report,
    yaml::Source,
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
    /// Likewise, and the words are also the last line of what is written.
    Printed(String),
    /// Its library failed, with these words: nothing is written.
    Refused(String),
    /// The Go program would have died of a panic: nothing is written.
    Panicked(String),
    /// The time is up: nothing is written.
    Late,
    /// It needs more memory than its list allows: nothing is written.
    Spent,
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Failed(message)
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

/// The text of a list, in the form that its objects share; `None` if it is none.
pub(crate) fn text(input: Vec<u8>) -> Option<Rc<Source>> {
    let text = String::from_utf8(input).ok()?;
    Some(Rc::new(text.into()))
}

/// Runs a function on a list.
pub(crate) fn run(
    function: &dyn Function,
    name: &str,
    dialect: Dialect,
    text: Option<Rc<Source>>,
    reading: Reading,
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
    let Some(text) = text else {
        let message = "yaml: invalid leading UTF-8 octet".to_owned();
        return Ok(failed(message, String::new()));
    };
    let ended = meter::metered(clock, text.len(), || {
        let _kept = expression::Kept::new();
        clock.check()?;
        let read = ResourceList::read(&text, dialect, reading);
        clock.check()?;
        let mut list = match read {
            Ok(list) => list,
            Err(message) => return Ok(failed(message, String::new())),
        };
        let ran = list.run(dialect, |list| function.run(list, clock));
        clock.check()?;
        let ended = match ran {
            Err(Stop::Failed(message)) => match list.write(dialect, name) {
                Ok(written) => failed(message, written),
                Err(message) => failed(message, String::new()),
            },
            Err(Stop::Printed(message)) => {
                let written = list.write(dialect, name).unwrap_or_default();
                let written = format!("{written}{message}\n");
                failed(message, written)
            }
            Err(Stop::Refused(message)) => failed(message, String::new()),
            Err(Stop::Panicked(message)) => Ended {
                exit: 2,
                stdout: String::new(),
                stderr: format!("panic: {message}\n"),
            },
            Err(stop) => return Err(stop),
            Ok(()) => match list.write(dialect, name) {
                Ok(stdout) => Ended {
                    exit: 0,
                    stdout,
                    stderr: String::new(),
                },
                Err(message) => failed(message, String::new()),
            },
        };
        clock.check()?;
        Ok(ended)
    });
    match ended {
        Ok(ended) => Ok(ended),
        Err(Stop::Late) => Err(Late),
        Err(
            Stop::Failed(message)
            | Stop::Printed(message)
            | Stop::Refused(message)
            | Stop::Panicked(message),
        ) => Ok(failed(message, String::new())),
        Err(Stop::Spent) => Ok(Ended {
            exit: 1,
            stdout: String::new(),
            stderr: format!(
                "the function was stopped: with this configuration it makes far more of its list \
                 ({} bytes) than the 64 MB and 20 times the list that it may use; does a value \
                 contain itself?\n",
                text.len()
            ),
        }),
    }
}

/// A failure that is also a result of the list.
pub(crate) fn report_failure(list: &mut ResourceList, told: String, message: String) -> Stop {
    list.results = vec![Report::error(told)];
    Stop::Failed(message)
}
