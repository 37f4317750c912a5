//! What arrives at a collector, and what happens without one. The real collector is asked in
//! `interop`.

use std::{sync::Mutex, time::Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
    trace_service_server::{TraceService, TraceServiceServer},
};
use prost::Message as _;
use tokio::net::TcpListener;
use tonic::{Request, Response, Status, transport::server::TcpIncoming};

use super::*;

/// What a collector has received: the header `api-key`, and the names of the spans.
#[derive(Debug, Clone, Default)]
struct Received(Arc<Mutex<Vec<Entry>>>);

type Entry = (String, Vec<String>);

impl Received {
    fn take(&self, key: Option<&str>, message: ExportTraceServiceRequest) {
        let scopes = message.resource_spans.into_iter();
        let scopes = scopes.flat_map(|resource| resource.scope_spans);
        let names = scopes.flat_map(|scope| scope.spans).map(|span| span.name);
        let entry = (key.unwrap_or_default().to_owned(), names.collect());
        self.0.lock().unwrap().push(entry);
    }

    fn entries(&self) -> Vec<(String, Vec<String>)> {
        self.0.lock().unwrap().clone()
    }
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let key = request.metadata().get("api-key");
        let key = key.and_then(|key| key.to_str().ok()).map(str::to_owned);
        self.take(key.as_deref(), request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector that speaks gRPC; its address.
async fn grpc_collector(received: Received) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tonic::transport::Server::builder()
        .add_service(TraceServiceServer::new(received))
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::spawn(server);
    format!("http://{address}")
}

/// A collector that speaks HTTP; its address.
async fn http_collector(received: Received) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move |request: http::Request<hyper::body::Incoming>| {
        let received = received.clone();
        async move {
            assert_eq!(request.uri().path(), "/v1/traces");
            let kind = request.headers().get("content-type");
            assert_eq!(kind.unwrap(), "application/x-protobuf");
            let key = request.headers().get("api-key").cloned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let message = ExportTraceServiceRequest::decode(body).unwrap();
            received.take(key.as_ref().and_then(|key| key.to_str().ok()), message);
            let answer = http_body_util::Full::new(Bytes::new());
            Ok::<_, std::convert::Infallible>(http::Response::new(answer))
        }
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let io = hyper_util::rt::TokioIo::new(stream);
            let service = hyper::service::service_fn(serve.clone());
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(io, service));
        }
    });
    format!("http://{address}")
}

fn telemetry(variables: &[(&str, &str)]) -> Telemetry {
    let read = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Telemetry::new(Settings::read(&Identity::default(), read), None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_span_arrives_with_the_headers_by_either_protocol() {
    for protocol in ["grpc", "http/protobuf"] {
        let received = Received::default();
        let endpoint = match protocol {
            "grpc" => grpc_collector(received.clone()).await,
            _ => http_collector(received.clone()).await,
        };
        let telemetry = telemetry(&[
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20ecret"),
        ]);
        drop(telemetry.tracing().unasked("pod start"));
        // Sent now, although its batch is not due yet.
        telemetry.flush(Duration::from_secs(20)).await;
        let expected = ("s ecret".to_owned(), vec!["pod start".to_owned()]);
        assert_eq!(received.entries(), [expected], "{protocol}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_never_answers_does_not_hold_up_the_end() {
    // The kernel takes connections on its behalf.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let telemetry = telemetry(&[
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
    ]);
    drop(telemetry.tracing().unasked("pod start"));
    let begin = Instant::now();
    telemetry.flush(Duration::from_millis(300)).await;
    // Its own limit for a message is 10 s.
    assert!(begin.elapsed().as_secs() < 8, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn without_variables_nothing_is_made() {
    let telemetry = telemetry(&[]);
    assert!(telemetry.provider.is_none() && telemetry.push.is_none());
    assert!(!telemetry.tracing().unasked("pod start").is_recorded());
    telemetry.flush(Duration::from_secs(1)).await;
}
