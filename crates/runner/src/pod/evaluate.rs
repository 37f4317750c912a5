//! One evaluation in a pod: get one, call its wrapper, pass on what it answers.
//!
//! An evaluation is sent again only if it certainly never reached the function:
//! if there was no connection to send it over, or the wrapper's server refused it
//! unseen. What the connection lost later may have run, and its caller has to
//! decide.

use std::{error::Error, iter, sync::Arc, time::Duration};

use krm::Output;
use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use service::{EvaluateError, Evaluation, Evaluator};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use tonic::{Code, ConnectError, Request, Status};

use super::{connect::Connection, functions::Functions, roster::Roster, watch::Watch};
use crate::pool::{AcquireError, Failure, Lease, Pool, Refusal};

/// How long a pod that is fine as far as the cluster knows may be unreachable
/// before it is given up, and the pause between attempts.
const UNREACHABLE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// The evaluator over the pool.
#[derive(Debug)]
pub struct PodEvaluator {
    pub pool: Pool<Connection>,
    pub functions: Arc<Functions>,
    pub roster: Arc<Roster>,
    pub watch: Watch<k8s_openapi::api::core::v1::Pod>,
    /// Whether pods that were there already have been taken over. Until then
    /// nobody is given one: it would be a pod too many.
    pub has_adopted: watch::Receiver<bool>,
    pub max_message_size: usize,
}

/// What came of one attempt to call a wrapper.
enum Called {
    Answered(Result<Output, EvaluateError>),
    /// There is no connection to this pod.
    NeverSent(Status),
}

#[tonic::async_trait]
impl Evaluator for PodEvaluator {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        loop {
            let lease = self.acquire(&evaluation).await?;
            if let Some(answer) = self.use_pod(&lease, &evaluation).await {
                return answer;
            }
        }
    }
}

impl PodEvaluator {
    async fn acquire(&self, evaluation: &Evaluation) -> Result<Lease<Connection>, EvaluateError> {
        let image = evaluation.image.clone();
        if !*self.has_adopted.borrow() {
            let mut has_adopted = self.has_adopted.clone();
            let adoption = has_adopted.wait_for(|has_adopted| *has_adopted);
            if timeout_at(evaluation.deadline, adoption).await.is_err() {
                let waits_for = "the cluster to tell which pods there are".into();
                return Err(EvaluateError::NoPodInTime { image, waits_for });
            }
        }
        let settings = self.functions.settings(&image);
        // Cancel-safe: a place that is given up is free.
        let acquired = timeout_at(evaluation.deadline, self.pool.acquire(&image, settings)).await;
        match acquired {
            Ok(Ok(lease)) => Ok(lease),
            Ok(Err(error)) => Err(refused(image, error)),
            Err(_) => {
                let waits_for = self.roster.starting(&image);
                let waits_for = waits_for.unwrap_or_else(|| "its pod".into());
                Err(EvaluateError::NoPodInTime { image, waits_for })
            }
        }
    }

    /// Evaluates in this pod; `None` if it never got there and another pod should
    /// be asked.
    async fn use_pod(
        &self,
        lease: &Lease<Connection>,
        evaluation: &Evaluation,
    ) -> Option<Result<Output, EvaluateError>> {
        let give_up_at = Instant::now() + UNREACHABLE;
        loop {
            let status = match self.call(&lease.connection, evaluation).await {
                Called::Answered(answer) => return Some(answer),
                Called::NeverSent(status) => status,
            };
            let name = &lease.connection.name;
            let now = Instant::now();
            if now >= evaluation.deadline {
                let waits_for = format!("a connection to its pod {name}: {}", cause(&status));
                let image = evaluation.image.clone();
                return Some(Err(EvaluateError::NoPodInTime { image, waits_for }));
            }
            let lost = self.watch.loss(name);
            if lost.is_some() || now >= give_up_at {
                let reason = lost.unwrap_or_else(|| "the pod cannot be reached".into());
                tracing::warn!(
                    %name,
                    "{reason}: {}; another pod takes its call",
                    cause(&status)
                );
                self.pool.failed(lease.pod, Failure::passing(reason));
                return None;
            }
            // The channel connects anew with each attempt.
            sleep_until((now + PAUSE).min(evaluation.deadline)).await;
        }
    }

    async fn call(&self, connection: &Connection, evaluation: &Evaluation) -> Called {
        let Evaluation {
            image,
            resource_list,
            deadline,
        } = evaluation;
        let mut request = Request::new(EvaluateFunctionRequest {
            resource_list: resource_list.clone(),
            image: image.clone(),
        });
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        let mut client = FunctionEvaluatorClient::new(connection.channel.clone())
            .max_encoding_message_size(self.max_message_size)
            .max_decoding_message_size(self.max_message_size);
        let _in_use = connection.usage.begin();
        let begin = Instant::now();
        // Cancel-safe: a call that is dropped is cancelled at the wrapper.
        let answer = timeout_at(*deadline, client.evaluate_function(request)).await;
        let image = image.clone();
        Called::Answered(match answer {
            Ok(Ok(response)) => {
                if connection.usage.is_first_answer() {
                    let (name, took) = (&connection.name, begin.elapsed().as_millis());
                    tracing::info!(%name, "a pod's first answer took {took} ms");
                }
                let response = response.into_inner();
                Ok(Output {
                    resource_list: response.resource_list,
                    log: response.log,
                    errors: Vec::new(),
                    answered_by: None,
                })
            }
            Ok(Err(status)) if was_never_sent(&status) => return Called::NeverSent(status),
            Ok(Err(status)) => Err(answered(image, &connection.name, status)),
            Err(_) => Err(time_is_up(image)),
        })
    }
}

/// Whether the wrapper certainly never saw the call: there was no connection, it
/// closed while the call still waited for its turn, or the server refused it as
/// one that it has not begun with.
fn was_never_sent(status: &Status) -> bool {
    causes(status).any(|error| {
        let cancelled = error.downcast_ref::<hyper::Error>();
        let refused = error.downcast_ref::<h2::Error>();
        error.is::<ConnectError>()
            || cancelled.is_some_and(hyper::Error::is_canceled)
            || refused.is_some_and(is_refusal)
    })
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(status.source(), |error| (*error).source())
}

/// What happened to the connection: the first cause. All that is built upon it says
/// no more than "transport error".
fn cause(status: &Status) -> String {
    let first = causes(status).last();
    first.map_or_else(|| status.message().to_owned(), ToString::to_string)
}

/// A server that is about to end says with GOAWAY which calls it has taken on, and
/// only the others end with that; REFUSED_STREAM says so of a single one.
fn is_refusal(error: &h2::Error) -> bool {
    error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// A status without a cause came over the wire; the others are our own client's.
fn answered(image: String, pod: &str, status: Status) -> EvaluateError {
    if status.source().is_none() {
        return EvaluateError::Remote {
            image,
            status: Box::new(status),
        };
    }
    if matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) {
        return time_is_up(image);
    }
    EvaluateError::Unavailable {
        image,
        reason: format!(
            "the connection to its pod {pod} broke off while it ran ({}); it may have run to its \
             end, so it was not sent again; try again if that does no harm",
            cause(&status)
        ),
        log: String::new(),
    }
}

fn time_is_up(image: String) -> EvaluateError {
    EvaluateError::NoPodInTime {
        image,
        waits_for: "the function's answer".into(),
    }
}

fn refused(image: String, error: AcquireError) -> EvaluateError {
    match error {
        AcquireError::Refused(Refusal::QueueFull { queued }) => {
            EvaluateError::QueueFull { image, queued }
        }
        AcquireError::Refused(Refusal::PodFailed(failure)) => {
            let (reason, log) = (failure.reason.to_string(), failure.log.to_string());
            if failure.is_lasting {
                EvaluateError::FailedPrecondition { image, reason, log }
            } else {
                EvaluateError::Unavailable { image, reason, log }
            }
        }
        AcquireError::Closed => EvaluateError::Unavailable {
            image,
            reason: "the runner is shutting down".into(),
            log: String::new(),
        },
    }
}

#[cfg(test)]
mod tests;
