//! An API server of a few lines, for answers that a real one gives only when it fails.

use std::{future::ready, sync::Arc};

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::{Body, Client};
use serde_json::{Value, json};
use tower::BoxError;

/// A client whose every request is answered with a code and an object.
pub(crate) fn client(
    answer: impl Fn(&Request<Body>) -> (u16, Value) + Send + Sync + 'static,
) -> Client {
    slow(move |request| {
        let (code, object) = answer(&request);
        Box::pin(ready((code, object.to_string())))
    })
}

/// The same with answers that may take time, and have any text, such as the events
/// of a watch.
pub(crate) fn slow(
    answer: impl Fn(Request<Body>) -> BoxFuture<'static, (u16, String)> + Send + Sync + 'static,
) -> Client {
    let answer = Arc::new(answer);
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = answer(request);
        async move {
            let (code, text) = answer.await;
            let body = Body::from(text.into_bytes());
            Ok::<_, BoxError>(Response::builder().status(code).body(body)?)
        }
    });
    Client::new(service, "test")
}

/// What the API server says when it says no.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                         "reason": reason, "message": message });
    (code, status)
}

/// What a deletion is about, and what it asks to hold.
pub(crate) async fn deletion(request: Request<Body>) -> (String, Value) {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect_bytes().await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("an object");
    (path, body["preconditions"].clone())
}
