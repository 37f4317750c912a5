//! The span of a call that is being served, from its beginning to its outcome.

use std::sync::Arc;

use opentelemetry::trace::TraceId;
use tonic::{Code, Status, metadata::MetadataMap};

use crate::{
    evaluator::EvaluateError,
    notes::Noted,
    trace::{Span, Trace, Tracing, rpc},
};

/// A call that is being served. One that is dropped before it has an outcome was
/// abandoned by its caller.
#[derive(Debug)]
pub(crate) struct Served {
    span: Span,
    trace_id: Option<TraceId>,
    has_ended: bool,
}

impl Served {
    pub(crate) fn begin(tracing: &Arc<Tracing>, metadata: &MetadataMap) -> (Trace, Self) {
        let (trace, span) = tracing.serve(metadata);
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

    /// What the caller asked for.
    pub(crate) fn is_about(&mut self, image: &str) {
        if self.span.is_recorded() {
            self.span.set("krm.function.image", image.to_owned());
        }
    }

    /// What the runtimes know about the call.
    pub(crate) fn noted(&mut self, noted: &Noted) {
        if !self.span.is_recorded() {
            return;
        }
        if let Some(runtime) = noted.runtime {
            self.span.set("krm.function.runtime", runtime.name());
        }
        if let Some(pod) = &noted.pod {
            self.span.set("k8s.pod.name", pod.to_string());
        }
        if let Some(digest) = &noted.digest {
            self.span.set("krm.function.digest", digest.to_string());
        }
        if noted.retries > 0 {
            self.span.set("krm.call.retries", i64::from(noted.retries));
        }
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
        self.span.set("rpc.response.status_code", rpc::name(code));
        self.span.set("krm.function.outcome", outcome);
        if rpc::is_our_fault(code) {
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
