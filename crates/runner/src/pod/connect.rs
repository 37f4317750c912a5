//! Connections to wrappers, by the name of the service in front of them.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::roster::Usage;

/// How often a wrapper is called that does not answer yet. It is up within a
/// few tens of milliseconds after its pod has an address.
const KNOCK: Duration = Duration::from_millis(20);

/// A single attempt: a name that does not resolve yet, or an address without a
/// route, should not hold up the next one. The first are short, because the
/// kernel repeats a packet that was lost only after a second; then they double,
/// for networks that need the time.
const FIRST_ATTEMPT: Duration = Duration::from_millis(250);
const ATTEMPT: Duration = Duration::from_secs(2);

/// Detects pods whose node is gone.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// How much may be on its way before it is acknowledged: a large list should not
/// wait for that.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// What a caller needs to use a pod. The connection is closed when the last copy
/// is dropped.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Of the pod and its service.
    pub name: Arc<str>,
    pub channel: Channel,
    pub usage: Usage,
}

/// Connects as soon as the wrapper answers: something before it, such as a
/// mesh's proxy, may listen earlier. Ends only with success: the caller has a
/// deadline, and knows what else to watch.
pub async fn connect(address: &str) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .connect_timeout(ATTEMPT)
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        // A failed function's message comes as a header.
        .http2_max_header_list_size(64 * 1024);
    let mut time = FIRST_ATTEMPT;
    loop {
        let attempt = async {
            let channel = endpoint.connect().await.ok()?;
            let mut health = HealthClient::new(channel.clone());
            health.check(HealthCheckRequest::default()).await.ok()?;
            Some(channel)
        };
        match timeout(time, attempt).await {
            Ok(Some(channel)) => return Ok(channel),
            Ok(None) => sleep(KNOCK).await,
            Err(_) => time = (time * 2).min(ATTEMPT),
        }
    }
}
