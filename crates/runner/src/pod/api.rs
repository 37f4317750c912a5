//! Requests to the API server: each bounded in time, and repeated where another
//! attempt may succeed.

use std::{error::Error as _, future::Future, time::Duration};

use kube::Error;
use tokio::time::{sleep, timeout};

/// A single request. The API server's own limit for such requests is a minute;
/// one that needs this long is in trouble, and another attempt is better.
const REQUEST: Duration = Duration::from_secs(10);

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
}

impl ApiError {
    /// Whether the same request may succeed in a moment.
    fn is_transient(&self) -> bool {
        // Without a code there was no answer. A conflict other than over the name
        // is one over a quota's count, which others change at the same time.
        self.code
            .is_none_or(|code| code == 429 || code >= 500 || code == 409 && !self.says_it_exists())
    }

    /// Whether there is an object of this name already.
    pub fn says_it_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether our roles do not allow it.
    pub fn is_denied(&self) -> bool {
        self.code == Some(403)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) => Self {
                code: Some(status.code),
                reason: status.reason.clone(),
                message: status.message.clone(),
            },
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
                Self {
                    code: None,
                    reason: String::new(),
                    message,
                }
            }
        }
    }
}

/// One attempt, bounded.
pub async fn once<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, ApiError> {
    match timeout(REQUEST, request).await {
        Ok(answer) => answer.map_err(ApiError::from),
        Err(_) => Err(ApiError {
            code: None,
            reason: String::new(),
            message: format!("no answer within {} s", REQUEST.as_secs()),
        }),
    }
}

/// Attempts until one succeeds or fails for good; `tell` hears of every failure.
/// The caller bounds it.
pub async fn persist<T, F>(
    mut request: impl FnMut() -> F,
    tell: impl Fn(&ApiError),
) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match once(request()).await {
            Err(error) if error.is_transient() => tell(&error),
            answer => return answer,
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
