//! The server's life: listen, serve, be a lame duck, drain, end.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use proto::function_evaluator_server::FunctionEvaluatorServer;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep_until, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::service::Routes;

use crate::{
    Evaluator, Handler, Health, Shutdown, Stages, TaskEnded, Tasks,
    connections::{self, OTHER_MESSAGE, Plain, Shared, Transport},
    signals::Asked,
    stop::CONNECTIONS_END_WITHIN,
};

/// What an answer needs besides list and log: tags and lengths of both fields.
const ANSWER_OVERHEAD: usize = 16;

/// How much a function may write, list and log together, for its answer to fit
/// into a message.
pub fn max_output(max_message_size: usize) -> usize {
    max_message_size.saturating_sub(ANSWER_OVERHEAD)
}

/// A server that is ready to run.
#[derive(Debug)]
pub struct Server<T = Plain> {
    routes: Routes,
    health: Health,
    in_flight: TaskTracker,
    tasks: Tasks,
    max_message_size: usize,
    request_memory: u64,
    max_connection_age: Option<Duration>,
    transport: T,
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
        let mut tasks = Tasks::default();
        tasks.spawn("memory", handler.gives_memory_back());
        let (health, health_service) = Health::new().await;
        let evaluator = FunctionEvaluatorServer::new(handler)
            .max_decoding_message_size(max_message_size)
            .max_encoding_message_size(max_message_size);
        let health_service = health_service.max_decoding_message_size(OTHER_MESSAGE);
        let routes = Routes::new(evaluator).add_service(health_service);
        Self {
            routes,
            health,
            in_flight,
            tasks,
            max_message_size,
            request_memory: u64::MAX,
            max_connection_age: None,
            transport: Plain,
        }
    }
}

impl<T: Transport> Server<T> {
    /// Speaks with clients in another way.
    #[must_use]
    pub fn with_transport<U: Transport>(self, transport: U) -> Server<U> {
        Server {
            routes: self.routes,
            health: self.health,
            in_flight: self.in_flight,
            tasks: self.tasks,
            max_message_size: self.max_message_size,
            request_memory: self.request_memory,
            max_connection_age: self.max_connection_age,
            transport,
        }
    }

    /// Serves more than evaluations and health.
    #[must_use]
    pub fn with_routes(mut self, add: impl FnOnce(Routes) -> Routes) -> Self {
        self.routes = add(self.routes);
        self
    }

    /// Refuses requests while those in flight hold this many bytes.
    #[must_use]
    pub fn with_request_memory(mut self, bytes: u64) -> Self {
        self.request_memory = bytes;
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

    /// Serves until asked to stop, or until one of the process's `tasks` has
    /// ended; then goes through the stages of a stop. No function runs any more
    /// when it returns.
    pub async fn run(
        mut self,
        listener: TcpListener,
        mut shutdown: Shutdown,
        tasks: &mut Tasks,
        stages: Stages,
    ) -> Result<(), TaskEnded> {
        let mut shared = Shared::new(self.routes, self.max_message_size, self.request_memory);
        shared.max_age = self.max_connection_age;
        let answers = shared.answers.clone();
        let (close, open) = (CancellationToken::new(), TaskTracker::new());
        let accepting = connections::serve(
            listener,
            self.transport,
            shared,
            close.clone(),
            open.clone(),
        );
        self.tasks.spawn("listener", accepting);

        // Cancel-safe: each of them only waits.
        let (asked, failure) = tokio::select! {
            asked = shutdown.requested() => (Some(asked), None),
            ended = tasks.ended() => (None, Some(ended)),
            ended = self.tasks.ended() => (None, Some(ended)),
        };
        let begin = Instant::now();
        self.health.stop().await;
        let insisted = shutdown.ends_at_once_if_repeated();
        if let Some(failure) = &failure {
            tracing::error!("{failure}");
        }
        let stages = match asked {
            Some(Asked::ByTerm) => stages,
            Some(Asked::ByInterrupt) | None => stages.without_lame_duck(),
        };
        if !stages.lame_duck.is_zero() {
            tracing::info!(
                time = ?stages.lame_duck,
                "stopping: health says not serving; new calls are still answered"
            );
            sleep_until(begin + stages.lame_duck).await;
        }
        tracing::info!(
            calls = self.in_flight.len(),
            "stopping: no new connections, finishing calls"
        );
        self.in_flight.close();
        answers.close();
        open.close();
        close.cancel();
        let drained = async {
            self.in_flight.wait().await;
            answers.wait().await;
            let leave = Instant::now() + CONNECTIONS_END_WITHIN;
            let _ = timeout_at(leave, open.wait()).await;
        };
        let end = begin + stages.lame_duck + stages.drain;
        if timeout_at(end, drained).await.is_err() {
            let calls = self.in_flight.len();
            tracing::warn!(calls, "drain time is over: cutting off");
        }
        insisted.or_never().await;
        // Kills block for a moment; there is nothing else to do by now.
        process::end_all(stages.functions_gone);
        self.tasks.end().await;
        tracing::info!("stopped");
        failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
