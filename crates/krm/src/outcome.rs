//! The one verdict on how a function ended.
//!
//! | exit | standard output | verdict |
//! |---|---|---|
//! | 0 | a ResourceList | its bytes, untouched; results of severity error are reported, the call succeeds |
//! | 0 | anything else | unreadable output |
//! | not 0 | a ResourceList with results | failed, with those results |
//! | not 0 | anything else | failed, with exit code or signal |
//! | 0 | still open at the deadline | held open: never a list that may lack items |
//!
//! The log goes with every verdict. A function that could not be started, wrote
//! too much or took too long gets an error of the same type, so that callers
//! have one thing to translate.

use std::{fmt, io, path::PathBuf};

use bytes::Bytes;
use metrics::calls::{RESULTS, Severity};
use process::{Bound, Completed, Exit, Holder, RunError};

use crate::resource_list::{self, FunctionResult, NotAResourceList, Results};

/// What a function that succeeded leaves.
#[derive(Debug)]
pub struct Output {
    pub resource_list: Bytes,
    pub log: Bytes,
    /// What it reported with severity error, although it succeeded.
    pub errors: Vec<FunctionResult>,
    /// Which release of a function that is part of the runner answered, if one did.
    pub answered_by: Option<String>,
}

/// A function that did not succeed.
#[derive(Debug)]
pub struct FunctionError {
    /// As the caller named it: an image reference.
    pub function: String,
    pub failure: Failure,
    /// As in [`Output`].
    pub answered_by: Option<String>,
}

#[derive(Debug)]
pub enum Failure {
    CannotStart {
        program: PathBuf,
        error: io::Error,
    },
    Failed {
        exit: Exit,
        results: Results,
        log: Bytes,
    },
    UnreadableOutput {
        reason: NotAResourceList,
        log: Bytes,
    },
    OutputTooLarge {
        limit: usize,
    },
    OutputLost {
        error: io::Error,
    },
    /// It has ended, but its output has not: perhaps something is missing.
    OutputHeldOpen {
        holder: Option<Holder>,
        log: Bytes,
    },
    DeadlineExceeded {
        log: Bytes,
    },
    /// It was killed, or not even started, for want of memory; in bytes.
    NotEnoughMemory {
        needed: u64,
        available: u64,
        has_run: bool,
    },
    /// It took more than it may have, and was killed.
    OverBound {
        bound: Bound,
        log: Bytes,
    },
    /// Its time was up before there was room for it.
    NotBegunInTime {
        running: usize,
        queued: usize,
    },
}

/// Judges a program that ran to its end.
pub(crate) fn judge(completed: Completed) -> Result<Output, Failure> {
    let Completed { exit, stdout, log } = completed;
    let list = resource_list::read(&stdout).map(|list| list.results);
    if let Ok(results) = &list {
        count(results);
    }
    match (exit, list) {
        (Exit::Code(0), Ok(results)) => {
            let errors = results
                .list
                .into_iter()
                .filter(FunctionResult::is_error)
                .collect();
            Ok(Output {
                resource_list: stdout,
                log,
                errors,
                answered_by: None,
            })
        }
        (Exit::Code(0), Err(reason)) => Err(Failure::UnreadableOutput { reason, log }),
        (exit, list) => Err(Failure::Failed {
            exit,
            results: list.unwrap_or_default(),
            log,
        }),
    }
}

/// Counts results by their severity, of which there are three; any other is an information.
fn count(results: &Results) {
    for result in &results.list {
        let severity = match result.severity.to_ascii_lowercase().as_str() {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        };
        RESULTS.of(severity).increment();
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Start { program, source } => Self::CannotStart {
                program,
                error: source,
            },
            RunError::OutputTooLarge { limit } => Self::OutputTooLarge { limit },
            RunError::DeadlineExceeded { log } => Self::DeadlineExceeded { log },
            RunError::Read(error) => Self::OutputLost { error },
            RunError::NotEnoughMemory {
                needed,
                available,
                has_run,
                ..
            } => Self::NotEnoughMemory {
                needed,
                available,
                has_run,
            },
            RunError::OverBound { bound, log } => Self::OverBound { bound, log },
            RunError::NotBegunInTime { running, queued } => {
                Self::NotBegunInTime { running, queued }
            }
            RunError::OutputHeldOpen { holder, log } => Self::OutputHeldOpen { holder, log },
        }
    }
}

impl FunctionError {
    pub fn new(function: &str, failure: Failure) -> Self {
        Self {
            function: function.to_owned(),
            failure,
            answered_by: None,
        }
    }

    /// What happened, in one line.
    pub fn headline(&self) -> String {
        let function = &self.function;
        match &self.failure {
            Failure::CannotStart { program, error } => {
                format!(
                    "cannot start function {function:?}: {}: {error}",
                    program.display()
                )
            }
            Failure::Failed { exit, .. } => {
                format!("failed to evaluate function {function:?}: {exit}")
            }
            Failure::UnreadableOutput { reason, .. } => format!(
                "failed to parse the output of function {function:?}: \
                 expected a ResourceList on standard output, but {reason}"
            ),
            Failure::OutputTooLarge { limit } => format!(
                "the output of function {function:?} exceeds {limit} bytes, list and log \
                 together; if it is meant to be that large, raise --max-request-body-size"
            ),
            Failure::OutputLost { error } => {
                format!("cannot read the output of function {function:?}: {error}")
            }
            Failure::OutputHeldOpen { holder, .. } => {
                let holder = holder.as_ref().map_or_else(
                    || "a process that it started".to_owned(),
                    ToString::to_string,
                );
                format!(
                    "function {function:?} ended, but its output did not end in time: {holder} \
                     still held its standard output open and was killed; the list may lack \
                     items and is not used"
                )
            }
            Failure::NotEnoughMemory {
                needed,
                available,
                has_run,
            } => {
                let (needed, available) = (needed >> 20, available >> 20);
                let what = if *has_run {
                    format!("was killed: it had {needed} MiB of memory, and there were {available}")
                } else {
                    format!(
                        "is not started: it was killed with {needed} MiB of memory for a list that \
                         was not larger, and there are {available}"
                    )
                };
                format!(
                    "function {function:?} {what} MiB for it; raise the memory limit of the \
                     container that runs it, or --memory-budget"
                )
            }
            Failure::OverBound { bound, .. } => {
                let next = match bound {
                    Bound::Memory { .. } => "; its entry in the file of --config has `memory`",
                    Bound::Processes { .. } => {
                        "; its entry in the file of --config may have a larger `processes`"
                    }
                    Bound::TemporaryFiles { .. } => "",
                };
                format!("function {function:?} was killed: {bound}{next}")
            }
            Failure::NotBegunInTime { running, queued } => format!(
                "no time left for function {function:?}: it still waits for memory or a processor, \
                 {running} calls run and {queued} wait"
            ),
            Failure::DeadlineExceeded { .. } => {
                format!("function {function:?} did not end in time and was killed")
            }
        }
    }

    /// What the function reported before it failed.
    pub fn results(&self) -> Results {
        match &self.failure {
            Failure::Failed { results, .. } => results.clone(),
            _ => Results::default(),
        }
    }

    /// What the function wrote to its standard error.
    pub fn log(&self) -> &[u8] {
        match &self.failure {
            Failure::Failed { log, .. }
            | Failure::UnreadableOutput { log, .. }
            | Failure::OutputHeldOpen { log, .. }
            | Failure::OverBound { log, .. }
            | Failure::DeadlineExceeded { log } => log,
            _ => &[],
        }
    }
}

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())
    }
}

impl std::error::Error for FunctionError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "kind: ResourceList\nitems: []\n";
    const LIST_WITH_ERROR: &str =
        "kind: ResourceList\nresults:\n- message: bad\n  severity: error\n";

    fn judged(exit: Exit, stdout: &'static str) -> Result<Output, Failure> {
        judge(Completed {
            exit,
            stdout: stdout.into(),
            log: "a log".into(),
        })
    }

    #[test]
    fn success_with_a_list_keeps_its_bytes_and_tells_errors() {
        let output = judged(Exit::Code(0), LIST_WITH_ERROR).unwrap();
        assert_eq!(output.resource_list, LIST_WITH_ERROR);
        assert_eq!(output.log, "a log");
        assert_eq!(output.errors[0].to_string(), "[error]: bad");
        assert!(judged(Exit::Code(0), LIST).unwrap().errors.is_empty());
    }

    #[test]
    fn success_without_a_list_is_unreadable() {
        for stdout in ["", "hello", "kind: ConfigMap\n", "{"] {
            let failure = judged(Exit::Code(0), stdout).unwrap_err();
            assert!(
                matches!(failure, Failure::UnreadableOutput { .. }),
                "{stdout:?}: {failure:?}"
            );
        }
    }

    #[test]
    fn failure_keeps_the_results_there_are() {
        let failure = judged(Exit::Code(1), LIST_WITH_ERROR).unwrap_err();
        let Failure::Failed { exit, results, log } = failure else {
            panic!("{failure:?}")
        };
        assert_eq!(
            (exit, results.list.len(), &*log),
            (Exit::Code(1), 1, &b"a log"[..])
        );
    }

    #[test]
    fn failure_without_a_list_keeps_exit_code_or_signal() {
        for (exit, words) in [
            (
                Exit::Code(3),
                "failed to evaluate function \"fn\": exit code 3",
            ),
            (
                Exit::Signal(9),
                "failed to evaluate function \"fn\": killed by signal 9 (SIGKILL)",
            ),
        ] {
            let failure = judged(exit, "panic: oops").unwrap_err();
            let error = FunctionError::new("fn", failure);
            assert_eq!(error.headline(), words);
            assert!(error.results().is_empty());
            assert_eq!(error.log(), b"a log");
        }
    }
}
