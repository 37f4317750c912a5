//! What every way of running functions has in common.

use bytes::Bytes;
use krm::{FunctionError, Output};
use tokio::time::Instant;

use crate::{notes::Notes, trace::Trace};

/// One call: run this function on this list, by then.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The function, as an image reference.
    pub image: String,
    /// A version or a version constraint that replaces the image's own tag; mostly
    /// empty, and always for a runtime that is asked for one reference.
    pub tag: String,
    /// A ResourceList. It may hold Secrets: never log it.
    pub resource_list: Bytes,
    pub deadline: Instant,
    /// Filled in by the runtimes that serve the call.
    pub notes: Notes,
    /// Where the call stands in a trace, for what is done for it.
    pub trace: Trace,
}

/// Runs functions. Dropping the returned future abandons the call, and whatever
/// it has started ends.
#[tonic::async_trait]
pub trait Evaluator: Send + Sync + 'static {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError>;
}

/// Why a function was not evaluated, or failed.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    #[error("invalid image reference {image:?}: {reason}")]
    InvalidImage { image: String, reason: String },
    #[error("invalid tag {tag:?} for function {image:?}: {reason}")]
    InvalidTag {
        image: String,
        tag: String,
        reason: String,
    },
    #[error(
        "no tag of {image:?} satisfies {constraint:?} (looked at: {}); \
         `function-runner inspect {image} --tag {constraint:?}` shows why not",
        looked_at.join(", ")
    )]
    NoMatchingTag {
        /// Without a tag.
        image: String,
        constraint: String,
        looked_at: Vec<String>,
    },
    /// "Not mine": the next runtime, if there is one, may know the function.
    #[error(
        "no runtime knows function {image:?} (tried: {})",
        if tried.is_empty() { "none, all are disabled".to_owned() } else { tried.join(", ") }
    )]
    NotFound {
        image: String,
        tried: Vec<&'static str>,
    },
    #[error(
        "{queued} calls of function {image:?} are waiting or running already; \
         try again later, or raise --max-queued-per-function"
    )]
    QueueFull { image: String, queued: usize },
    /// There may be no more pods, and none of them can make room.
    #[error(
        "no pod for function {image:?}: there are {pods} pods already, as many as --max-pods allows, \
         and none of them is idle; try again later, or raise --max-pods"
    )]
    TooManyPods { image: String, pods: usize },
    /// Something that the function needs is not there at the moment.
    #[error("cannot run function {image:?}: {reason}")]
    Unavailable {
        image: String,
        reason: String,
        /// What a container has written before it failed; may be empty.
        log: String,
    },
    /// Somebody has to change something before the function can run.
    #[error("cannot run function {image:?}: {reason}")]
    FailedPrecondition {
        image: String,
        reason: String,
        log: String,
    },
    /// The operator does not want it to run. The reason names the rule.
    #[error("not allowed to run function {image:?}: {reason}")]
    PermissionDenied { image: String, reason: String },
    /// Time was up before the function could begin.
    #[error("no time left for function {image:?}: it still waits for {waits_for}")]
    NoPodInTime { image: String, waits_for: String },
    /// What another server has answered, to be passed on as it is. Its message
    /// may repeat what the function wrote, so it is not shown here.
    #[error("the wrapper server of function {image:?} answered {:?}", status.code())]
    Remote {
        image: String,
        status: Box<tonic::Status>,
    },
    #[error(transparent)]
    Function(#[from] FunctionError),
    #[error("evaluating function {image:?} ended in an internal error; the server's log says more")]
    Panicked { image: String },
}

impl EvaluateError {
    /// Which release of a function that is part of the runner failed, if one did.
    pub fn answered_by(&self) -> Option<&str> {
        match self {
            Self::Function(error) => error.answered_by.as_deref(),
            _ => None,
        }
    }
}
