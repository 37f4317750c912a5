//! Sends requests: redirects, time limits, and the record of each exchange.

use std::time::Duration;

use bytes::Bytes;
use causes::in_full;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use metrics::registries::{self, Outcome};
use tokio::time::{Instant, timeout};

use super::{AuthenticateError, FetchError, session::Session};
use crate::{
    secret::Secret,
    transport::is_loopback,
    url::{Endpoint, Scheme, Url},
};

/// Registries refuse larger manifests themselves; configurations are smaller.
const LONGEST_DOCUMENT: usize = 4 * 1024 * 1024;

/// Registries redirect once, to where their blobs are; a few more may be behind
/// a load balancer.
const MOST_REDIRECTS: usize = 5;

/// What to send.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) accept: &'static str,
    pub(super) authorization: Option<Secret>,
    /// A form, if there is one.
    pub(super) body: Option<Secret>,
}

/// What came back, whole.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Session<'_> {
    /// Sends a request and follows where the answer leads. The authorization
    /// stays behind as soon as that is another endpoint, also if the way leads back.
    pub(super) async fn follow(
        &mut self,
        url: &Url,
        outgoing: &Outgoing,
    ) -> Result<Answer, FetchError> {
        let mut target = url.clone();
        let mut is_home = true;
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.exchange(&target, outgoing, is_home).await?;
            let location = answer.headers.get(header::LOCATION);
            let location = location.and_then(|value| value.to_str().ok());
            let Some(location) = location.filter(|_| answer.status.is_redirection()) else {
                return Ok(answer);
            };
            let refused = |why: &str| FetchError::Redirect {
                url: target.to_string(),
                why: why.to_owned(),
            };
            let next = target
                .join(location)
                .ok_or_else(|| refused("to a place that is not a URL"))?;
            let plain = next.endpoint.scheme == Scheme::Http;
            let rules = self.client.connector.plain();
            let is_allowed = match target.endpoint.scheme {
                Scheme::Http => rules.allows(&next.endpoint),
                // Out of TLS only where the operator said so.
                Scheme::Https => rules.names(&next.endpoint),
            };
            if plain && !is_allowed {
                let why = format!("to {next}, in plain HTTP, which is not allowed for that host");
                return Err(refused(&why));
            }
            if outgoing.method == Method::POST {
                return Err(refused("a request that must not be sent twice"));
            }
            is_home &= next.endpoint == url.endpoint;
            target = next;
        }
        Err(FetchError::Redirect {
            url: url.to_string(),
            why: format!("more than {MOST_REDIRECTS} times"),
        })
    }

    /// One request and its whole answer, in its turn, in time and noted. A host
    /// that asked for a pause gets no request.
    async fn exchange(
        &mut self,
        url: &Url,
        outgoing: &Outgoing,
        is_home: bool,
    ) -> Result<Answer, FetchError> {
        let noted = self.report.begin(outgoing.method.as_str(), url);
        let _place = self.client.hosts.enter(&url.endpoint).await;
        let began = Instant::now();
        let answer = match self.client.hosts.resting(&url.endpoint) {
            Some(error) => Err(error),
            None => self.converse_in_time(url, outgoing, is_home).await,
        };
        let outcome = match &answer {
            Ok(answer) => answer.status.to_string(),
            Err(error) => in_full(error),
        };
        let counted = match &answer {
            Ok(answer) => Outcome::of_status(answer.status.as_u16()),
            Err(FetchError::Unavailable { .. }) => Outcome::Throttled,
            Err(_) => Outcome::Unreachable,
        };
        let host = url.endpoint.authority();
        registries::requested(&host, counted, began.elapsed(), &outcome);
        self.report.end(noted, outcome, began.elapsed());
        answer
    }

    async fn converse_in_time(
        &mut self,
        url: &Url,
        outgoing: &Outgoing,
        is_home: bool,
    ) -> Result<Answer, FetchError> {
        let after = self.patience();
        let answer = timeout(after, self.converse(url, outgoing, is_home)).await;
        let url = url.to_string();
        answer.unwrap_or(Err(FetchError::Slow { url, after }))
    }

    pub(super) fn patience(&self) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.client.timeouts.request.min(left)
    }

    async fn converse(
        &mut self,
        url: &Url,
        outgoing: &Outgoing,
        is_home: bool,
    ) -> Result<Answer, FetchError> {
        let request = self.request(url, outgoing, is_home)?;
        let mut connection = self.connection(&url.endpoint).await?;
        let lost = |source| FetchError::Lost {
            url: url.to_string(),
            source,
        };
        let response = connection
            .sender()
            .send_request(request)
            .await
            .map_err(lost)?;
        let (parts, body) = response.into_parts();
        let body = match Limited::new(body, LONGEST_DOCUMENT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => match error.downcast::<hyper::Error>() {
                Ok(error) => return Err(lost(*error)),
                Err(error) => {
                    debug_assert!(error.is::<LengthLimitError>());
                    return Err(FetchError::TooLarge {
                        url: url.to_string(),
                        limit: LONGEST_DOCUMENT,
                    });
                }
            },
        };
        // It comes back only now: a half-read answer makes it useless.
        self.connections.push((url.endpoint.clone(), connection));
        Ok(Answer {
            url: url.clone(),
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    fn request(
        &self,
        url: &Url,
        outgoing: &Outgoing,
        is_home: bool,
    ) -> Result<Request<Full<Bytes>>, FetchError> {
        let mut request = Request::builder()
            .method(outgoing.method.clone())
            .uri(&url.path_and_query)
            .header(header::HOST, url.endpoint.authority())
            .header(
                header::USER_AGENT,
                concat!("function-runner/", env!("CARGO_PKG_VERSION")),
            )
            .header(header::ACCEPT, outgoing.accept);
        if let Some(secret) = outgoing.authorization.as_ref().filter(|_| is_home) {
            self.warn_of_plain_http(&url.endpoint);
            let value = HeaderValue::from_str(secret.reveal()).map(|mut value| {
                value.set_sensitive(true);
                value
            });
            // A token that no header can carry cannot be used.
            let unusable = |_| {
                let origin = self.found.clone().unwrap_or_default().origin;
                self.cannot_authenticate(AuthenticateError::ExpiredToken(Box::new(origin)))
            };
            request = request.header(header::AUTHORIZATION, value.map_err(unusable)?);
        }
        let body = match &outgoing.body {
            Some(form) => {
                self.warn_of_plain_http(&url.endpoint);
                request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
                Full::from(form.reveal().to_owned())
            }
            None => Full::default(),
        };
        request.body(body).map_err(|_| FetchError::Redirect {
            url: url.to_string(),
            why: "to a place that is not a URL".to_owned(),
        })
    }

    fn warn_of_plain_http(&self, endpoint: &Endpoint) {
        if endpoint.scheme == Scheme::Http && !is_loopback(&endpoint.host) {
            self.client.connector.warnings.once(format!(
                "credentials are sent to {endpoint} in plain HTTP, where others may read them; \
                 give the registry a certificate"
            ));
        }
    }
}
