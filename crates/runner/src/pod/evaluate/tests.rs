use proto::EvaluateFunctionRequest;
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
async fn what_may_have_run_is_not_sent_again() {
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

#[test]
fn a_broken_connection_is_told_with_its_pod_and_what_to_do() {
    let mut status = Status::unknown("transport error");
    status.set_source(Arc::new(std::io::Error::other("reset")));
    let error = answered("a/fn:v1".into(), "fn-v1-x1", status);
    let text = error.to_string();
    for words in ["a/fn:v1", "fn-v1-x1", "reset", "may have run", "try again"] {
        assert!(text.contains(words), "{text}");
    }
    let from_the_wrapper = answered("a/fn:v1".into(), "fn", Status::internal("failed"));
    assert!(matches!(from_the_wrapper, EvaluateError::Remote { .. }));
}
