//! Questions to the registry of one image: repetition, authentication, and what
//! an answer's status means.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, StatusCode, header};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    AuthenticateError, Client, FetchError, Report, authenticate,
    hosts::LONGEST_REST,
    retry,
    wire::{Answer, Outgoing},
};
use crate::{
    auth::Found,
    challenge,
    reference::Reference,
    secret::Secret,
    transport::Connection,
    url::{Endpoint, Url},
};

/// How much of a registry's own words is passed on.
const LONGEST_QUOTE: usize = 200;

pub(super) struct Session<'a> {
    pub(super) client: &'a Client,
    pub(super) reference: &'a Reference,
    pub(super) deadline: Instant,
    pub(super) report: Report,
    pub(super) connections: Vec<(Endpoint, Connection)>,
    /// Decided by the first connection.
    pub(super) registry: Option<Endpoint>,
    pub(super) found: Option<Found>,
    /// Plain HTTP is spoken only because TLS connections were cut.
    pub(super) keeps_credentials: bool,
    /// The header that the registry has asked for.
    authorization: Option<Secret>,
}

impl<'a> Session<'a> {
    pub(super) fn new(client: &'a Client, reference: &'a Reference, deadline: Instant) -> Self {
        Self {
            client,
            reference,
            deadline,
            report: Report::default(),
            connections: Vec::new(),
            registry: None,
            found: None,
            keeps_credentials: false,
            authorization: None,
        }
    }

    /// Asks the registry until it answers or no retry is left.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        accept: &'static str,
    ) -> Result<Answer, FetchError> {
        let mut failed = 0;
        loop {
            let error = match self.ask_once(method.clone(), path, accept).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            failed += 1;
            match retry::pause(failed, &error) {
                Some(pause) if Instant::now() + pause < self.deadline => {
                    tracing::debug!(image = %self.reference, %error, "asking again");
                    sleep(pause).await;
                }
                _ => return Err(error),
            }
        }
    }

    async fn ask_once(
        &mut self,
        method: Method,
        path: &str,
        accept: &'static str,
    ) -> Result<Answer, FetchError> {
        let endpoint = self.registry().await?;
        let url = Url::new(endpoint, path.to_owned());
        let mut outgoing = Outgoing {
            method,
            accept,
            authorization: self.authorization.clone(),
            body: None,
        };
        let mut answer = self.follow(&url, &outgoing).await?;
        // Only the registry itself may ask for its credentials, or refuse them.
        let told = |answer: &Answer, status| {
            answer.status == status && answer.url.endpoint == url.endpoint
        };
        if told(&answer, StatusCode::UNAUTHORIZED) {
            let challenge = self.challenge(&answer)?;
            let authorization = authenticate::answer(self, &challenge, &answer).await?;
            outgoing.authorization = Some(authorization.clone());
            self.authorization = Some(authorization);
            answer = self.follow(&url, &outgoing).await?;
            if told(&answer, StatusCode::UNAUTHORIZED) {
                let challenge = self.challenge(&answer)?;
                return Err(authenticate::rejected(self, &challenge, &answer));
            }
        }
        if told(&answer, StatusCode::NOT_FOUND) {
            return Err(FetchError::Missing {
                image: self.reference.to_string(),
                registry: self.reference.domain().to_owned(),
                what: match told_code(&answer.body).as_deref() {
                    Some("NAME_UNKNOWN") => "has no such repository",
                    _ => "has no such tag or digest in that repository",
                },
            });
        }
        if told(&answer, StatusCode::FORBIDDEN) {
            return Err(self.denied(&answer));
        }
        self.succeeded(answer)
    }

    fn challenge(&self, answer: &Answer) -> Result<challenge::Challenge, FetchError> {
        let headers = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
        let headers = headers.filter_map(|value| value.to_str().ok());
        challenge::choose(headers)
            .ok_or_else(|| self.cannot_authenticate(AuthenticateError::Challenge))
    }

    pub(super) fn cannot_authenticate(&self, source: AuthenticateError) -> FetchError {
        FetchError::Authenticate {
            registry: self.reference.domain().to_owned(),
            source,
        }
    }

    pub(super) fn denied(&self, answer: &Answer) -> FetchError {
        let who = match &self.found {
            Some(found) if found.credentials.is_some() => match &found.origin.username {
                Some(username) => format!("user {username:?}"),
                None => "the token's owner".to_owned(),
            },
            _ => "anonymous users".to_owned(),
        };
        FetchError::Denied {
            registry: self.reference.domain().to_owned(),
            repository: self.reference.path().to_owned(),
            who,
            told: self.told(answer),
        }
    }

    /// The answer, if it is one. What a host that is overloaded wishes is remembered.
    pub(super) fn succeeded(&self, answer: Answer) -> Result<Answer, FetchError> {
        let status = answer.status;
        if status.is_success() {
            return Ok(answer);
        }
        let (url, told) = (answer.url.to_string(), self.told(&answer));
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let retry_after = wished_pause(&answer.headers, SystemTime::now());
            if let Some(time) = retry_after {
                let endpoint = &answer.url.endpoint;
                self.client.hosts.rest(endpoint, time, status, &told);
            }
            return Err(FetchError::Unavailable {
                url,
                status,
                told,
                retry_after,
            });
        }
        Err(FetchError::Unexpected { url, status, told })
    }

    /// The registry's own words, without what it should not repeat.
    fn told(&self, answer: &Answer) -> String {
        let Some(error) = told_error(&answer.body) else {
            return String::new();
        };
        let words: String = format!("{} {}", error.code, error.message)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let found = self
            .found
            .as_ref()
            .and_then(|found| found.credentials.as_ref());
        let words = found.map_or(words.clone(), |credentials| credentials.hide_in(&words));
        let token = self
            .authorization
            .as_ref()
            .and_then(|sent| sent.reveal().split(' ').nth(1));
        let words = token.map_or(words.clone(), |token| Secret::new(token).hide_in(&words));
        let words: String = words.trim().chars().take(LONGEST_QUOTE).collect();
        format!(", {words:?}")
    }
}

/// `Retry-After`, a number of seconds or a date, up to the longest pause that is kept.
fn wished_pause(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wished = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = httpdate::parse_http_date(value).ok()?;
            date.duration_since(now).unwrap_or_default()
        }
    };
    Some(wished.min(LONGEST_REST)).filter(|wished| !wished.is_zero())
}

#[derive(Deserialize)]
struct Told {
    errors: Vec<ToldError>,
}

#[derive(Deserialize)]
pub(super) struct ToldError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

fn told_error(body: &[u8]) -> Option<ToldError> {
    let told: Told = serde_json::from_slice(body).ok()?;
    told.errors.into_iter().next()
}

pub(super) fn told_code(body: &[u8]) -> Option<String> {
    told_error(body).map(|error| error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_for_a_pause_is_read_in_both_forms_and_bounded() {
        let now = httpdate::parse_http_date("Mon, 16 Nov 2026 10:00:00 GMT").unwrap();
        for (value, seconds) in [
            ("30", Some(30)),
            (" 30 ", Some(30)),
            ("86400", Some(300)),
            ("Mon, 16 Nov 2026 10:00:45 GMT", Some(45)),
            ("Tue, 17 Nov 2026 10:00:00 GMT", Some(300)),
            ("Mon, 16 Nov 2026 09:00:00 GMT", None),
            ("0", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, value.parse().unwrap())]);
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(wished_pause(&headers, now), expected, "{value}");
        }
    }
}
