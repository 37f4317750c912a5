//! What the API server says beside its answers: what time it is (`Date`), and when
//! to come back (`Retry-After`).
//!
//! Times on objects are the API server's, so they are compared with its clock and
//! not with this machine's, which may be minutes off. Every answer carries that
//! time, whatever our roles allow.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::{HeaderMap, Response, StatusCode, header};
use k8s_openapi::jiff::fmt::rfc2822;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// The longest that the API server is left alone. It asks for seconds; something before it may ask for a
/// year, and the runner would not notice for as long that all is well again.
const LONGEST_QUIET: Duration = Duration::from_secs(60);

/// How long the API server is left alone that asks for so many seconds.
pub(crate) fn as_asked(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST_QUIET)
}

/// The API server's clock and its wishes, from the headers of its answers. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerHeaders(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    /// Unix seconds of the first answer.
    first: Option<u64>,
    /// Unix seconds of the last answer, and when that was by our own clock, which
    /// only counts on and is never set.
    last: Option<(u64, Instant)>,
    /// Until when an overloaded server wants to be left alone.
    quiet_until: Option<Instant>,
}

impl ServerHeaders {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock()
    }

    /// The API server's time in Unix seconds; `None` as long as no answer had one.
    pub(crate) fn now(&self) -> Option<u64> {
        let (second, seen) = self.said().last?;
        Some(second + seen.elapsed().as_secs())
    }

    /// The same for times that are written down: by this machine's clock if there is
    /// no other. Without a time of the API server nobody takes anything for old.
    pub(crate) fn now_or_our_own(&self) -> u64 {
        let our_own = || SystemTime::now().duration_since(UNIX_EPOCH);
        self.now()
            .unwrap_or_else(|| our_own().map_or(0, |since| since.as_secs()))
    }

    /// The time of its first answer, which is when this runner has begun.
    pub(crate) fn began(&self) -> Option<u64> {
        self.said().first
    }

    /// For how long it wants to be left alone from now on.
    pub(crate) fn quiet(&self) -> Duration {
        let until = self.said().quiet_until;
        until.map_or(Duration::ZERO, |until| until - Instant::now())
    }

    /// Looks at an answer on its way to the client, which does not look at headers.
    pub(crate) fn hear<B>(&self, response: Response<B>) -> Response<B> {
        let headers = response.headers();
        let date = text(headers, &header::DATE).and_then(|date| rfc2822::parse(date).ok());
        let second = date.and_then(|date| u64::try_from(date.timestamp().as_second()).ok());
        if let Some(second) = second {
            self.read(second);
        }
        let is_overload = matches!(
            response.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        let pause = text(headers, &header::RETRY_AFTER).and_then(|pause| pause.parse().ok());
        if let Some(pause) = pause.filter(|_| is_overload) {
            self.said().quiet_until = Some(Instant::now() + as_asked(pause));
        }
        response
    }

    pub(super) fn read(&self, second: u64) {
        let mut said = self.said();
        said.first.get_or_insert(second);
        said.last = Some((second, Instant::now()));
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: u16, name: &str, value: &str) -> Response<()> {
        let response = Response::builder().status(code).header(name, value);
        response.body(()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_is_the_api_servers_and_goes_on_between_answers() {
        let headers = ServerHeaders::default();
        assert_eq!(headers.now(), None);
        headers.hear(response(200, "date", "Thu, 01 Jan 1970 00:16:40 GMT"));
        assert_eq!((headers.began(), headers.now()), (Some(1000), Some(1000)));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(headers.now(), Some(1060));
        headers.hear(response(200, "date", "Thu, 01 Jan 1970 00:18:20 GMT"));
        headers.hear(response(200, "date", "yesterday"));
        assert_eq!((headers.began(), headers.now()), (Some(1000), Some(1100)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_server_is_left_alone_as_long_as_it_asks() {
        let headers = ServerHeaders::default();
        headers.hear(response(200, "retry-after", "7"));
        assert_eq!(headers.quiet(), Duration::ZERO);
        headers.hear(response(429, "retry-after", "7"));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(headers.quiet(), Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(headers.quiet(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_left_alone_for_ever() {
        let headers = ServerHeaders::default();
        for seconds in [61, u64::MAX] {
            headers.hear(response(429, "retry-after", &seconds.to_string()));
            assert_eq!(headers.quiet(), LONGEST_QUIET);
        }
    }
}
