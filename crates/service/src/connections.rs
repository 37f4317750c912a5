//! The connections: how many there may be, who has to leave when there are too
//! many, how much each may send ahead, and when it is asked to end.

mod crowd;
mod linger;
mod transport;

use std::{convert::Infallible, io, pin::pin, sync::Arc, time::Duration};

use crowd::{Busy, Crowd, Guest};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use linger::Kept;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tonic::service::Routes;
use tower::ServiceExt as _;
pub use transport::{Plain, Transport};

use crate::{
    body::{ARRIVES_WITHIN, Arriving, Leaving},
    budget::{Budget, PER_CALL, Reservation},
    message_limit, status,
};

/// Detects callers whose machine is gone, so that their calls end.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// One connection carries all of Porch's calls. Those that are too many for it
/// wait at the client.
const STREAMS_PER_CONNECTION: u32 = 1024;

/// How much may come in one piece; by default a large list comes in hundreds.
const FRAME: u32 = 256 * 1024;

/// Out of descriptors or memory: the pause before the next attempt to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Calls other than evaluations (health, reflection) have a budget of their
/// own: evaluations must not keep a probe out.
const OTHER_CALLS: u64 = 4096;
/// Their requests name a service or a symbol.
pub(crate) const OTHER_MESSAGE: usize = 16 * 1024;

/// A call in flight, from its head until the last byte of its answer has left.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) reservation: Reservation,
    /// Its connection is not idle.
    _busy: Busy,
    /// A stop waits for it. Other calls than evaluations may have no end.
    _answer: Option<TaskTrackerToken>,
}

/// What all connections share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) routes: Routes,
    pub(crate) max_message_size: usize,
    pub(crate) max_age: Option<Duration>,
    /// Evaluations, until the last byte of their answers has left.
    pub(crate) answers: TaskTracker,
    budget: Arc<Budget>,
    others: Arc<Budget>,
}

impl Shared {
    pub(crate) fn new(routes: Routes, max_message_size: usize, request_memory: u64) -> Self {
        Self {
            routes,
            max_message_size,
            max_age: None,
            answers: TaskTracker::new(),
            budget: Budget::new(request_memory),
            others: Budget::new(OTHER_CALLS * PER_CALL),
        }
    }

    /// From a request's head to the answer's. Bodies follow at their own pace.
    async fn answer(
        self,
        request: Request<Incoming>,
        busy: Busy,
    ) -> Result<Response<Leaving>, Infallible> {
        let path = request.uri().path();
        let is_evaluation = path
            .strip_prefix('/')
            .and_then(|path| path.strip_prefix(proto::SERVICE_NAME))
            .is_some_and(|rest| rest.starts_with('/'));
        let (budget, most) = if is_evaluation {
            (&self.budget, self.max_message_size)
        } else {
            (&self.others, OTHER_MESSAGE)
        };
        let call = match Reservation::new(budget) {
            Ok(reservation) => Arc::new(Call {
                reservation,
                _busy: busy,
                _answer: is_evaluation.then(|| self.answers.token()),
            }),
            Err(error) => {
                let refusal = status::exhausted(error).into_http::<tonic::body::Body>();
                return Ok(refusal.map(|body| Leaving::new(body, None)));
            }
        };
        let arriving = Arc::clone(&call);
        let request = request.map(|body| Arriving::new(body, arriving, most));
        let Ok(response) = self.routes.oneshot(request).await;
        let response = message_limit::translate(response);
        Ok(response.map(|body| Leaving::new(body, Some(call))))
    }
}

/// Accepts connections and serves them until `stop`. Those that are open then are
/// asked to end after their calls; the tracker counts them.
pub(crate) async fn serve(
    listener: TcpListener,
    transport: impl Transport,
    shared: Shared,
    stop: CancellationToken,
    open: TaskTracker,
) {
    let crowd = Crowd::new();
    let mut is_refusing = false;
    loop {
        // Cancel-safe: a connection that is not accepted is refused by the system.
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // That caller has gone; the next one waits.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection; trying again");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(guest) = crowd.enter() else {
            if !is_refusing {
                tracing::warn!(
                    "{} connections are open and all of them have calls in flight: more are \
                     closed at once",
                    crowd::MOST
                );
            }
            is_refusing = true;
            continue;
        };
        is_refusing = false;
        // Small answers should not wait for more; without it they are only slower.
        let _ = stream.set_nodelay(true);
        let window = Windows::of(crowd.len(), shared.budget.most());
        let opening = transport.clone();
        open.spawn(attend(
            stream,
            opening,
            shared.clone(),
            guest,
            window,
            stop.clone(),
        ));
    }
}

/// One connection, from its first byte to its end.
async fn attend(
    stream: TcpStream,
    transport: impl Transport,
    shared: Shared,
    guest: Guest,
    windows: Windows,
    stop: CancellationToken,
) {
    // Cancel-safe: a connection that has to leave is of no use any more.
    let opened = tokio::select! {
        opened = timeout(ARRIVES_WITHIN, transport.open(stream)) => opened,
        () = guest.asked_to_leave() => return,
    };
    let Ok(Ok(stream)) = opened else { return };
    let stream = Kept::new(stream);
    let max_age = shared.max_age;
    let guest_of_calls = guest.clone();
    let service = service_fn(move |request| shared.clone().answer(request, guest_of_calls.busy()));
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .initial_stream_window_size(windows.stream)
        .initial_connection_window_size(windows.connection)
        .max_frame_size(FRAME);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream.clone()), service));
    let asked_to_end = async {
        let is_old = async {
            match max_age {
                Some(age) => sleep(age).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = is_old => {}
        }
    };
    let mut asked_to_end = pin!(asked_to_end);
    let mut is_ending = false;
    loop {
        // Cancel-safe: `connection` goes on where it was.
        tokio::select! {
            ended = &mut connection => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                    return;
                }
                break;
            }
            () = &mut asked_to_end, if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            () = guest.asked_to_leave() => {
                // One attempt to say so; who does not listen does not hear it.
                connection.as_mut().graceful_shutdown();
                let _ = timeout(Duration::ZERO, connection.as_mut()).await;
                return;
            }
        }
    }
    tokio::select! {
        () = stream.linger() => {}
        () = guest.asked_to_leave() => {}
    }
}

/// How much may be on its way, per call and per connection, before it is read:
/// enough that a large list does not wait for acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Windows {
    stream: u32,
    connection: u32,
}

impl Windows {
    const STREAM: u32 = 2 * 1024 * 1024;
    const CONNECTION: u32 = 16 * 1024 * 1024;
    /// A connection has this much by the protocol.
    const LEAST: u32 = 65_535;

    /// For the newest of this many connections. What is sent ahead is memory, too:
    /// connections share an eighth of the budget, and later ones get less.
    fn of(connections: usize, budget: u64) -> Self {
        let share = budget / 8 / (connections.max(1) as u64);
        let connection = u32::try_from(share)
            .unwrap_or(u32::MAX)
            .clamp(Self::LEAST, Self::CONNECTION);
        Self {
            stream: connection.min(Self::STREAM),
            connection,
        }
    }
}

#[cfg(test)]
impl Call {
    /// The only one of its connection.
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let guest = Crowd::new().enter().expect("room");
        Arc::new(Self {
            reservation: Reservation::new(budget).expect("room"),
            _busy: guest.busy(),
            _answer: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_connections_together_may_send_ahead_stays_below_twice_the_budget() {
        let budget = 128 * 1024 * 1024;
        assert_eq!(
            Windows::of(1, budget),
            Windows {
                stream: Windows::STREAM,
                connection: Windows::CONNECTION,
            }
        );
        let ahead = |count| u64::from(Windows::of(count, budget).connection);
        let sum: u64 = (1..=crowd::MOST).map(ahead).sum();
        assert!(sum < 2 * budget, "{sum} bytes");
        assert_eq!(ahead(crowd::MOST), u64::from(Windows::LEAST));
    }
}
