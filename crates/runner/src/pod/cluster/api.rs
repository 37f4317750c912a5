//! Requests to the API server: each bounded in time, and repeated where another
//! attempt may succeed.
//!
//! Requests about pods, of which there may be any number, go through the gate: only some
//! of this runner's are under way at once ([`turns`]), served in order, and those that are
//! repeated wait for their answers as long as answers take ([`patience`]). Requests for the
//! runner itself, about its lease and its template, do not wait behind them. Pauses
//! between attempts grow, are random so that runners do not come back in step, and are
//! never shorter than the API server asks.

mod patience;
mod turns;

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use causes::in_full;
use kube::Error;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use turns::{End, Turn, Turns};

use super::headers::{ServerHeaders, as_asked};

/// A single attempt that is not repeated here ([`patience`] is for those that are): somebody else tries again.
const REQUEST: Duration = Duration::from_secs(10);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Why a request failed for good.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    pub(crate) code: Option<u16>,
    /// In one word, empty without an answer.
    pub(crate) reason: String,
    /// In the API server's words.
    pub(crate) message: String,
    /// When the API server wants to be asked again, if it says so.
    retry_after: Duration,
}

impl ApiError {
    /// Without an answer.
    fn silence(message: String) -> Self {
        Self {
            code: None,
            reason: String::new(),
            message,
            retry_after: Duration::ZERO,
        }
    }

    /// Whether the same request may succeed in a moment. Without a code there was no
    /// answer.
    fn is_transient(&self) -> bool {
        self.code.is_none_or(|code| code == 429 || code >= 500)
    }

    /// The same for the creation of an object. A conflict other than over its name
    /// is one over a quota's count, which others change at the same time.
    fn is_transient_at_creation(&self) -> bool {
        self.is_transient() || self.is_conflict() && !self.says_it_exists()
    }

    /// Whether the object is not what it was when it was seen.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// Whether there is an object of this name already.
    pub(crate) fn says_it_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether it is forbidden: by our roles, or, for a creation, by a quota or an admission rule.
    pub(crate) fn is_denied(&self) -> bool {
        self.code == Some(403)
    }

    /// Whether there is no such object.
    pub(crate) fn says_it_is_gone(&self) -> bool {
        self.code == Some(404)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) => {
                let details = status.details.as_ref();
                let seconds = details.map_or(0, |details| details.retry_after_seconds);
                Self {
                    code: Some(status.code),
                    reason: status.reason.clone(),
                    message: status.message.clone(),
                    retry_after: as_asked(seconds.into()),
                }
            }
            error => Self::silence(in_full(&error)),
        }
    }
}

/// One attempt, bounded, without waiting for a turn.
pub(crate) async fn once<T>(
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, ApiError> {
    once_within(REQUEST, request).await
}

async fn once_within<T>(
    patience: Duration,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, ApiError> {
    match timeout(patience, request).await {
        Ok(answer) => answer.map_err(ApiError::from),
        Err(_) => Err(ApiError::silence(no_answer(patience))),
    }
}

fn no_answer(patience: Duration) -> String {
    format!("no answer within {} s", patience.as_secs())
}

/// What an answer says about how the API server keeps up.
fn end<T>(answer: &Result<T, ApiError>) -> End {
    match answer {
        Err(error) if error.is_transient() => End::Failed,
        _ => End::Answered,
    }
}

/// A pause that differs from others by chance: between half of it and all of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    pause.mul_f32(0.5 + 0.5 * fastrand::f32())
}

/// How far a request that is repeated has come.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// Others are before it at the gate.
    Queued,
    /// It is on its way.
    Asked,
    /// It failed, and is going to be repeated.
    Failed(&'a ApiError),
}

/// The way to the API server for everything that comes in any number. Cheap to
/// clone; all copies are one gate.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    turns: Arc<Turns>,
    pub(crate) headers: ServerHeaders,
}

impl Gate {
    pub(crate) fn new(headers: ServerHeaders) -> Self {
        Self {
            turns: Arc::new(Turns::new()),
            headers,
        }
    }

    async fn turn(&self, mut tell: impl FnMut(Step<'_>)) -> Turn<'_> {
        if let Some(turn) = self.turns.free() {
            return turn;
        }
        tell(Step::Queued);
        self.turns.next().await
    }

    /// One attempt, bounded once it is its turn.
    pub(crate) async fn once<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ApiError> {
        let turn = self.turn(|_| {}).await;
        let answer = once(request).await;
        turn.ended(end(&answer));
        answer
    }

    /// The same for a request that is answered by something behind the API server, such as a kubelet
    /// or a webhook: its failure does not say that the API server has too much to do.
    pub(crate) async fn once_uncounted<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ApiError> {
        let _turn = self.turn(|_| {}).await;
        once(request).await
    }

    /// Attempts until one succeeds or fails for good. The caller bounds it.
    pub(crate) async fn persist<T, F>(&self, request: impl FnMut() -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.repeat(request, |_| {}, ApiError::is_transient).await
    }

    /// The same for at most this time, which begins with the first attempt: however many are before it at
    /// the gate.
    pub(crate) async fn persist_for<T, F>(
        &self,
        time: Duration,
        request: impl FnMut() -> F,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (asked, refusal) = (Notify::new(), Mutex::new(None));
        let tell = |step: Step<'_>| match step {
            Step::Asked => asked.notify_one(),
            Step::Failed(error) if error.code.is_some() => {
                *refusal.lock() = Some(error.message.clone());
            }
            Step::Failed(_) | Step::Queued => {}
        };
        let mut attempts = pin!(self.repeat(request, tell, ApiError::is_transient));
        // Cancel-safe: the attempts go on below.
        tokio::select! {
            biased;
            answer = &mut attempts => return answer,
            () = asked.notified() => {}
        }
        if let Ok(answer) = timeout(time, attempts).await {
            return answer;
        }
        let refused = |refusal| {
            format!(
                "not within {} s; the last answer: {refusal}",
                time.as_secs()
            )
        };
        let refusal: Option<String> = refusal.lock().take();
        let message = refusal.map_or_else(|| no_answer(time), refused);
        Err(ApiError::silence(message))
    }

    /// The same as often as it takes for the creation of an object; `tell` hears of every step.
    pub(crate) async fn create<T, F>(
        &self,
        request: impl FnMut() -> F,
        tell: impl FnMut(Step<'_>),
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let may_pass = ApiError::is_transient_at_creation;
        self.repeat(request, tell, may_pass).await
    }

    async fn repeat<T, F>(
        &self,
        mut request: impl FnMut() -> F,
        mut tell: impl FnMut(Step<'_>),
        may_pass: impl Fn(&ApiError) -> bool,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut pause = FIRST_PAUSE;
        loop {
            let turn = self.turn(&mut tell).await;
            tell(Step::Asked);
            let answer = once_within(turn.patience(), request()).await;
            // Others may ask while this one pauses.
            turn.ended(end(&answer));
            let wish = match answer {
                Err(error) if may_pass(&error) => {
                    tell(Step::Failed(&error));
                    error.retry_after.max(self.headers.quiet())
                }
                answer => return answer,
            };
            sleep(jittered(pause).max(wish)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests;
