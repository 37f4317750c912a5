//! One evaluation in a pod: get one, call its wrapper, pass on what it answers.
//!
//! ```text
//! acquire ─► call ─► answered: that is it
//!    ▲         ├──► never sent (no connection, or refused unseen): sent again, however often
//!    │         └──► lost (the pod died under it): sent again, --max-grpc-retries times
//!    └── the pod is in doubt: the pool gives it to nobody before it answers ──┘
//! ```
//! All of that within the caller's deadline. Functions turn one list into another, so a
//! call that may have run can be sent again; where that does harm, it can be turned off.

mod past;
mod status;

use std::{pin::pin, sync::Arc, time::Duration};

use krm::Output;
use metrics::{
    calls::SENT,
    functions::Runtime,
    pods::{RETRIES, Retry},
};
use past::{Loss, Past};
use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use registry::Reference;
use service::{EvaluateError, Evaluation, Evaluator, Notes, Trace, trace::Part};
use status::judged;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use tonic::{Code, Request};

use super::{
    connect::Connection,
    witness::{Evidence, Witness},
};
use crate::{
    images,
    pod::{functions::Functions, owning::Roster},
    policy::{Guard, Refused},
    pool::{AcquireError, Failure, Loan, Outlook, Pool, Refusal},
};

/// How long the cluster may take to report what became of a pod, when that is all that the
/// caller still waits for. The kubelet looks at its containers every second.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How often in a row a pod may answer checks and then take no call, and the first pause
/// between attempts, which doubles.
const UNSENT: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// The evaluator over the pool.
#[derive(Debug)]
pub(crate) struct PodEvaluator<W = Evidence> {
    pub(crate) pool: Pool<Connection>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) witness: Arc<W>,
    /// Whether pods that were there already have been taken over. Until then
    /// nobody is given one: it would be a pod too many.
    pub(crate) has_adopted: watch::Receiver<bool>,
    pub(crate) max_message_size: usize,
    pub(crate) guard: Guard,
}

/// What came of one attempt to call a wrapper.
enum Called {
    Answered(Result<Output, EvaluateError>),
    /// There is no connection to this pod, for this reason.
    NeverSent(String),
    /// The connection broke, for this reason, and the call may have run.
    Lost(String),
}

#[tonic::async_trait]
impl<W: Witness> Evaluator for PodEvaluator<W> {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let image = &evaluation.image;
        let reference = images::parse(image)?;
        let asked = self.guard.lets_ask(&reference);
        asked.map_err(|refused| refused.of(image))?;
        let notes = &evaluation.notes;
        notes.note(|noted| noted.runtime = Some(Runtime::Pod));
        let mut past = Past::default();
        loop {
            let mut part = Part::waits(&evaluation.notes, &evaluation.trace);
            let loan = self.next(&evaluation, &mut past, &mut part).await?;
            if !self.is_admitted(&reference, &loan, &evaluation).await? {
                continue;
            }
            let name = Arc::clone(&loan.connection.name);
            evaluation.notes.note(|noted| {
                noted.pod = Some(Arc::clone(&name));
                let digest = loan.connection.origin.digest.as_ref();
                noted.digest = digest.map(|digest| digest.to_string().into());
            });
            past.goes_on_in(image, &name);
            let restarts = self.witness.restarts(&name);
            let called = self.call(&loan.connection, &evaluation, &mut part).await;
            drop(part);
            match called {
                Called::Answered(answer) => return answer,
                Called::NeverSent(cause) => {
                    sent_again(notes, Retry::Unsent);
                    let in_a_row = past.never_sent(loan.pod, &name, cause);
                    self.doubt(&loan, in_a_row);
                    drop(loan);
                    let pause = PAUSE * 2_u32.pow(in_a_row) - PAUSE * 2;
                    sleep_until((Instant::now() + pause).min(evaluation.deadline)).await;
                }
                Called::Lost(cause) => {
                    past.lost(
                        loan.pod,
                        Loss {
                            pod: name,
                            restarts,
                            cause,
                            death: None,
                        },
                    );
                    self.doubt(&loan, 0);
                    drop(loan);
                    let retries = self.functions.retries(image);
                    if past.losses.len() > retries {
                        self.learn_deaths(&mut past, evaluation.deadline).await;
                        return Err(past.given_up(image.clone(), retries));
                    }
                    sent_again(notes, Retry::Lost);
                }
            }
        }
    }
}

impl<W: Witness> PodEvaluator<W> {
    /// A pod for the next attempt, or why there is none. Meanwhile the cluster may report
    /// what became of the pod before.
    async fn next(
        &self,
        evaluation: &Evaluation,
        past: &mut Past,
        part: &mut Part<'_>,
    ) -> Result<Loan<Connection>, EvaluateError> {
        let avoid = past.avoid.clone();
        let mut acquire = pin!(self.acquire(evaluation, &avoid, part));
        let acquired = match past.losses.last_mut().filter(|last| last.death.is_none()) {
            None => acquire.await,
            // Cancel-safe: `acquire` goes on where it was.
            Some(last) => tokio::select! {
                acquired = &mut acquire => acquired,
                death = self.witness.death(&last.pod, last.restarts) => {
                    last.death = Some(death);
                    acquire.await
                }
            },
        };
        acquired.map_err(|error| past.told_with(error))
    }

    async fn acquire(
        &self,
        evaluation: &Evaluation,
        avoid: &[crate::pool::PodId],
        part: &mut Part<'_>,
    ) -> Result<Loan<Connection>, EvaluateError> {
        let Evaluation {
            image, deadline, ..
        } = evaluation;
        let late = |waits_for: String| EvaluateError::NoPodInTime {
            image: image.clone(),
            waits_for,
        };
        if !*self.has_adopted.borrow() {
            let mut has_adopted = self.has_adopted.clone();
            let adoption = has_adopted.wait_for(|has_adopted| *has_adopted);
            if timeout_at(*deadline, adoption).await.is_err() {
                return Err(late("the cluster's list of pods".into()));
            }
        }
        let mut has_looked = false;
        let asked = Instant::now();
        loop {
            let settings = self.functions.settings(image);
            let loan = self
                .pool
                .acquire_again(image, settings, avoid, part.within());
            // Cancel-safe: a place that is given up is free.
            match timeout_at(*deadline, loan).await {
                Ok(Ok(loan)) => {
                    let start = loan.connection.origin.start.as_ref();
                    if let Some(start) = start.filter(|start| start.ended >= asked) {
                        part.span().link_elsewhere(&start.span);
                    }
                    return Ok(loan);
                }
                Ok(Err(error)) => {
                    if let Some(start) = error.failed_start() {
                        part.span().link_elsewhere(start);
                    }
                    let is_new = !has_looked && self.has_moved_since(image, &error).await;
                    if !is_new {
                        return Err(refused(image.clone(), error));
                    }
                    has_looked = true;
                    self.pool.changed(Some(image));
                }
                Err(_) => {
                    let waits_for = self.roster.starting(image);
                    return Err(late(waits_for.unwrap_or_else(|| "its pod".into())));
                }
            }
        }
    }

    /// Whether the image policy, which may be another one than when the pod was started,
    /// lets it go on. A pod that it does not admit is given up, and the next one has to
    /// pass, too.
    async fn is_admitted(
        &self,
        image: &Reference,
        loan: &Loan<Connection>,
        evaluation: &Evaluation,
    ) -> Result<bool, EvaluateError> {
        let digest = loan.connection.origin.digest.as_ref();
        match self
            .guard
            .admit_pod(image, digest, evaluation.deadline)
            .await
        {
            Ok(()) => Ok(true),
            Err(Refused::Denied(reason)) => {
                let name = &loan.connection.name;
                tracing::info!(%name, "a pod is no longer allowed: {reason}");
                self.pool.failed(loan.pod, Failure::denied(reason));
                Ok(false)
            }
            Err(refused) => Err(refused.of(&evaluation.image)),
        }
    }

    /// Whether a start that is remembered to have failed was of another image than the
    /// tag stands for now.
    async fn has_moved_since(&self, image: &str, error: &AcquireError) -> bool {
        let AcquireError::Refused(Refusal::Remembered { failure, .. }) = error else {
            return false;
        };
        let digest = self.witness.digest(image).await;
        digest.is_some() && digest.as_deref() != failure.digest.as_deref()
    }

    /// Reports a pod that a call did not come back from.
    fn doubt(&self, loan: &Loan<Connection>, unsent_in_a_row: u32) {
        if unsent_in_a_row < UNSENT {
            self.pool.doubted(loan.pod);
        } else {
            let name = &loan.connection.name;
            tracing::warn!(%name, "the pod answers, but takes no calls; it is given up");
            let failure = Failure::passing("the pod answers, but takes no calls");
            self.pool.failed(loan.pod, failure);
        }
    }

    /// Waits a moment for the cluster to report what became of the pods.
    async fn learn_deaths(&self, past: &mut Past, deadline: Instant) {
        let until = (Instant::now() + LAST_WORDS).min(deadline);
        for loss in past.losses.iter_mut().filter(|loss| loss.death.is_none()) {
            let death = self.witness.death(&loss.pod, loss.restarts);
            loss.death = timeout_at(until, death).await.ok();
        }
    }

    async fn call(
        &self,
        connection: &Connection,
        evaluation: &Evaluation,
        part: &mut Part<'_>,
    ) -> Called {
        let Evaluation {
            image,
            resource_list,
            deadline,
            ..
        } = evaluation;
        let mut request = Request::new(EvaluateFunctionRequest {
            resource_list: resource_list.clone(),
            image: image.clone(),
            tag: String::new(),
        });
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        part.runs(Trace::call);
        if part.span().is_recorded() {
            let name = connection.name.to_string();
            part.span().set("k8s.pod.name", name);
        }
        part.within().inject(request.metadata_mut());
        let mut client = FunctionEvaluatorClient::new(connection.channel.clone())
            .max_encoding_message_size(self.max_message_size)
            .max_decoding_message_size(self.max_message_size);
        let _in_use = connection.usage.begin();
        let begin = Instant::now();
        // Cancel-safe: a call that is dropped is cancelled at the wrapper.
        let answer = timeout_at(*deadline, client.evaluate_function(request)).await;
        let code = match &answer {
            Ok(Ok(_)) => Code::Ok,
            Ok(Err(status)) => status.code(),
            Err(_) => Code::DeadlineExceeded,
        };
        SENT.ended(metrics::Code::from_number(code.into()), begin.elapsed());
        let response = match answer {
            Ok(Ok(response)) => response.into_inner(),
            Ok(Err(status)) => {
                part.span().answered(status.code());
                return judged(image, status, *deadline);
            }
            Err(_) => {
                part.span().answered(Code::DeadlineExceeded);
                return Called::Answered(Err(time_is_up(image)));
            }
        };
        part.span().answered(Code::Ok);
        if connection.usage.is_first_answer() {
            let (name, took) = (&connection.name, begin.elapsed().as_millis());
            tracing::info!(%name, "a pod's first answer took {took} ms");
        }
        Called::Answered(Ok(Output {
            resource_list: response.resource_list,
            log: response.log,
            errors: Vec::new(),
            answered_by: None,
        }))
    }
}

/// A call goes to a pod once more.
fn sent_again(notes: &Notes, why: Retry) {
    notes.note(|noted| noted.retries += 1);
    RETRIES.of(why).increment();
}

fn time_is_up(image: &str) -> EvaluateError {
    EvaluateError::NoPodInTime {
        image: image.to_owned(),
        waits_for: "the function's answer".into(),
    }
}

fn refused(image: String, error: AcquireError) -> EvaluateError {
    let refusal = match error {
        AcquireError::Refused(refusal) => refusal,
        AcquireError::Closed => {
            return EvaluateError::Unavailable {
                image,
                reason: "the runner is shutting down".into(),
                log: String::new(),
            };
        }
    };
    let (failure, reason) = match refusal {
        Refusal::QueueFull { queued } => return EvaluateError::QueueFull { image, queued },
        Refusal::TooManyPods { pods } => return EvaluateError::TooManyPods { image, pods },
        Refusal::PodFailed(failure) => (failure.clone(), failure.reason.to_string()),
        Refusal::Remembered { failure, ago, left } => {
            let (ago, left) = (ago.as_secs(), left.as_secs().max(1));
            let reason = format!(
                "{} (remembered from an attempt {ago} s ago; the next one is made in {left} s)",
                failure.reason
            );
            (failure, reason)
        }
    };
    let log = failure.log.to_string();
    match failure.outlook {
        Outlook::Denied => EvaluateError::PermissionDenied { image, reason },
        Outlook::Lasting => EvaluateError::FailedPrecondition { image, reason, log },
        Outlook::Passing | Outlook::Taken => EvaluateError::Unavailable { image, reason, log },
    }
}

#[cfg(test)]
mod tests;
