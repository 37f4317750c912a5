//! The spans of a start: its phases, and a span that the traces of all waiting callers
//! link to.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use service::{Span, Trace};
use tokio::time::Instant;

use crate::{
    pod::{
        calling::{Connection, Start},
        watching::StartPhase,
    },
    pool::Failure,
};

/// The outcome of a start, with the start itself.
pub(super) fn traced(
    mut span: Span,
    spent: Vec<(StartPhase, Duration)>,
    began: Instant,
    outcome: Result<Connection, Failure>,
) -> Result<Connection, Failure> {
    let Some(context) = span.context().cloned() else {
        return outcome;
    };
    let mut from = SystemTime::now() - began.elapsed();
    for (phase, time) in spent {
        let part = span
            .within(&Trace::default())
            .span_since(phase.name(), from);
        from += time;
        part.end_at(from);
    }
    match outcome {
        Ok(mut connection) => {
            span.set("k8s.pod.name", connection.name.to_string());
            if let Some(digest) = &connection.origin.digest {
                span.set("krm.function.digest", digest.to_string());
            }
            let start = Start {
                span: context,
                ended: Instant::now(),
            };
            connection.origin.start = Some(Arc::new(start));
            Ok(connection)
        }
        Err(failure) => {
            // The words that the log has, too.
            span.fail(failure.reason.to_string());
            Err(Failure {
                start: Some(Arc::new(context)),
                ..failure
            })
        }
    }
}
