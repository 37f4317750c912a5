//! What a status says about a call: whether the wrapper answered, never saw it, or was lost.

use std::{error::Error, iter};

use service::EvaluateError;
use tokio::time::Instant;
use tonic::{Code, ConnectError, Status};

use super::{Called, time_is_up};

/// What a status says about the call. One without a cause came over the wire; the others
/// are our own client's.
pub(super) fn judged(image: &str, status: Status, deadline: Instant) -> Called {
    if was_never_sent(&status) {
        return Called::NeverSent(cause(&status));
    }
    if status.source().is_none() {
        // Wrappers never answer that, but a mesh's proxy does in the place of one that is gone.
        if status.code() == Code::Unavailable {
            return Called::Lost("the connection's other end answered UNAVAILABLE".into());
        }
        return Called::Answered(Err(EvaluateError::Remote {
            image: image.to_owned(),
            status: Box::new(status),
        }));
    }
    let is_late = status.code() == Code::DeadlineExceeded || Instant::now() >= deadline;
    if is_late {
        return Called::Answered(Err(time_is_up(image)));
    }
    Called::Lost(cause(&status))
}

/// Whether the wrapper certainly never saw the call: there was no connection, it
/// closed while the call still waited for its turn, or the server refused it as
/// one that it has not begun with.
fn was_never_sent(status: &Status) -> bool {
    causes(status).any(|error| {
        let cancelled = error.downcast_ref::<hyper::Error>();
        let refused = error.downcast_ref::<h2::Error>();
        error.is::<ConnectError>()
            || cancelled.is_some_and(hyper::Error::is_canceled)
            || refused.is_some_and(is_refusal)
    })
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(status.source(), |error| (*error).source())
}

/// What happened to the connection: the first cause. All that is built upon it says
/// no more than "transport error".
fn cause(status: &Status) -> String {
    let first = causes(status).last();
    first.map_or_else(|| status.message().to_owned(), ToString::to_string)
}

/// A server that is about to end says with GOAWAY which calls it has taken on, and
/// only the others end with that; REFUSED_STREAM says so of a single one.
fn is_refusal(error: &h2::Error) -> bool {
    error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

#[cfg(test)]
mod tests;
