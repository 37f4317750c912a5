//! The span of a call that is being served, from its beginning to its outcome.

use std::sync::Arc;

use opentelemetry::trace::TraceId;
use tonic::{Code, Status, metadata::MetadataMap};

use crate::{
    evaluator::EvaluateError,
    trace::{Span, Trace, Tracing},
};

/// The one method that is traced, as spans and metrics call it.
pub(crate) const METHOD: &str = "evaluator.FunctionEvaluator/EvaluateFunction";

/// A call that is being served. One that is dropped before it has an outcome was
/// abandoned by its caller.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) span: Span,
    trace_id: Option<TraceId>,
    has_ended: bool,
}

impl Served {
    pub(crate) fn begin(tracing: &Arc<Tracing>, metadata: &MetadataMap) -> (Trace, Self) {
        let (trace, mut span) = tracing.serve(METHOD, metadata);
        describe(&mut span);
        let trace_id = trace.id();
        let served = Self {
            span,
            trace_id,
            has_ended: false,
        };
        (trace, served)
    }

    /// The number under which the call is found elsewhere.
    pub(crate) fn trace_id(&self) -> Option<String> {
        self.trace_id.map(|id| id.to_string())
    }

    pub(crate) fn succeeded(&mut self, answered_by: Option<String>) {
        if let Some(answered_by) = answered_by {
            self.span.set("krm.function.answered_by", answered_by);
        }
        self.end(Code::Ok, "OK");
    }

    /// What the caller hears of the error.
    pub(crate) fn failed(&mut self, error: EvaluateError) -> Status {
        if let Some(answered_by) = error.answered_by().filter(|_| self.span.is_recorded()) {
            self.span
                .set("krm.function.answered_by", answered_by.to_owned());
        }
        self.end(error.code(), error.reason());
        error.into_status(self.trace_id)
    }

    fn end(&mut self, code: Code, outcome: &'static str) {
        self.has_ended = true;
        self.span.set("rpc.response.status_code", name(code));
        self.span.set("krm.function.outcome", outcome);
        if is_our_fault(code) {
            // Not the error's own words: they may repeat what a function wrote.
            self.span.fail(outcome);
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(Code::Cancelled, "CANCELLED");
        }
    }
}

/// What every span of the method says, a server's as well as a client's.
pub(crate) fn describe(span: &mut Span) {
    span.set("rpc.system.name", "grpc");
    span.set("rpc.method", METHOD);
}

/// Whether a server's span with this code counts as an error, by OpenTelemetry's
/// conventions for gRPC: what the caller did wrong is not the server's error.
fn is_our_fault(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

/// A code as the wire's documents spell it.
pub(crate) fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
