//! Connections to wrappers, by the name of the service in front of them.

use std::time::Duration;

use tokio::time::sleep;
use tonic::transport::{Channel, Endpoint};

/// How often a wrapper is called that does not answer yet. It is up within a
/// few tens of milliseconds after its pod has an address.
const KNOCK: Duration = Duration::from_millis(20);

/// A single attempt: a name that does not resolve yet, or an address without a
/// route, should not hold up the next one.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Detects pods whose node is gone.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects as soon as the wrapper listens. Ends only with success: the caller
/// has a deadline, and knows what else to watch.
pub async fn connect(address: &str) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .connect_timeout(ATTEMPT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        // A failed function's message comes as a header.
        .http2_max_header_list_size(64 * 1024);
    loop {
        match endpoint.connect().await {
            Ok(channel) => return Ok(channel),
            Err(_) => sleep(KNOCK).await,
        }
    }
}
