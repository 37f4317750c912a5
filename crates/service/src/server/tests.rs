use std::sync::Arc;

use http::Uri;
use hyper_util::rt::TokioIo;
use krm::Output;
use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::Notify,
    time::timeout,
};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::*;
use crate::{EvaluateError, Evaluation};

const AGE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes several times the age of a connection.
#[derive(Default)]
struct Slow {
    /// Told when a call has begun.
    begun: Arc<Notify>,
}

#[tonic::async_trait]
impl Evaluator for Slow {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        self.begun.notify_one();
        tokio::time::sleep(4 * AGE).await;
        Ok(Output {
            resource_list: evaluation.resource_list,
            log: Default::default(),
            errors: Vec::new(),
            answered_by: None,
        })
    }
}

/// The port of a server whose connections do not get old.
async fn serve() -> u16 {
    serve_up_to(1024).await
}

async fn serve_up_to(max_message_size: usize) -> u16 {
    let listener = bind(0).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::new(Handler::new(Slow::default(), PATIENCE), max_message_size).await;
    let server = server.with_max_connection_age(AGE);
    let shutdown = Shutdown::listen().unwrap();
    let stages = Stages::new(Duration::ZERO, PATIENCE);
    tokio::spawn(async move {
        let mut tasks = Tasks::default();
        server.run(listener, shutdown, &mut tasks, stages).await
    });
    port
}

#[tokio::test]
async fn an_old_connection_is_asked_to_end() {
    const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    const GOAWAY: u8 = 7;
    let mut connection = TcpStream::connect(("127.0.0.1", serve().await))
        .await
        .unwrap();
    connection.write_all(HELLO).await.unwrap();
    let asked = async {
        loop {
            let mut head = [0; 9];
            connection.read_exact(&mut head).await.unwrap();
            if head[3] == GOAWAY {
                return;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            connection.read_exact(&mut payload).await.unwrap();
        }
    };
    timeout(PATIENCE, asked).await.expect("no GOAWAY");
}

#[tokio::test]
async fn calls_outlive_the_age_of_their_connection_and_callers_find_another() {
    let address = format!("http://127.0.0.1:{}", serve().await);
    let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap();
    let mut client = FunctionEvaluatorClient::new(endpoint.connect().await.unwrap());
    for _ in 0..3 {
        let request = EvaluateFunctionRequest {
            resource_list: "a list".into(),
            image: "fn".into(),
            tag: String::new(),
        };
        let answer = client.evaluate_function(request).await.unwrap();
        assert_eq!(answer.into_inner().resource_list, "a list");
    }
}

/// Its client acknowledges what it has read while the rest is on its way. A socket that is closed by
/// then answers that with a reset, which takes the rest away.
#[tokio::test]
async fn a_large_answer_arrives_whole_over_a_connection_that_is_asked_to_end() {
    const LIST: usize = 3_000_000;
    let port = serve_up_to(2 * LIST).await;
    let connect = tower::service_fn(move |_: Uri| async move {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(64 * 1024)?;
        let address = (Ipv4Addr::LOCALHOST, port).into();
        socket.connect(address).await.map(TokioIo::new)
    });
    for _ in 0..3 {
        let endpoint = tonic::transport::Endpoint::from_static("http://localhost")
            .initial_stream_window_size(1_500_000)
            .initial_connection_window_size(8_000_000);
        let channel = endpoint.connect_with_connector(connect).await.unwrap();
        let mut client = FunctionEvaluatorClient::new(channel).max_decoding_message_size(2 * LIST);
        let request = EvaluateFunctionRequest {
            resource_list: vec![b'x'; LIST].into(),
            image: "fn".into(),
            tag: String::new(),
        };
        let answer = client.evaluate_function(request).await.unwrap();
        assert_eq!(answer.into_inner().resource_list.len(), LIST);
    }
}

#[tokio::test]
async fn a_task_that_panics_ends_the_run_after_the_calls_in_flight() {
    let listener = bind(0).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let begun = Arc::new(Notify::new());
    let slow = Slow {
        begun: Arc::clone(&begun),
    };
    let server = Server::new(Handler::new(slow, PATIENCE), 1024).await;
    let health = server.health();
    health.set_serving(true).await;
    let (break_it, broken) = tokio::sync::oneshot::channel::<()>();
    let mut tasks = Tasks::default();
    tasks.spawn("sweep", async {
        broken.await.unwrap();
        panic!("on purpose");
    });
    let shutdown = Shutdown::listen().unwrap();
    // Nobody else's news of a stop: there is no lame duck.
    let stages = Stages::new(PATIENCE, 2 * PATIENCE);
    let begin = Instant::now();
    let run = tokio::spawn(async move { server.run(listener, shutdown, &mut tasks, stages).await });
    let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let mut watch = HealthClient::new(channel.clone())
        .watch(HealthCheckRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status, 1);
    let mut client = FunctionEvaluatorClient::new(channel);
    let request = EvaluateFunctionRequest {
        resource_list: "a list".into(),
        image: "fn".into(),
        tag: String::new(),
    };
    let call = tokio::spawn(async move { client.evaluate_function(request).await });
    timeout(PATIENCE, begun.notified())
        .await
        .expect("a call in flight");
    break_it.send(()).unwrap();
    let not_serving = watch.message().await.unwrap().unwrap().status;
    assert_eq!(not_serving, 2);
    assert_eq!(
        call.await.unwrap().unwrap().into_inner().resource_list,
        "a list"
    );
    let ended = run.await.unwrap().unwrap_err();
    assert!(matches!(ended, TaskEnded::Panicked("sweep")), "{ended}");
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
}

/// The port of a way to this one on which answers pass slowly: some ten megabytes in a second.
async fn slow_way_to(port: u16) -> u16 {
    const PIECE: usize = 64 * 1024;
    const PAUSE: Duration = Duration::from_millis(4);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (caller, _) = listener.accept().await.unwrap();
        let server = TcpSocket::new_v4().unwrap();
        server
            .set_recv_buffer_size(u32::try_from(PIECE).unwrap())
            .unwrap();
        let server = server
            .connect((Ipv4Addr::LOCALHOST, port).into())
            .await
            .unwrap();
        let ((mut asks, mut hears), (mut answers, mut takes)) =
            (caller.into_split(), server.into_split());
        let requests = tokio::io::copy(&mut asks, &mut takes);
        let slowly = async {
            let mut piece = vec![0; PIECE];
            while let Ok(length @ 1..) = answers.read(&mut piece).await {
                tokio::time::sleep(PAUSE).await;
                hears.write_all(&piece[..length]).await.unwrap();
            }
        };
        let _ = tokio::join!(requests, slowly);
    });
    own
}

#[tokio::test]
async fn a_stop_waits_for_an_answer_that_is_read_slowly() {
    const LIST: usize = 40_000_000;
    let listener = bind(0).unwrap();
    // What the kernel still has when all was written is not waited for that long.
    let socket = socket2::SockRef::from(&listener);
    socket.set_send_buffer_size(1024 * 1024).unwrap();
    let way = slow_way_to(listener.local_addr().unwrap().port()).await;
    let begun = Arc::new(Notify::new());
    let slow = Slow {
        begun: Arc::clone(&begun),
    };
    let server = Server::new(Handler::new(slow, PATIENCE), 2 * LIST).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut tasks = Tasks::default();
    tasks.spawn("a task", async { stopped.await.unwrap() });
    let shutdown = Shutdown::listen().unwrap();
    let stages = Stages::new(Duration::ZERO, PATIENCE);
    let run = tokio::spawn(async move { server.run(listener, shutdown, &mut tasks, stages).await });
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://127.0.0.1:{way}"));
    let endpoint = endpoint.unwrap().initial_stream_window_size(64_000_000);
    let endpoint = endpoint.initial_connection_window_size(64_000_000);
    let client = FunctionEvaluatorClient::new(endpoint.connect().await.unwrap());
    let request = EvaluateFunctionRequest {
        resource_list: vec![b'x'; LIST].into(),
        image: "fn".into(),
        tag: String::new(),
    };
    let mut client = client.max_decoding_message_size(2 * LIST);
    let call = tokio::spawn(async move { client.evaluate_function(request).await });
    timeout(PATIENCE, begun.notified())
        .await
        .expect("a call in flight");
    stop.send(()).unwrap();
    tokio::select! {
        biased;
        ended = run => panic!("it did not wait: {ended:?}"),
        answer = call => {
            let answer = answer.unwrap().unwrap();
            assert_eq!(answer.into_inner().resource_list.len(), LIST);
        }
    }
}

#[tokio::test]
async fn an_image_that_nobody_could_have_is_refused_in_few_words() {
    let address = format!("http://127.0.0.1:{}", serve_up_to(8 * 1024 * 1024).await);
    let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap();
    let mut client = FunctionEvaluatorClient::new(endpoint.connect().await.unwrap());
    let request = EvaluateFunctionRequest {
        resource_list: "a list".into(),
        image: "a/".repeat(2_500_000),
        tag: String::new(),
    };
    let status = client.evaluate_function(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    assert!(status.message().contains("5000000 bytes"), "{status}");
    assert!(status.message().len() < 512, "{status}");
}

#[tokio::test]
async fn a_tag_that_nobody_could_mean_is_refused_in_few_words() {
    let address = format!("http://127.0.0.1:{}", serve_up_to(8 * 1024 * 1024).await);
    let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap();
    let mut client = FunctionEvaluatorClient::new(endpoint.connect().await.unwrap());
    let request = EvaluateFunctionRequest {
        resource_list: "a list".into(),
        image: "fn".into(),
        tag: ">=1 ".repeat(1_000_000),
    };
    let status = client.evaluate_function(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    assert!(status.message().contains("4000000 bytes"), "{status}");
    assert!(status.message().len() < 512, "{status}");
}
