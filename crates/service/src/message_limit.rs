//! Messages over the limit are refused as grpc-go refuses them.

use http::Response;
use tonic::{Code, Status, body::Body};

/// tonic refuses a request that is too large before any handler sees it, with
/// OUT_OF_RANGE; Porch's clients know RESOURCE_EXHAUSTED. No handler of ours
/// answers OUT_OF_RANGE, so whatever carries it is such a refusal.
pub(crate) fn translate(mut response: Response<Body>) -> Response<Body> {
    let refusal = Status::from_header_map(response.headers())
        .filter(|status| status.code() == Code::OutOfRange);
    if let Some(refusal) = refusal {
        let message = format!(
            "{}; if packages are meant to be that large, raise --max-request-body-size here and \
             --function-runner-grpc-max-message-size of Porch",
            refusal.message()
        );
        // It fails only for header values that are not text.
        let _ = Status::resource_exhausted(message).add_header(response.headers_mut());
    }
    response
}
