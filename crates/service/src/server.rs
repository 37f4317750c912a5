//! The server's life: listen, serve, drain, end.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use proto::function_evaluator_server::FunctionEvaluatorServer;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::task::TaskTracker;
use tonic::{service::Routes, transport::server::TcpIncoming};
use tower::util::MapResponseLayer;

use crate::{Evaluator, Handler, Health, Shutdown, message_limit};

/// How long answers may take to leave once the last call is done: connections
/// with an endless stream on them (a health watch) never close by themselves.
const ANSWERS_LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// How long functions that were killed at the end get to be gone.
const FUNCTIONS_GONE_WITHIN: Duration = Duration::from_secs(2);

/// Detects callers whose machine is gone, so that their calls end.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// One connection carries all of Porch's calls, so it gets many streams (hyper
/// would allow 200), and those that are cancelled in one go are no attack.
const STREAMS_PER_CONNECTION: u32 = 100_000;
const CANCELLED_AT_ONCE: usize = 10_000;

/// How much may be on its way per call and per connection before it is read:
/// enough that a large list does not wait for acknowledgements.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;

/// How much may come in one piece; by default a large list comes in hundreds.
const FRAME: u32 = 256 * 1024;

/// What an answer needs besides list and log: tags and lengths of both fields.
const ANSWER_OVERHEAD: usize = 16;

/// How much a function may write, list and log together, for its answer to fit
/// into a message.
pub fn max_output(max_message_size: usize) -> usize {
    max_message_size.saturating_sub(ANSWER_OVERHEAD)
}

/// A server that is ready to run.
#[derive(Debug)]
pub struct Server {
    routes: Routes,
    health: Health,
    in_flight: TaskTracker,
    max_connection_age: Option<Duration>,
}

/// Listens on all addresses, IPv6 and IPv4; where there is no IPv6, on IPv4.
pub fn bind(port: u16) -> io::Result<TcpListener> {
    listen_on((Ipv6Addr::UNSPECIFIED, port).into())
        .or_else(|_| listen_on((Ipv4Addr::UNSPECIFIED, port).into()))
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A restarted server finds the old one's closing connections on its port.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    TcpListener::from_std(socket.into())
}

impl Server {
    /// The evaluator's service with messages of up to `max_message_size` bytes
    /// both ways, and health, which says "not serving" for now.
    pub async fn new<E: Evaluator>(handler: Handler<E>, max_message_size: usize) -> Self {
        let in_flight = handler.in_flight();
        let (health, health_service) = Health::new().await;
        let evaluator = FunctionEvaluatorServer::new(handler)
            .max_decoding_message_size(max_message_size)
            .max_encoding_message_size(max_message_size);
        let routes = Routes::new(evaluator).add_service(health_service);
        Self {
            routes,
            health,
            in_flight,
            max_connection_age: None,
        }
    }

    /// Serves more than evaluations and health.
    #[must_use]
    pub fn with_routes(mut self, add: impl FnOnce(Routes) -> Routes) -> Self {
        self.routes = add(self.routes);
        self
    }

    /// Asks callers to connect anew after this time; calls in flight are finished.
    /// Otherwise a caller with one connection would never see another replica.
    #[must_use]
    pub fn with_max_connection_age(mut self, age: Duration) -> Self {
        self.max_connection_age = Some(age);
        self
    }

    /// For telling when this server wants calls.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Serves until asked to stop, then finishes the calls in flight, but takes
    /// no longer than `drain` for it. No function runs any more when it returns.
    pub async fn run(
        self,
        listener: TcpListener,
        shutdown: Shutdown,
        drain: Duration,
    ) -> Result<(), tonic::transport::Error> {
        let Self {
            routes,
            health,
            in_flight,
            max_connection_age,
        } = self;
        let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
        let mut builder = tonic::transport::Server::builder();
        if let Some(age) = max_connection_age {
            builder = builder.max_connection_age(age);
        }
        let serving = builder
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .max_concurrent_streams(STREAMS_PER_CONNECTION)
            .http2_max_pending_accept_reset_streams(Some(CANCELLED_AT_ONCE))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .layer(MapResponseLayer::new(message_limit::translate))
            .add_routes(routes)
            .serve_with_incoming_shutdown(
                TcpIncoming::from(listener).with_nodelay(Some(true)),
                async {
                    // An error means that the sender is gone: stop as well.
                    let _ = stopping.await;
                },
            );
        let mut serving = std::pin::pin!(serving);

        // Cancel-safe: `serving` goes on where it was.
        tokio::select! {
            ended = &mut serving => return ended,
            () = shutdown.requested() => {}
        }
        tracing::info!(
            calls = in_flight.len(),
            "stopping: no new connections, finishing calls"
        );
        health.stop().await;
        in_flight.close();
        drop(stop);
        let drained = async {
            in_flight.wait().await;
            tokio::time::sleep(ANSWERS_LEAVE_WITHIN).await;
        };
        tokio::select! {
            ended = &mut serving => ended?,
            ended = timeout(drain, drained) => {
                if ended.is_err() {
                    tracing::warn!(calls = in_flight.len(), "drain time is over: cutting off");
                }
            }
        }
        // Kills block for a moment; there is nothing else to do by now.
        process::end_all(FUNCTIONS_GONE_WITHIN);
        tracing::info!("stopped");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
