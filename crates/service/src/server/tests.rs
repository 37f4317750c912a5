use krm::Output;
use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::{EvaluateError, Evaluation};

const AGE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes several times the age of a connection.
struct Slow;

#[tonic::async_trait]
impl Evaluator for Slow {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
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
    let listener = bind(0).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::new(Handler::new(Slow, PATIENCE), 1024).await;
    let server = server.with_max_connection_age(AGE);
    let shutdown = Shutdown::listen().unwrap();
    tokio::spawn(server.run(listener, shutdown, PATIENCE));
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
        };
        let answer = client.evaluate_function(request).await.unwrap();
        assert_eq!(answer.into_inner().resource_list, "a list");
    }
}
