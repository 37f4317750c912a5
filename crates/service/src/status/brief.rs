//! An error in short, for people who look at a server and not at one call.

use krm::resource_list::FunctionResult;
use tonic_types::StatusExt as _;

use crate::evaluator::EvaluateError;

impl EvaluateError {
    /// What happened, and the first result's message if the function reported one:
    /// nothing else of what a function wrote, which may repeat parts of a list.
    pub fn brief(&self) -> String {
        let (headline, result) = match self {
            Self::Function(error) => {
                let errors = error.results().list;
                let first = errors.iter().find(|result| result.is_error());
                let first = first.or(errors.first());
                (
                    error.headline(),
                    first.map(|result: &FunctionResult| result.message.clone()),
                )
            }
            Self::Remote { status, .. } => {
                let failure = status.get_details_precondition_failure();
                let first = failure.and_then(|failure| failure.violations.into_iter().next());
                let headline = match exit_code(status.message()) {
                    Some(code) => format!("{self}: exit code {code}"),
                    None => self.to_string(),
                };
                (headline, first.map(|violation| violation.description))
            }
            _ => (self.to_string(), None),
        };
        match result.filter(|message| !message.is_empty()) {
            Some(message) => format!("{headline}; its first result: {message}"),
            None => headline,
        }
    }
}

/// The number at the end of the first line, as our wrapper tells it. The rest of a wrapper's words
/// may be the function's own.
fn exit_code(message: &str) -> Option<i32> {
    let (_, code) = message.lines().next()?.rsplit_once(": exit code ")?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use krm::{Failure, FunctionError, resource_list::Results};
    use process::Exit;
    use tonic::Status;

    use super::*;

    fn failed() -> EvaluateError {
        let result = FunctionResult {
            severity: "error".into(),
            message: "no such field".into(),
            ..FunctionResult::default()
        };
        let failure = Failure::Failed {
            exit: Exit::Code(1),
            results: Results {
                list: vec![result],
                not_read: 0,
            },
            log: "password: hunter2".into(),
        };
        FunctionError::new("x:v1", failure).into()
    }

    #[test]
    fn it_has_the_first_results_message_and_nothing_of_the_log() {
        let here = failed();
        let there = EvaluateError::Remote {
            image: "x:v1".into(),
            status: Box::new(Status::from(failed())),
        };
        for error in [here, there] {
            let brief = error.brief();
            assert!(
                brief.contains("\"x:v1\"") && brief.ends_with("no such field"),
                "{brief}"
            );
            assert!(brief.contains("exit code 1"), "{brief}");
            assert!(!brief.contains("hunter2"), "{brief}");
        }
    }
}
