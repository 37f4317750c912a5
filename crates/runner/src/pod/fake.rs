//! An API server of a few lines, for answers that a real one gives only in trouble.

use std::{convert::Infallible, future::ready, sync::Arc};

use http::{Request, Response};
use kube::client::{Body, Client};
use serde_json::{Value, json};

/// A client whose every request is answered with a code and an object.
pub(super) fn client(
    answer: impl Fn(&Request<Body>) -> (u16, Value) + Send + Sync + 'static,
) -> Client {
    let answer = Arc::new(answer);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (code, object) = answer(&request);
        let body = Body::from(object.to_string().into_bytes());
        let response = Response::builder().status(code).body(body);
        ready(Ok::<_, Infallible>(response.expect("a response")))
    });
    Client::new(service, "test")
}

/// What the API server says when it says no.
pub(super) fn refusal(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                         "reason": reason, "message": message });
    (code, status)
}
