//! The HTTP server of the page: few connections, small requests, short times.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use service::Tasks;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    access::{Rules, Wanted},
    address::Address,
    page,
    view::{Sources, View},
};

/// A scraper, a few browsers, and room for some that are slow.
const CONNECTIONS: usize = 64;
const LONGEST_HEAD: usize = 16 * 1024;
/// A head comes within this time, and so does the next request on a connection.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// A connection may last so long, however busy it is: a reader that stalls must go.
const CONNECTION_WITHIN: Duration = Duration::from_secs(120);

/// Nothing from elsewhere, nothing inline, nobody's frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Begins to serve. If its port is taken, the runner runs functions nevertheless. Returns where
/// the page is, if it is somewhere.
pub(crate) async fn start(
    address: &Address,
    sources: Sources,
    tasks: &mut Tasks,
) -> Option<SocketAddr> {
    if let Some(complaint) = &address.complaint {
        tracing::warn!("{complaint}");
    }
    let listener = match address.bind().await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(
                "no status page and no metrics: cannot listen on {}:{}: {error}; choose another \
                 address with OTEL_EXPORTER_PROMETHEUS_HOST and OTEL_EXPORTER_PROMETHEUS_PORT, or \
                 turn it off with --status=false",
                address.host,
                address.port
            );
            return None;
        }
    };
    let bound = listener.local_addr().ok()?;
    let shared = Arc::new(Shared {
        rules: address.rules,
        sources,
    });
    tasks.spawn("status page", serve(listener, shared));
    Some(bound)
}

struct Shared {
    rules: Rules,
    sources: Sources,
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // Ends with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let served = converse(stream, peer.ip(), &shared);
                    // Late or broken: nobody is interested.
                    let _ = timeout(CONNECTION_WITHIN, served).await;
                    drop(place);
                });
            }
            // Such as too many open files: it may pass.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn converse(stream: TcpStream, peer: IpAddr, shared: &Shared) {
    let answer = service_fn(|request: Request<Incoming>| {
        let answer = shared.answer(&request, peer);
        async { Ok::<_, Infallible>(answer) }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

/// A body and its type.
type Answer = Response<Full<Bytes>>;

impl Shared {
    fn answer<B>(&self, request: &Request<B>, peer: IpAddr) -> Answer {
        let path = request.uri().path();
        let wanted = match path {
            "/healthz" => Wanted::Health,
            "/metrics" => Wanted::Metrics,
            _ => Wanted::Page,
        };
        let host = request.headers().get(header::HOST);
        let host = host.map(|host| host.to_str().unwrap_or_default());
        if let Err(refused) = self.rules.check(wanted, peer, host) {
            return text(StatusCode::FORBIDDEN, refused.words());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        }
        match path {
            "/healthz" => text(StatusCode::OK, "ok\n"),
            "/metrics" => found(
                "text/plain; version=0.0.4; charset=utf-8",
                metrics::prometheus(&metrics::snapshot()),
            ),
            "/" => found("text/html; charset=utf-8", page::html(&self.view())),
            "/status.json" => match serde_json::to_vec(&self.view()) {
                Ok(body) => found("application/json", body),
                Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "cannot be shown\n"),
            },
            "/style.css" => found("text/css; charset=utf-8", page::STYLE),
            "/script.js" => found("text/javascript; charset=utf-8", page::SCRIPT),
            "/icon.svg" => found("image/svg+xml", page::ICON),
            _ => text(
                StatusCode::NOT_FOUND,
                "there are /, /status.json, /metrics and /healthz\n",
            ),
        }
    }

    fn view(&self) -> View {
        View::now(&self.sources)
    }
}

fn text(status: StatusCode, words: &'static str) -> Answer {
    let mut answer = found("text/plain; charset=utf-8", words);
    *answer.status_mut() = status;
    answer
}

fn found(kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    answer
}
