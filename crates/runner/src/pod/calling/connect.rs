//! Connections to wrappers, through the service in front of them.
//!
//! A connection is made to the service's address, which the API server assigned when the
//! service was created, and calls name the service as their authority. The result is the
//! same as with the service's name, also for a mesh, but no attempt needs the cluster's
//! DNS. Only a service without an address of its own is looked up by its name.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    sync::Arc,
    time::Duration,
};

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use registry::Digest;
use service::trace::SpanContext;
use tokio::{
    sync::Semaphore,
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::pod::{cluster::api::jittered, owning::Usage};

/// The port on which wrappers listen.
pub(crate) const WRAPPER_PORT: u16 = 9446;

/// How often a wrapper is called that does not answer yet. It often is up within a
/// few tens of milliseconds after its pod has an address; one that takes longer is
/// called less and less often, so that waiting costs its first caller at most a
/// sixteenth of the time that the pod took anyway.
const FIRST_KNOCK: Duration = Duration::from_millis(20);
const LONGEST_KNOCK: Duration = Duration::from_millis(500);
const SHARE_OF_WAITING: u32 = 16;

/// A single attempt to connect: an address without a route should not hold up the next
/// one. The first are short, because the kernel repeats a packet that was lost only after
/// a second; then they double, for networks that need the time.
const FIRST_ATTEMPT: Duration = Duration::from_millis(250);
const ATTEMPT: Duration = Duration::from_secs(2);

/// How long a wrapper that has accepted a connection may take to answer over it. Another
/// connection to a busy wrapper would only make it busier.
const ANSWER: Duration = Duration::from_secs(2);

/// The pause after a name was not found. A negative answer is cached for seconds.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

/// Look-ups at a time. Each holds a thread of those that bundled functions need as
/// well, for as long as a name server does not answer.
static LOOK_UPS: Semaphore = Semaphore::const_new(AT_ONCE);
const AT_ONCE: usize = 4;

/// Detects pods whose node is gone, between calls as well as during one: when nothing
/// was heard for the first time, the kernel asks at intervals, and what was sent has
/// to be acknowledged. By TCP and not by HTTP/2, because Porch's own wrapper, which a
/// template may name, closes connections whose client sends more than a few PINGs.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// How much may be on its way before it is acknowledged: a large list should not
/// wait for that.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// What a caller needs to use a pod. The connection is closed when the last copy
/// is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Of the pod and its service.
    pub(crate) name: Arc<str>,
    pub(crate) channel: Channel,
    pub(crate) usage: Usage,
    pub(crate) origin: Origin,
}

/// Where a pod comes from, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// Of the image that runs in it, as the pod says; `None`: nobody knows.
    pub(crate) digest: Option<Digest>,
    /// The start that it came from, if that is part of a trace.
    pub(crate) start: Option<Arc<Start>>,
}

/// A pod's start that is part of a trace.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) span: SpanContext,
    pub(crate) ended: Instant,
}

/// Where a wrapper is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The service's whole name.
    pub(crate) host: String,
    /// What that name stands for, if it is known.
    pub(crate) ip: Option<IpAddr>,
}

impl Address {
    /// Connects as soon as the wrapper answers: something before it, such as a
    /// mesh's proxy, may listen earlier. Ends only with success: the caller has a
    /// deadline, and knows what else to watch.
    pub(crate) async fn connect(&self) -> Result<Channel, tonic::transport::Error> {
        let ip = match self.ip {
            Some(ip) => ip,
            None => look_up(&self.host).await,
        };
        self.connect_to(SocketAddr::new(ip, WRAPPER_PORT)).await
    }

    async fn connect_to(&self, socket: SocketAddr) -> Result<Channel, tonic::transport::Error> {
        let endpoint = self.endpoint(socket)?;
        let connector = connector();
        let (began, mut time) = (Instant::now(), FIRST_ATTEMPT);
        loop {
            let connected = endpoint.connect_with_connector(connector.clone());
            match timeout(time, connected).await {
                Ok(Ok(channel)) if has_answer(&channel).await => return Ok(channel),
                Ok(_) => sleep(knock_after(began.elapsed())).await,
                Err(_) => time = (time * 2).min(ATTEMPT),
            }
        }
    }

    fn endpoint(&self, socket: SocketAddr) -> Result<Endpoint, tonic::transport::Error> {
        let endpoint = Endpoint::from_shared(format!("http://{socket}"))?;
        let name = format!("http://{}:{}", self.host, socket.port());
        let endpoint = match name.parse::<Uri>() {
            Ok(name) => endpoint.origin(name),
            Err(_) => endpoint,
        };
        Ok(endpoint
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // A failed function's message comes as a header.
            .http2_max_header_list_size(64 * 1024))
    }
}

/// Whether a wrapper answers over this connection, whatever it says.
async fn has_answer(channel: &Channel) -> bool {
    let mut health = HealthClient::new(channel.clone());
    let answer = health.check(HealthCheckRequest::default());
    timeout(ANSWER, answer)
        .await
        .is_ok_and(|answer| answer.is_ok())
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(ATTEMPT));
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE_IDLE));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    connector
}

/// The pause before the next attempt, after a wait of this length.
fn knock_after(waited: Duration) -> Duration {
    (waited / SHARE_OF_WAITING).clamp(FIRST_KNOCK, LONGEST_KNOCK)
}

/// What a name stands for, as soon as it stands for something. The dot at its end
/// says that it is whole: without it each search domain would be tried first.
async fn look_up(host: &str) -> IpAddr {
    let whole = format!("{host}.");
    loop {
        let whole = whole.clone();
        let find = || (whole, WRAPPER_PORT).to_socket_addrs().ok()?.next();
        if let Some(address) = in_turn(find).await {
            return address.ip();
        }
        sleep(jittered(LOOK_UP_PAUSE)).await;
    }
}

/// Runs a look-up once it is its turn. Its thread is busy, and its turn lasts, until it
/// ends, even if no caller waits for it any more.
async fn in_turn<T: Send + 'static>(
    find: impl FnOnce() -> Option<T> + Send + 'static,
) -> Option<T> {
    // It cannot fail: nobody closes it.
    let turn = LOOK_UPS.acquire().await.ok()?;
    let found = spawn_blocking(move || {
        let _turn = turn;
        find()
    });
    found.await.ok()?
}

#[cfg(test)]
mod tests;
