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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use k8s_openapi::api::core::v1::Pod;
    use kube::Api;
    use serde_json::json;

    use super::*;
    use crate::pod::fake;

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_and_the_rest_is_told() {
        let passing = [
            fake::refusal(500, "InternalError", "etcd is busy"),
            fake::refusal(429, "TooManyRequests", "later"),
            fake::refusal(409, "Conflict", "the quota has been modified"),
        ];
        for (last, code) in [
            ((200, json!({ "metadata": { "name": "a" } })), None),
            (fake::refusal(403, "Forbidden", "exceeded quota"), Some(403)),
            (fake::refusal(409, "AlreadyExists", "a exists"), Some(409)),
        ] {
            let mut answers: Vec<_> = passing.iter().cloned().chain([last]).collect();
            answers.reverse();
            let answers = Mutex::new(answers);
            let client = fake::client(move |_| answers.lock().unwrap().pop().expect("no more"));
            let pods: Api<Pod> = Api::namespaced(client, "test");
            let told = Mutex::new(Vec::new());
            let tell = |error: &ApiError| told.lock().unwrap().push(error.message.clone());
            let outcome = persist(|| pods.get("a"), tell).await;
            assert_eq!(outcome.err().and_then(|error| error.code), code);
            assert_eq!(told.lock().unwrap().len(), passing.len());
        }
    }
}
