use std::{sync::Arc, time::Duration};

use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tonic::transport::Endpoint;

use super::*;

/// HTTP/2 frames, as bytes: length, type, flags, stream, payload.
const PREFACE: usize = 24;
const HEADERS: u8 = 1;
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY_BEFORE_ANY: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// RST_STREAM of the first call.
const fn reset(reason: u8) -> [u8; 13] {
    [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, reason]
}

/// Waits for a call, and answers with `frames`.
async fn answer(mut connection: TcpStream, frames: &[u8]) -> TcpStream {
    connection.write_all(SETTINGS).await.unwrap();
    let mut preface = [0; PREFACE];
    connection.read_exact(&mut preface).await.unwrap();
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        connection.read_exact(&mut payload).await.unwrap();
        if head[3] == HEADERS {
            connection.write_all(frames).await.unwrap();
            return connection;
        }
    }
}

/// What a caller's client makes of a server that answers with `frames`, or closes.
async fn heard(frames: Option<&[u8]>) -> Status {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (connection, _) = listener.accept().await.unwrap();
        let connection = answer(connection, frames.unwrap_or_default()).await;
        if frames.is_some() {
            // Open until the caller has its answer.
            std::future::pending::<()>().await;
        }
        drop(connection);
    };
    let call = async {
        let endpoint = Endpoint::from_shared(address).unwrap();
        let mut client = FunctionEvaluatorClient::new(endpoint.connect().await.unwrap());
        let request = EvaluateFunctionRequest::default();
        client.evaluate_function(request).await.unwrap_err()
    };
    let server = futures::FutureExt::fuse(server);
    futures::pin_mut!(server, call);
    match futures::future::select(call, server).await {
        futures::future::Either::Left((status, _)) => status,
        futures::future::Either::Right(((), call)) => call.await,
    }
}

#[tokio::test]
async fn what_a_server_refused_unseen_was_never_sent() {
    const REFUSED_STREAM: u8 = 7;
    for frames in [GOAWAY_BEFORE_ANY, &reset(REFUSED_STREAM)] {
        let status = heard(Some(frames)).await;
        assert!(was_never_sent(&status), "{status:?}");
    }
}

#[tokio::test]
async fn what_may_have_run_is_not_taken_for_unsent() {
    const INTERNAL_ERROR: u8 = 2;
    const CANCEL: u8 = 8;
    for frames in [Some(reset(INTERNAL_ERROR)), Some(reset(CANCEL)), None] {
        let status = heard(frames.as_ref().map(<[u8; 13]>::as_slice)).await;
        assert!(!was_never_sent(&status), "{status:?}");
    }
}

#[tokio::test]
async fn what_could_not_connect_was_never_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let channel = Endpoint::from_shared(address).unwrap();
    let mut client = FunctionEvaluatorClient::new(channel.connect_lazy());
    let request = EvaluateFunctionRequest::default();
    let status = client.evaluate_function(request).await.unwrap_err();
    assert!(was_never_sent(&status), "{status:?}");
    assert!(cause(&status).contains("refused"), "{}", cause(&status));
}

#[tokio::test]
async fn what_comes_over_the_wire_is_an_answer_and_what_breaks_is_lost() {
    let later = Instant::now() + Duration::from_secs(60);
    let broken = || {
        let mut status = Status::unknown("transport error");
        status.set_source(Arc::new(std::io::Error::other("reset")));
        status
    };
    let lost = judged("a/fn:v1", broken(), later);
    assert!(matches!(lost, Called::Lost(cause) if cause == "reset"));
    let late = judged("a/fn:v1", broken(), Instant::now());
    assert!(matches!(
        late,
        Called::Answered(Err(EvaluateError::NoPodInTime { .. }))
    ));
    let from_the_wrapper = judged("a/fn:v1", Status::internal("failed"), later);
    assert!(matches!(
        from_the_wrapper,
        Called::Answered(Err(EvaluateError::Remote { .. }))
    ));
    let from_a_proxy = judged("a/fn:v1", Status::unavailable("upstream"), later);
    assert!(matches!(from_a_proxy, Called::Lost(_)));
}
