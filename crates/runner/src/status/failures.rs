//! The last calls that failed, with their errors and advice.

use std::time::{SystemTime, UNIX_EPOCH};

use metrics::Code;
use serde::{Deserialize, Serialize};
use service::{EvaluateError, Noted};

use super::recent::Recent;

const KEPT: usize = 20;

/// How much of a message is kept, in characters.
const LONGEST: usize = 600;

static FAILURES: Recent<FailureView, KEPT> = Recent::new();

/// A call that failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FailureView {
    /// Unix seconds.
    pub(crate) at: u64,
    pub(crate) image: String,
    pub(crate) runtime: String,
    pub(crate) pod: Option<String>,
    pub(crate) code: String,
    pub(crate) message: String,
    /// What somebody could do about it.
    pub(crate) advice: String,
    /// Under which the call is found in traces and in logs.
    #[serde(default)]
    pub(crate) trace_id: Option<String>,
}

/// A call has failed.
pub(crate) fn keep(error: &EvaluateError, code: Code, noted: &Noted) {
    FAILURES.keep(FailureView {
        at: unix(SystemTime::now()),
        image: cut(noted.image.as_deref().unwrap_or_default()),
        runtime: noted
            .runtime
            .map_or("none", |runtime| runtime.name())
            .into(),
        pod: noted.pod.as_deref().map(str::to_owned),
        code: code.name().into(),
        message: cut(&error.brief()),
        advice: advice(error, code).into(),
        trace_id: noted.trace_id.map(|id| id.to_string()),
    });
}

/// The newest first.
pub(super) fn all() -> Vec<FailureView> {
    FAILURES.all()
}

/// Unix seconds.
pub(super) fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// What somebody could do about it; most messages say it themselves.
fn advice(error: &EvaluateError, code: Code) -> &'static str {
    match error {
        EvaluateError::InvalidImage { .. } | EvaluateError::InvalidTag { .. } => {
            "Correct the image or the tag in the package's Kptfile."
        }
        EvaluateError::NotFound { .. } => {
            "Check the image's name. `function-runner fn list` shows the bundled functions; others \
             need the pod runtime, or an entry in --config."
        }
        EvaluateError::PermissionDenied { .. } => {
            "The image policy keeps it out: `function-runner inspect IMAGE --policy FILE` shows which \
             rule, and what it asks for."
        }
        EvaluateError::NoMatchingTag { .. } => "Widen the constraint, or publish a tag that fits.",
        EvaluateError::QueueFull { .. } => {
            "Too many calls of this function at once: raise --max-parallel-pods-per-function or \
             --max-queued-per-function, or send fewer at a time."
        }
        EvaluateError::TooManyPods { .. } => "Raise --max-pods, or lower --pod-ttl.",
        EvaluateError::Unavailable { .. } => {
            "It may pass: the next call tries again. Look at the cold starts and at the cluster above."
        }
        EvaluateError::FailedPrecondition { .. } => {
            "It will not pass by itself. `function-runner inspect IMAGE` shows what the registry \
             says; `kubectl describe pod` shows what the cluster says."
        }
        EvaluateError::NoPodInTime { .. } => {
            "The caller's time was up. Warm the function up (--pod-cache-config), or raise the \
             caller's timeout."
        }
        EvaluateError::Panicked { .. } => {
            "A bug of the runner: its log says where. Please report it."
        }
        EvaluateError::Remote { .. } | EvaluateError::Function(_) => match code {
            Code::DeadlineExceeded => {
                "The function took too long: look at its p99 above, at the size of the package, and \
                 at the caller's timeout."
            }
            Code::ResourceExhausted => {
                "The function needs more than there is: raise the memory limit or \
                 --max-request-body-size, as the message says."
            }
            _ => {
                "The function itself failed. Try it by hand: `function-runner eval --address \
                 HOST:PORT --image IMAGE PACKAGE` shows its results and what it wrote."
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut() {
        let shown = cut(&"é".repeat(10_000));
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert_eq!(cut("short"), "short");
    }
}
