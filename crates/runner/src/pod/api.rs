//! Requests to the API server: each bounded in time, and repeated where another
//! attempt may succeed.
//!
//! What comes in any number, because there may be any number of pods, goes through
//! the gate: at most [`AT_ONCE`] such requests of this runner are under way, served
//! in order. What keeps the runner itself alive, its lease and its template, does
//! not wait behind them. Pauses between attempts grow, differ by chance so that
//! runners do not come back in step, and are never shorter than the API server asks.

use std::{error::Error as _, future::Future, sync::Arc, time::Duration};

use kube::Error;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{sleep, timeout},
};

use super::headers::ServerHeaders;

/// A single request. The API server's own limit for such requests is a minute;
/// after this time another attempt is better.
const REQUEST: Duration = Duration::from_secs(10);

/// Enough to keep an API server busy, and few enough to leave it to others: a
/// thousand starts at once would otherwise be two thousand connections.
const AT_ONCE: usize = 16;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Why a request failed for good.
#[derive(Debug)]
pub struct ApiError {
    pub code: Option<u16>,
    /// In one word, empty without an answer.
    pub reason: String,
    /// In the API server's words.
    pub message: String,
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
    pub fn is_conflict(&self) -> bool {
        self.code == Some(409)
    }

    /// Whether there is an object of this name already.
    pub fn says_it_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether our roles do not allow it.
    pub fn is_denied(&self) -> bool {
        self.code == Some(403)
    }

    /// Whether there is no such object.
    pub fn says_it_is_gone(&self) -> bool {
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
                    retry_after: Duration::from_secs(seconds.into()),
                }
            }
            error => {
                let mut message = error.to_string();
                let mut source = error.source();
                while let Some(cause) = source {
                    let cause_text = cause.to_string();
                    if !message.ends_with(&cause_text) {
                        message.push_str(": ");
                        message.push_str(&cause_text);
                    }
                    source = cause.source();
                }
                Self::silence(message)
            }
        }
    }
}

/// One attempt, bounded, without waiting for a turn.
pub async fn once<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, ApiError> {
    match timeout(REQUEST, request).await {
        Ok(answer) => answer.map_err(ApiError::from),
        Err(_) => {
            let message = format!("no answer within {} s", REQUEST.as_secs());
            Err(ApiError::silence(message))
        }
    }
}

/// A pause that differs from others by chance: between half of it and all of it.
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f32(0.5 + 0.5 * fastrand::f32())
}

/// How far a request that is repeated has come.
#[derive(Debug)]
pub enum Step<'a> {
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
pub struct Gate {
    turns: Arc<Semaphore>,
    pub headers: ServerHeaders,
}

impl Gate {
    pub fn new(headers: ServerHeaders) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            headers,
        }
    }

    /// Nobody closes the gate, so there always is a turn to come.
    async fn turn(&self, mut tell: impl FnMut(Step<'_>)) -> Option<SemaphorePermit<'_>> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Some(turn);
        }
        tell(Step::Queued);
        self.turns.acquire().await.ok()
    }

    /// Something that is bounded by itself, once it is its turn.
    pub async fn through<T>(&self, requests: impl Future<Output = T>) -> T {
        let _turn = self.turn(|_| {}).await;
        requests.await
    }

    /// One attempt, bounded once it is its turn.
    pub async fn once<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ApiError> {
        self.through(once(request)).await
    }

    /// Attempts until one succeeds or fails for good. The caller bounds it.
    pub async fn persist<T, F>(&self, request: impl FnMut() -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.repeat(request, |_| {}, ApiError::is_transient).await
    }

    /// The same for the creation of an object; `tell` hears of every step.
    pub async fn create<T, F>(
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
            let answer = once(request()).await;
            // Others may ask while this one pauses.
            drop(turn);
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
