//! Starts the real binaries and talks to them as their users do. The functions
//! they run are the scripts in `functions/`; `test/NAME:v1` is the image of each.

pub mod browser;
pub mod cgroup;
pub mod http1;
pub mod http2;
pub mod program;
pub mod server;
pub mod system;
pub mod tls;

use std::time::Duration;

use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use proto::{
    EvaluateFunctionRequest, EvaluateFunctionResponse,
    function_evaluator_client::FunctionEvaluatorClient,
};
pub use server::Server;
use tonic::{Request, Status, transport::Channel};

/// The smallest list worth sending.
pub const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// The image that stands for the script `name`.
pub fn image(name: &str) -> String {
    format!("test/{name}:v1")
}

/// A call of the script `name`.
pub fn call(name: &str, list: impl Into<Vec<u8>>) -> EvaluateFunctionRequest {
    EvaluateFunctionRequest {
        resource_list: list.into().into(),
        image: image(name),
        tag: String::new(),
    }
}

/// Evaluates with a client that takes whatever the server sends.
pub async fn evaluate(
    channel: Channel,
    request: impl tonic::IntoRequest<EvaluateFunctionRequest>,
) -> Result<EvaluateFunctionResponse, Status> {
    let request: Request<_> = request.into_request();
    FunctionEvaluatorClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .evaluate_function(request)
        .await
        .map(tonic::Response::into_inner)
}

/// Evaluates with a deadline that only the server keeps: this client has no clock,
/// so that what arrives is the server's own answer, also on a slow machine.
pub async fn evaluate_within(
    server: &Server,
    request: EvaluateFunctionRequest,
    time: Duration,
) -> Result<EvaluateFunctionResponse, Status> {
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    let origin = format!("http://{}", server.address());
    let mut client = FunctionEvaluatorClient::with_origin(client, origin.parse().expect("a URI"));
    let mut request = Request::new(request);
    request.set_timeout(time);
    let answer = client.evaluate_function(request).await;
    answer.map(tonic::Response::into_inner)
}
