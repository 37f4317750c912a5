//! The one place where errors become gRPC statuses.
//!
//! The message tells a person everything: what happened, the function's results,
//! its log. The same travels in parts as `google.rpc` details for programs:
//! - `ErrorInfo`: `reason` (such as `FUNCTION_FAILED`), domain `fn.kpt.dev`, and
//!   the `image`, `exit_code` or `signal` as metadata;
//! - `PreconditionFailure`: one violation per result (type: severity, subject:
//!   resource and field, description: message);
//! - `DebugInfo`: the log as `detail`.
//!
//! Message and details share one HTTP/2 header block, which clients bound. Both
//! together stay under [`fit::BUDGET`]; long text is cut in the middle and says so.

mod brief;
mod fit;

use std::collections::HashMap;

use krm::{Failure, FunctionError, resource_list::FunctionResult};
use opentelemetry::trace::TraceId;
use process::Exit;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, PreconditionViolation, StatusExt as _};

use crate::{budget::Exhausted, evaluator::EvaluateError};

const DOMAIN: &str = "fn.kpt.dev";

impl EvaluateError {
    /// What the caller will be told.
    pub fn code(&self) -> Code {
        match self {
            Self::InvalidImage { .. } | Self::InvalidTag { .. } => Code::InvalidArgument,
            Self::NotFound { .. } | Self::NoMatchingTag { .. } => Code::NotFound,
            Self::QueueFull { .. } | Self::TooManyPods { .. } => Code::ResourceExhausted,
            Self::Panicked { .. } => Code::Internal,
            Self::Unavailable { .. } => Code::Unavailable,
            Self::FailedPrecondition { .. } => Code::FailedPrecondition,
            Self::PermissionDenied { .. } => Code::PermissionDenied,
            Self::NoPodInTime { .. } => Code::DeadlineExceeded,
            Self::Remote { status, .. } => status.code(),
            Self::Function(error) => match error.failure {
                Failure::OutputTooLarge { .. }
                | Failure::NotEnoughMemory { .. }
                | Failure::OverBound { .. } => Code::ResourceExhausted,
                Failure::DeadlineExceeded { .. }
                | Failure::OutputHeldOpen { .. }
                | Failure::NotBegunInTime { .. } => Code::DeadlineExceeded,
                Failure::CannotStart { .. }
                | Failure::Failed { .. }
                | Failure::UnreadableOutput { .. }
                | Failure::OutputLost { .. } => Code::Internal,
            },
        }
    }

    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::InvalidImage { .. } => "INVALID_IMAGE",
            Self::InvalidTag { .. } => "INVALID_TAG",
            Self::NotFound { .. } => "FUNCTION_NOT_FOUND",
            Self::NoMatchingTag { .. } => "NO_MATCHING_TAG",
            Self::QueueFull { .. } => "QUEUE_FULL",
            Self::TooManyPods { .. } => "TOO_MANY_PODS",
            Self::Panicked { .. } => "INTERNAL_ERROR",
            Self::Unavailable { .. } => "UNAVAILABLE",
            Self::FailedPrecondition { .. } => "CANNOT_RUN",
            Self::PermissionDenied { .. } => "NOT_ALLOWED",
            Self::NoPodInTime { .. } => "DEADLINE_EXCEEDED",
            Self::Remote { .. } => "REMOTE",
            Self::Function(error) => match error.failure {
                Failure::CannotStart { .. } => "CANNOT_START",
                Failure::Failed { .. } => "FUNCTION_FAILED",
                Failure::UnreadableOutput { .. } => "UNREADABLE_OUTPUT",
                Failure::OutputTooLarge { .. } => "OUTPUT_TOO_LARGE",
                Failure::OutputLost { .. } => "OUTPUT_LOST",
                Failure::NotEnoughMemory { .. } => "OUT_OF_MEMORY",
                Failure::OverBound { .. } => "OVER_BOUND",
                Failure::DeadlineExceeded { .. }
                | Failure::OutputHeldOpen { .. }
                | Failure::NotBegunInTime { .. } => "DEADLINE_EXCEEDED",
            },
        }
    }

    /// An image's name that is longer than any could be, shown in part.
    pub(crate) fn too_long(image: &str) -> Self {
        Self::InvalidImage {
            image: fit::shorten(image, 256),
            reason: format!("its {} bytes are more than any reference has", image.len()),
        }
    }

    /// A tag that is longer than anything that could be meant, shown in part.
    pub(crate) fn tag_too_long(image: &str, tag: &str) -> Self {
        Self::InvalidTag {
            image: image.to_owned(),
            tag: fit::shorten(tag, 256),
            reason: format!(
                "its {} bytes are more than any version constraint needs",
                tag.len()
            ),
        }
    }

    fn image(&self) -> &str {
        match self {
            Self::InvalidImage { image, .. }
            | Self::InvalidTag { image, .. }
            | Self::NotFound { image, .. }
            | Self::NoMatchingTag { image, .. }
            | Self::QueueFull { image, .. }
            | Self::TooManyPods { image, .. }
            | Self::Unavailable { image, .. }
            | Self::FailedPrecondition { image, .. }
            | Self::PermissionDenied { image, .. }
            | Self::NoPodInTime { image, .. }
            | Self::Remote { image, .. }
            | Self::Panicked { image } => image,
            Self::Function(error) => &error.function,
        }
    }
}

impl From<EvaluateError> for Status {
    fn from(error: EvaluateError) -> Self {
        error.into_status(None)
    }
}

impl EvaluateError {
    /// What the caller hears. If the call is part of a trace, its number comes last: by
    /// that everything else can be found.
    pub(crate) fn into_status(self, trace: Option<TraceId>) -> Status {
        let error = self;
        let trace = trace.map_or_else(String::new, |id| format!("\n(trace {id})"));
        let mut headline = None;
        if let EvaluateError::Remote { status, .. } = &error {
            // Our own wrapper has said it already.
            let message = status.message();
            let trace = Some(&*trace).filter(|trace| !message.ends_with(trace));
            let message = format!("{message}{}", trace.unwrap_or_default());
            if fit::fits(&message, status.details()) {
                // Its other headers belong to the other connection.
                let details = bytes::Bytes::copy_from_slice(status.details());
                return Status::with_details(status.code(), message, details);
            }
            // Ours are always small enough; this is somebody else's.
            headline = Some(status.message().to_owned());
        }
        let headline = headline.unwrap_or_else(|| error.to_string());
        let (results, log) = match &error {
            EvaluateError::Function(error) => (error.results(), text(error.log())),
            EvaluateError::Unavailable { log, .. }
            | EvaluateError::FailedPrecondition { log, .. } => (Default::default(), log.clone()),
            _ => Default::default(),
        };
        let lines: Vec<String> = results.list.iter().map(ToString::to_string).collect();
        let mut lines = lines.join("\n");
        if results.not_read > 0 {
            lines.push_str(&format!("\n(and {} more results)", results.not_read));
        }
        let message = fit::message(&headline, &lines, &log, &trace);
        let details = details(&error, &results.list, &log, fit::left_for_details(&message));
        Status::with_error_details(error.code(), message, details)
    }
}

/// As much of the details as fits into `budget` bytes: the error itself, then
/// the results as long as there is room, then the log, cut to what is left.
fn details(
    error: &EvaluateError,
    results: &[FunctionResult],
    log: &str,
    mut budget: usize,
) -> ErrorDetails {
    let mut details = ErrorDetails::new();
    let mut metadata = HashMap::from([("image".to_owned(), fit::shorten(error.image(), 512))]);
    if let EvaluateError::Function(FunctionError {
        failure: Failure::Failed { exit, .. },
        ..
    }) = error
    {
        let (name, value) = match exit {
            Exit::Code(code) => ("exit_code", code),
            Exit::Signal(signal) => ("signal", signal),
        };
        metadata.insert(name.to_owned(), value.to_string());
    }
    let size: usize = metadata
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    budget = budget.saturating_sub(size + fit::OVERHEAD);

    let mut violations = Vec::new();
    for result in results {
        let violation = PreconditionViolation::new(
            &result.severity,
            fit::shorten(&result.subject(), 512),
            fit::shorten(&result.message, 1024),
        );
        let size = violation.r#type.len() + violation.subject.len() + violation.description.len();
        let Some(left) = budget.checked_sub(size + fit::OVERHEAD) else {
            break;
        };
        budget = left;
        violations.push(violation);
    }
    if violations.len() < results.len() {
        metadata.insert(
            "results_left_out".to_owned(),
            (results.len() - violations.len()).to_string(),
        );
    }
    details.set_error_info(error.reason(), DOMAIN, metadata);
    if !violations.is_empty() {
        details.set_precondition_failure(violations);
    }
    if !log.is_empty() && budget > 2 * fit::OVERHEAD {
        details.set_debug_info(
            Vec::<String>::new(),
            fit::shorten(log, budget - fit::OVERHEAD),
        );
    }
    details
}

/// A request that is refused because of what is in flight already.
pub(crate) fn exhausted(error: Exhausted) -> Status {
    metrics::calls::SERVED.ended(metrics::Code::ResourceExhausted, std::time::Duration::ZERO);
    let mut details = ErrorDetails::new();
    details.set_error_info("REQUEST_MEMORY", DOMAIN, HashMap::new());
    Status::with_error_details(Code::ResourceExhausted, error.to_string(), details)
}

fn text(log: &[u8]) -> String {
    String::from_utf8_lossy(log).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
