//! A registry in this process that does what a test tells it, and remembers
//! what it was asked.

// Every test file uses its own part of this.
#![allow(dead_code, unreachable_pub)]

use std::{
    convert::Infallible,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use registry::{Client, Digest, FetchError, Image, Keychain, Report, Timeouts, Transport};
use tokio::{net::TcpListener, task::JoinSet, time::Instant};
use tokio_util::task::AbortOnDropHandle;
use tracing::{level_filters::LevelFilter, subscriber::DefaultGuard};

pub type Body = BoxBody<Bytes, Infallible>;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub host: String,
    pub authorization: Option<String>,
    pub body: String,
}

/// Serves on loopback until dropped.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    pub async fn start(handler: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (handler, log) = (Arc::new(handler), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (handler, log) = (Arc::clone(&handler), Arc::clone(&log));
                let service = service_fn(move |request| {
                    let (handler, log) = (Arc::clone(&handler), Arc::clone(&log));
                    async move {
                        let seen = read(request).await;
                        log.lock().push(seen.clone());
                        Ok::<_, Infallible>(handler(&seen))
                    }
                });
                connections.spawn(async move {
                    let connection = http1::Builder::new();
                    let _ = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            port,
            seen,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// By number, so that `localhost` can be another host.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }
}

async fn read(request: Request<Incoming>) -> Seen {
    let (parts, body) = request.into_parts();
    let authorization = parts.headers.get(header::AUTHORIZATION);
    let host = parts.headers.get(header::HOST);
    let body = body.collect().await.unwrap().to_bytes();
    Seen {
        line: format!("{} {}", parts.method, parts.uri),
        host: host.map_or("", |value| value.to_str().unwrap()).to_owned(),
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

pub fn respond(status: u16, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

pub fn with(mut response: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    response.headers_mut().append(name, value.parse().unwrap());
    response
}

/// An image: the documents of a registry that has it.
#[derive(Clone)]
pub struct Documents {
    pub manifest: String,
    pub config: String,
}

impl Documents {
    pub fn new(command: &str) -> Self {
        let config =
            format!(r#"{{"os":"linux","architecture":"amd64","config":{{"Cmd":["{command}"]}}}}"#);
        let digest = Digest::of(config.as_bytes());
        let manifest = format!(r#"{{"schemaVersion":2,"config":{{"digest":"{digest}"}}}}"#);
        Self { manifest, config }
    }

    /// Answers any path of the image, whatever its repository and tag.
    pub fn answer(&self, seen: &Seen) -> Response<Body> {
        if seen.line.contains("/manifests/") {
            let digest = Digest::of(self.manifest.as_bytes()).to_string();
            let manifest = respond(200, self.manifest.clone());
            with(manifest, "docker-content-digest", &digest)
        } else if seen.line.contains("/blobs/") {
            respond(200, self.config.clone())
        } else {
            respond(404, "")
        }
    }
}

/// A client with credentials for everything that `auths` names.
pub struct Asking {
    pub client: Client,
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Asking {
    pub fn with(auths: &str, timeouts: Timeouts) -> Self {
        Self::over(Transport::default(), auths, timeouts)
    }

    pub fn over(transport: Transport, auths: &str, timeouts: Timeouts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, format!(r#"{{"auths":{{{auths}}}}}"#)).unwrap();
        let keychain = Keychain::File(file.clone());
        Self {
            client: Client::new(keychain, transport, timeouts),
            file,
            _folder: folder,
        }
    }

    pub async fn inspect(&self, image: &str) -> (Result<Image, FetchError>, Report) {
        let deadline = Instant::now() + Duration::from_secs(60);
        self.client.inspect(&image.parse().unwrap(), deadline).await
    }

    pub async fn fetch(&self, image: &str) -> Result<Image, FetchError> {
        self.inspect(image).await.0
    }

    /// Fetches `/fn:v1`, which has to fail.
    pub async fn failure(&self, server: &Server) -> FetchError {
        let image = format!("{}/fn:v1", server.host());
        self.fetch(&image).await.unwrap_err()
    }
}

pub fn assert_says(error: &FetchError, words: &str) {
    let said = causes::in_full(error);
    assert!(said.contains(words), "{said}");
}

/// Everything that this thread logs.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures until the guard is dropped.
    pub fn capture() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
