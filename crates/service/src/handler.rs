//! One request: from the wire to an evaluator and back.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use krm::Output;
use metrics::{
    calls::{Direction, LISTS, SERVED},
    functions::Runtime,
};
use proto::{
    EvaluateFunctionRequest, EvaluateFunctionResponse, function_evaluator_server::FunctionEvaluator,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Response, Status};

use crate::{
    deadline::deadline,
    evaluator::{EvaluateError, Evaluation, Evaluator},
    memory::Memory,
    notes::{Noted, Notes},
    served::Served,
    trace::Tracing,
};

/// The gRPC service over an evaluator.
#[derive(Debug)]
pub struct Handler<E> {
    evaluator: E,
    /// How long a call may take whose caller does not say.
    default_timeout: Duration,
    /// The calls in flight, which a drain waits for.
    in_flight: TaskTracker,
    memory: Memory,
    tracing: Arc<Tracing>,
}

impl<E: Evaluator> Handler<E> {
    pub fn new(evaluator: E, default_timeout: Duration) -> Self {
        Self {
            evaluator,
            default_timeout,
            in_flight: TaskTracker::new(),
            memory: Memory::new(),
            tracing: Arc::default(),
        }
    }

    /// Takes part in traces.
    #[must_use]
    pub fn with_tracing(mut self, tracing: Arc<Tracing>) -> Self {
        self.tracing = tracing;
        self
    }

    /// The calls in flight.
    pub(crate) fn in_flight(&self) -> TaskTracker {
        self.in_flight.clone()
    }

    /// The task that gives memory of large calls back. It never ends.
    pub(crate) fn gives_memory_back(&self) -> impl Future<Output = ()> + use<E> {
        self.memory.gives_back()
    }

    /// Runs the evaluation. A panic costs only this call. It ends when the caller goes
    /// away: this is part of the call's own task, which is dropped then.
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let _counted = self.in_flight.token();
        let mut image = evaluation.image.clone();
        let mut evaluating = pin!(self.evaluator.evaluate(evaluation));
        poll_fn(|context| {
            let poll = AssertUnwindSafe(|| evaluating.as_mut().poll(context));
            // A future that has panicked is not polled again.
            catch_unwind(poll).unwrap_or_else(|_| {
                let image = std::mem::take(&mut image);
                Poll::Ready(Err(EvaluateError::Panicked { image }))
            })
        })
        .await
    }
}

#[tonic::async_trait]
impl<E: Evaluator> FunctionEvaluator for Handler<E> {
    async fn evaluate_function(
        &self,
        request: Request<EvaluateFunctionRequest>,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let begin = Instant::now();
        let mut counted = Counted {
            begin,
            code: Code::Cancelled,
        };
        let deadline = deadline(request.metadata(), self.default_timeout);
        let (trace, mut served) = Served::begin(&self.tracing, request.metadata());
        let EvaluateFunctionRequest {
            resource_list,
            image,
            tag,
        } = request.into_inner();
        let trace_id = served.trace_id();
        let too_long = if image.len() > LONGEST_IMAGE {
            Some(EvaluateError::too_long(&image))
        } else if tag.len() > LONGEST_TAG {
            Some(EvaluateError::tag_too_long(&image, &tag))
        } else {
            None
        };
        if let Some(error) = too_long {
            tracing::info!(trace_id, "refused: {error}");
            counted.code = Code::InvalidArgument;
            return Err(served.failed(error));
        }
        let bytes_in = resource_list.len();
        LISTS.of(Direction::In).observe(bytes_in as u64);
        let mut moving = self.memory.moving(bytes_in);
        let evaluation = Evaluation {
            image: image.clone(),
            tag: tag.clone(),
            resource_list,
            deadline,
            notes: Notes::of(&trace),
            trace,
        };
        let notes = evaluation.notes.clone();
        served.is_about(&image);
        // Most calls have none.
        let tag = Some(tag).filter(|tag| !tag.is_empty());
        let answer = self.evaluate(evaluation).await;
        let took = begin.elapsed();
        let bytes_out = answer
            .as_ref()
            .map_or(0, |output| output.resource_list.len());
        moving.add(bytes_out);
        let noted = notes.noted();
        served.noted(&noted);
        let Noted { runtime, pod, .. } = &noted;
        let (queue_wait, run_time) = (noted.queue_wait, noted.run_time);
        let (runtime, pod) = (runtime.map(Runtime::name), pod.as_deref());
        if answer.is_ok() {
            LISTS.of(Direction::Out).observe(bytes_out as u64);
        }
        counted.code = answer.as_ref().err().map_or(Code::Ok, EvaluateError::code);

        // What is logged: names, sizes and times; never a list, nor what a function
        // wrote, which may repeat parts of it. The errors that it reports although
        // it succeeded are the exception: nobody else would hear of them.
        macro_rules! tell {
            ($level:ident, $($more:tt)*) => {
                tracing::$level!(
                    image, tag, runtime, pod, ?took, ?queue_wait, ?run_time, bytes_in, trace_id,
                    $($more)*
                )
            };
        }
        match answer {
            Ok(Output {
                resource_list,
                log,
                errors,
                answered_by,
            }) => {
                let errors_reported = errors.len();
                tell!(info, bytes_out, errors_reported, answered_by, "evaluated");
                served.succeeded(answered_by);
                for error in errors.iter().take(MOST_ERRORS_LOGGED) {
                    let error = one_line(&error.to_string());
                    tracing::warn!(
                        image,
                        trace_id,
                        "the function succeeded but reported {error}"
                    );
                }
                Ok(Response::new(EvaluateFunctionResponse {
                    resource_list,
                    log,
                }))
            }
            Err(error) => {
                let code = error.code();
                let answered_by = error.answered_by();
                if matches!(code, Code::NotFound | Code::InvalidArgument) {
                    tell!(info, ?code, answered_by, "refused: {error}");
                } else {
                    tell!(warn, ?code, answered_by, "failed: {error}");
                }
                Err(served.failed(error))
            }
        }
    }
}

/// Counts a call when it is dropped. Until it has a code, its caller has gone away.
struct Counted {
    begin: Instant,
    code: Code,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let code = metrics::Code::from_number(self.code.into());
        SERVED.ended(code, self.begin.elapsed());
    }
}

/// What a function wrote, so that it is one line of a log, and not a long one.
fn one_line(text: &str) -> String {
    let whole = text.chars().count() <= LONGEST_LOGGED;
    let shown = text.chars().take(LONGEST_LOGGED);
    let shown = shown.flat_map(char::escape_debug).collect::<String>();
    if whole { shown } else { format!("{shown}…") }
}

/// The longest name that a registry could know is below 800 bytes: a host and its
/// port (260), a repository (255), a tag (128) and a digest (136). Nothing touches,
/// repeats or logs a longer one.
const LONGEST_IMAGE: usize = 1024;

/// A constraint is a few versions. Nothing touches, repeats or logs a longer one.
const LONGEST_TAG: usize = 512;

/// How many of a successful function's error results are logged per call, and how
/// much of each, in characters.
const MOST_ERRORS_LOGGED: usize = 10;
const LONGEST_LOGGED: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_reports_cannot_forge_a_line_of_the_log() {
        let forged = "failed\n2026-01-01T00:00:00Z INFO evaluated\u{1b}[2K\u{202e}";
        let shown = one_line(forged);
        assert!(shown.starts_with("failed\\n2026"), "{shown}");
        let is_harmless = |c: char| c.is_ascii_graphic() || c == ' ';
        assert!(shown.chars().all(is_harmless), "{shown}");
        let long = one_line(&"\n".repeat(1_000_000));
        assert!(long.len() < 1000 && long.ends_with('…'), "{}", long.len());
    }
}
