//! Where a call stands in a trace, and the spans that it leaves there.
//!
//! Spans are made with OpenTelemetry's API and exported by the server that has a tracer: the
//! runner has one, if its environment asks for it, and the wrapper server never has. Without
//! a tracer, or for a call that is not sampled, a [`Span`] is nothing: it takes no memory
//! and no time. A trace that the caller has begun is passed on in either case.

mod part;
mod propagate;
pub(crate) mod rpc;

use std::{fmt, sync::Arc, time::SystemTime};

pub use opentelemetry::trace::SpanContext;
use opentelemetry::{
    Context, KeyValue, Value,
    global::BoxedSpan,
    trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, TraceId, Tracer as _},
};
pub use opentelemetry::{
    global::{BoxedTracer, ObjectSafeTracer},
    trace::TraceFlags,
};
pub use part::Part;
pub use propagate::Propagators;
use rpc::METHOD;
use tonic::{Code, metadata::MetadataMap};

/// What a server needs to take part in traces.
#[derive(Debug, Default)]
pub struct Tracing {
    /// Makes the spans; without it there are none.
    pub tracer: Option<BoxedTracer>,
    pub propagators: Propagators,
}

/// A place in a trace: what is done there becomes its child. Empty if nobody traces.
#[derive(Clone)]
pub struct Trace {
    tracing: Option<Arc<Tracing>>,
    context: SpanContext,
    /// The caller's baggage, which is passed on as it is.
    baggage: Option<Arc<str>>,
    is_recorded: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            tracing: None,
            context: SpanContext::empty_context(),
            baggage: None,
            is_recorded: false,
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trace").field(&self.traceparent()).finish()
    }
}

impl Tracing {
    /// Begins the span of a call, below the caller's if it sent one.
    pub(crate) fn serve(self: &Arc<Self>, metadata: &MetadataMap) -> (Trace, Span) {
        let mut trace = self.propagators.extract(metadata);
        trace.tracing = Some(Arc::clone(self));
        let span = trace.begin(SpanBuilder::from_name(METHOD).with_kind(SpanKind::Server));
        let Some(span) = span else {
            return (trace, Span::default());
        };
        // Also one that is not recorded has a number, under which the log knows the call.
        trace.context = span.span_context().clone();
        trace.is_recorded = span.is_recording();
        let span = trace.is_recorded.then(|| Recorded::new(span, &trace));
        let mut span = Span(span);
        span.describe();
        (trace, span)
    }

    /// Begins a trace for something that no call has asked for.
    pub fn unasked(self: &Arc<Self>, name: &'static str) -> Span {
        let trace = Trace {
            tracing: Some(Arc::clone(self)),
            ..Trace::default()
        };
        let span = trace.begin(SpanBuilder::from_name(name));
        let span = span.filter(BoxedSpan::is_recording);
        Span(span.map(|span| Recorded::new(span, &trace)))
    }
}

impl Trace {
    /// The trace's number, if there is a trace.
    pub fn id(&self) -> Option<TraceId> {
        self.context.is_valid().then(|| self.context.trace_id())
    }

    /// Something that is done here, from now on.
    pub fn span(&self, name: &'static str) -> Span {
        self.child(|| SpanBuilder::from_name(name))
    }

    /// The same, since an earlier moment.
    pub fn span_since(&self, name: &'static str, began: SystemTime) -> Span {
        self.child(|| SpanBuilder::from_name(name).with_start_time(began))
    }

    /// A call of another server's evaluator.
    pub fn call(&self) -> Span {
        let mut span = self.child(|| SpanBuilder::from_name(METHOD).with_kind(SpanKind::Client));
        span.describe();
        span
    }

    /// The header by which the trace goes on elsewhere, in W3C's form.
    pub fn traceparent(&self) -> Option<String> {
        let is_valid = self.context.is_valid();
        is_valid.then(|| propagate::traceparent(&self.context))
    }

    /// Tells another server where it is called from.
    pub fn inject(&self, metadata: &mut MetadataMap) {
        if let Some(tracing) = &self.tracing {
            tracing.propagators.inject(self, metadata);
        }
    }

    fn child(&self, builder: impl FnOnce() -> SpanBuilder) -> Span {
        let span = self.is_recorded.then(|| self.begin(builder())).flatten();
        Span(span.map(|span| Recorded::new(span, self)))
    }

    fn begin(&self, builder: SpanBuilder) -> Option<BoxedSpan> {
        let tracer = self.tracing.as_ref()?.tracer.as_ref()?;
        let parent = if self.context.is_valid() {
            Context::new().with_remote_span_context(self.context.clone())
        } else {
            Context::new()
        };
        Some(tracer.build_with_context(builder, &parent))
    }
}

/// Something that is being done, if it is recorded. It ends when this is dropped.
#[derive(Debug, Default)]
pub struct Span(Option<Box<Recorded>>);

#[derive(Debug)]
struct Recorded {
    span: BoxedSpan,
    /// What is done within.
    within: Trace,
}

impl Recorded {
    fn new(span: BoxedSpan, outer: &Trace) -> Box<Self> {
        let within = Trace {
            context: span.span_context().clone(),
            is_recorded: true,
            ..outer.clone()
        };
        Box::new(Self { span, within })
    }
}

impl Span {
    pub fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// The place for what is done within it; if it is not recorded, that is `outer`.
    pub fn within<'a>(&'a self, outer: &'a Trace) -> &'a Trace {
        self.0.as_ref().map_or(outer, |recorded| &recorded.within)
    }

    /// What others can link to.
    pub fn context(&self) -> Option<&SpanContext> {
        let recorded = self.0.as_ref()?;
        Some(recorded.span.span_context())
    }

    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(recorded) = &mut self.0 {
            recorded.span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// It did not succeed. `reason` holds nothing that a function wrote.
    pub fn fail(&mut self, reason: impl Into<std::borrow::Cow<'static, str>>) {
        if let Some(recorded) = &mut self.0 {
            recorded.span.set_status(Status::error(reason));
        }
    }

    /// It waited for something, which may be part of another trace: then it points there.
    pub fn link_elsewhere(&mut self, to: &SpanContext) {
        if let Some(recorded) = &mut self.0
            && recorded.within.context.trace_id() != to.trace_id()
        {
            recorded.span.add_link(to.clone(), Vec::new());
        }
    }

    /// The other server has answered.
    pub fn answered(&mut self, code: Code) {
        self.set("rpc.response.status_code", rpc::name(code));
        if code != Code::Ok {
            self.fail(rpc::name(code));
        }
    }

    fn describe(&mut self) {
        self.set("rpc.system.name", "grpc");
        self.set("rpc.method", METHOD);
    }

    /// It ended at an earlier moment.
    pub fn end_at(self, at: SystemTime) {
        if let Some(mut recorded) = self.0 {
            recorded.span.end_with_timestamp(at);
        }
    }
}

#[cfg(test)]
mod tests;
