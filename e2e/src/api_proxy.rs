//! A proxy between one runner and the API server, in a thread of its own: it makes the API server
//! slow, makes it refuse requests, fail or forget, or holds back watches, and counts what the runner
//! asks for. Other clients reach the API server as usual.

mod traffic;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONNECTION, RETRY_AFTER, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::scope::admin_client;
use traffic::Traffic;
pub use traffic::{Asked, Counted};

/// How requests are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Plain,
    /// Each is held up for this time.
    Slow(Duration),
    /// Each is answered with 429 and "come again after a second".
    Refusing,
    /// Each is answered with 503.
    Failing,
    /// Watches end, and new ones are refused; everything else goes through.
    Unwatched,
    /// Watches end, and new ones are answered with 410: what they would go on from is forgotten.
    Forgetful,
}

/// Ends when dropped.
#[derive(Debug)]
pub struct ApiProxy {
    manner: watch::Sender<Manner>,
    traffic: Arc<Traffic>,
    folder: TempDir,
    end: Option<tokio::sync::oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

type Answer = Response<UnsyncBoxBody<Bytes, kube::Error>>;

impl ApiProxy {
    /// Starts one that changes nothing yet.
    pub fn start() -> Result<Self> {
        let (manner, manners) = watch::channel(Manner::Plain);
        let traffic = Arc::<Traffic>::default();
        let (end, ended) = tokio::sync::oneshot::channel();
        let (tell_port, port) = mpsc::channel();
        let shared = Arc::clone(&traffic);
        let work = async move || -> Result<()> {
            let client = admin_client().await?;
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            tell_port.send(listener.local_addr()?.port())?;
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await?;
                let (client, manners) = (client.clone(), manners.clone());
                let traffic = Arc::clone(&shared);
                let service = service_fn(move |request| {
                    pass(
                        client.clone(),
                        manners.clone(),
                        Arc::clone(&traffic),
                        request,
                    )
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                connections.spawn(connection);
            }
        };
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            // Cancel-safe: whoever drops the proxy wants no more of it.
            runtime.block_on(async {
                tokio::select! {
                    outcome = work() => eprintln!("the API server's proxy ended: {outcome:?}"),
                    _ = ended => {}
                }
            });
        });
        let port = port.recv().context("the API server's proxy")?;
        let folder = TempDir::new()?;
        std::fs::write(kubeconfig(folder.path()), access(port))?;
        Ok(Self {
            manner,
            traffic,
            folder,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// The administrator's access, through the proxy.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        kubeconfig(self.folder.path())
    }

    /// Counts for the next requests; open watches end.
    pub fn be(&self, manner: Manner) {
        self.manner.send_replace(manner);
    }

    /// How many requests were answered with 429.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.traffic.counted().refused
    }

    /// How many watches the API server has answered with 410: their past is forgotten.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.traffic.counted().expired
    }

    /// What the runner has asked for since the proxy was started, or since [`Self::count_anew`].
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.traffic.counted()
    }

    pub(crate) fn count_anew(&self) {
        self.traffic.count_anew();
    }
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn kubeconfig(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}

fn access(port: u16) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [{ "name": "proxy", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "users": [{ "name": "proxy", "user": {} }],
        "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "proxy" } }],
    })
    .to_string()
}

async fn pass(
    client: Client,
    mut manners: watch::Receiver<Manner>,
    traffic: Arc<Traffic>,
    request: Request<Incoming>,
) -> Result<Answer> {
    let asked = Asked::of(request.method(), request.uri());
    let is_watch = asked.is_watch;
    let under_way = Traffic::begin(&traffic, asked);
    let manner = *manners.borrow_and_update();
    match manner {
        Manner::Plain => {}
        Manner::Slow(time) => sleep(time).await,
        Manner::Refusing => {
            traffic.refused();
            return Ok(refusal());
        }
        Manner::Failing => {
            let words = "the test's proxy fails";
            let code = StatusCode::SERVICE_UNAVAILABLE;
            return Ok(status(code, "ServiceUnavailable", words));
        }
        Manner::Unwatched if is_watch => return Ok(refusal()),
        Manner::Forgetful if is_watch => {
            traffic.expired();
            return Ok(status(
                StatusCode::GONE,
                "Expired",
                "too old resource version",
            ));
        }
        Manner::Unwatched | Manner::Forgetful => {}
    }
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let answer = client
        .send(Request::from_parts(parts, Body::from(body.to_vec())))
        .await;
    let Ok(answer) = answer else {
        let code = StatusCode::BAD_GATEWAY;
        return Ok(status(code, "BadGateway", "the API server is away"));
    };
    if answer.status().is_success() {
        under_way.succeeded();
    }
    drop(under_way);
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(CONNECTION);
    parts.headers.remove(TRANSFER_ENCODING);
    if !is_watch {
        return Ok(Response::from_parts(parts, body.boxed_unsync()));
    }
    if parts.status == StatusCode::GONE {
        traffic.expired();
    }
    let look = move |frame: &Result<Frame<Bytes>, kube::Error>| {
        if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
            traffic.heard(data);
        }
    };
    let until = async move { drop(manners.changed().await) };
    let frames = BodyStream::new(body)
        .inspect(look)
        .take_until(Box::pin(until));
    Ok(Response::from_parts(
        parts,
        StreamBody::new(frames).boxed_unsync(),
    ))
}

fn refusal() -> Answer {
    let mut answer = status(
        StatusCode::TOO_MANY_REQUESTS,
        "TooManyRequests",
        "the test's proxy refuses",
    );
    let headers = answer.headers_mut();
    headers.insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
    answer
}

/// As the API server words it.
fn status(code: StatusCode, reason: &str, message: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    let body = Full::new(Bytes::from(body.to_string()));
    let mut answer = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = code;
    answer
}
