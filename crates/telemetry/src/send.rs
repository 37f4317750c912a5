//! Sends one message to a collector, by HTTP or gRPC, over one kind of connection.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use causes::in_full;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::{ExportMetricsServiceRequest, metrics_service_client::MetricsServiceClient},
    trace::v1::{ExportTraceServiceRequest, trace_service_client::TraceServiceClient},
};
use prost::Message as _;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};
use tonic::{
    Code, Status,
    body::Body,
    metadata::{KeyAndValueRef, MetadataMap},
};

use crate::destination::{Destination, Protocol};

/// What may be tried again is, after these pauses, if there is time left.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

/// Most bytes of an answer that are read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// A message for a collector.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Traces(ExportTraceServiceRequest),
    Metrics(ExportMetricsServiceRequest),
}

/// Why a message did not arrive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("no connection: {0}")]
    Connect(String),
    #[error("it answered {0}")]
    Http(StatusCode),
    #[error("it answered {}: {}", .0.code(), .0.message())]
    Grpc(Box<Status>),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the runner is ending")]
    Ending,
}

impl SendError {
    /// By the protocol's rules.
    fn may_pass(&self) -> bool {
        match self {
            Self::Connect(_) => true,
            Self::Http(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            Self::Grpc(status) => matches!(
                status.code(),
                Code::Cancelled
                    | Code::DeadlineExceeded
                    | Code::Aborted
                    | Code::OutOfRange
                    | Code::Unavailable
                    | Code::DataLoss
            ),
            Self::Timeout(_) | Self::Ending => false,
        }
    }
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Body>;

/// Sends messages to one collector. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    client: HttpClient,
    destination: Arc<Destination>,
    /// The runtime of the connections; senders may be threads outside of it.
    runtime: Handle,
}

impl Sender {
    /// Fails if the authority to trust cannot be read. Must be called on a runtime.
    pub(crate) fn new(destination: Destination) -> io::Result<Self> {
        let is_tls = destination.endpoint.scheme_str() == Some("https");
        let roots = if !is_tls {
            RootCertStore::empty()
        } else if let Some(file) = &destination.certificate {
            authority(&std::fs::read(file)?)?
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots
        };
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http();
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new());
        let client = match destination.protocol {
            Protocol::Http => builder.build(connector.enable_http1().build()),
            Protocol::Grpc => builder
                .http2_only(true)
                .build(connector.enable_http2().build()),
        };
        Ok(Self {
            client,
            destination: Arc::new(destination),
            runtime: Handle::current(),
        })
    }

    pub(crate) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Sends, from whatever thread; again if that may help.
    pub(crate) async fn send(&self, payload: Payload) -> Result<(), SendError> {
        let sender = self.clone();
        let sent = self.runtime.spawn(async move {
            let limit = sender.destination.timeout;
            let sent = timeout(limit, sender.send_patiently(&payload)).await;
            sent.unwrap_or(Err(SendError::Timeout(limit)))
        });
        sent.await.unwrap_or(Err(SendError::Ending))
    }

    async fn send_patiently(&self, payload: &Payload) -> Result<(), SendError> {
        for pause in PAUSES {
            match self.send_once(payload).await {
                Err(error) if error.may_pass() => sleep(pause).await,
                sent => return sent,
            }
        }
        self.send_once(payload).await
    }

    async fn send_once(&self, payload: &Payload) -> Result<(), SendError> {
        match self.destination.protocol {
            Protocol::Http => self.post(payload).await,
            Protocol::Grpc => self.call(payload).await,
        }
    }

    async fn post(&self, payload: &Payload) -> Result<(), SendError> {
        let body = match payload {
            Payload::Traces(message) => message.encode_to_vec(),
            Payload::Metrics(message) => message.encode_to_vec(),
        };
        let mut request = Request::new(Body::new(Full::new(Bytes::from(body))));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.destination.endpoint.clone();
        let headers = request.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        headers.extend(self.destination.headers.clone());
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| SendError::Connect(in_full(&error)))?;
        let (head, body) = answer.into_parts();
        // Read to its end, so that the connection can be used again.
        let _ = Limited::new(body, LONGEST_ANSWER).collect().await;
        match head.status {
            status if status.is_success() => Ok(()),
            status => Err(SendError::Http(status)),
        }
    }

    async fn call(&self, payload: &Payload) -> Result<(), SendError> {
        let (client, origin) = (self.client.clone(), self.destination.endpoint.clone());
        let sent = match payload {
            Payload::Traces(message) => TraceServiceClient::with_origin(client, origin)
                .export(self.request(message.clone()))
                .await
                .map(drop),
            Payload::Metrics(message) => MetricsServiceClient::with_origin(client, origin)
                .export(self.request(message.clone()))
                .await
                .map(drop),
        };
        sent.map_err(|status| match std::error::Error::source(&status) {
            Some(source) => SendError::Connect(in_full(source)),
            None => SendError::Grpc(Box::new(status)),
        })
    }

    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        let headers = MetadataMap::from_headers(self.destination.headers.clone());
        for entry in headers.iter() {
            if let KeyAndValueRef::Ascii(key, value) = entry {
                request.metadata_mut().insert(key, value.clone());
            }
        }
        request
    }
}

/// The authorities in a file.
fn authority(text: &[u8]) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let certificate = certificate.map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        Err(io::Error::other("it holds no certificate in PEM form"))
    } else {
        Ok(roots)
    }
}
