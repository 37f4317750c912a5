use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn tracing(sampler: Sampler) -> (Arc<Tracing>, InMemorySpanExporter) {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_sampler(sampler)
        .with_simple_exporter(exporter.clone())
        .build();
    let tracer = BoxedTracer::new(Box::new(provider.tracer("test")));
    let tracing = Tracing {
        tracer: Some(tracer),
        ..Tracing::default()
    };
    (Arc::new(tracing), exporter)
}

fn from_caller() -> MetadataMap {
    let mut metadata = MetadataMap::new();
    metadata.insert("traceparent", PARENT.parse().unwrap());
    metadata
}

fn named(spans: &[SpanData], name: &str) -> SpanData {
    spans.iter().find(|span| span.name == name).unwrap().clone()
}

fn of_kind(spans: &[SpanData], kind: &SpanKind) -> SpanData {
    let mut found = spans.iter().filter(|span| span.span_kind == *kind);
    found.next().unwrap().clone()
}

#[test]
fn spans_are_children_of_each_other_and_of_the_caller() {
    let (tracing, exporter) = tracing(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)));
    let (trace, served) = tracing.serve(&from_caller());
    let inner = trace.span("inner");
    let call = inner.within(&trace).call();
    let mut sent = MetadataMap::new();
    call.within(&trace).inject(&mut sent);
    drop((call, inner, served));
    let spans = exporter.get_finished_spans().unwrap();
    let server = of_kind(&spans, &SpanKind::Server);
    assert_eq!(server.name, METHOD);
    assert_eq!(server.parent_span_id.to_string(), "00f067aa0ba902b7");
    assert!(server.parent_span_is_remote);
    let inner = named(&spans, "inner");
    assert_eq!(inner.parent_span_id, server.span_context.span_id());
    let client = of_kind(&spans, &SpanKind::Client);
    assert_eq!(client.parent_span_id, inner.span_context.span_id());
    let (trace_id, span_id) = (
        client.span_context.trace_id(),
        client.span_context.span_id(),
    );
    let sent = sent.get("traceparent").unwrap().to_str().unwrap();
    assert_eq!(sent, format!("00-{trace_id}-{span_id}-01"));
    assert!(PARENT.contains(&trace_id.to_string()));
}

#[test]
fn a_call_that_is_not_sampled_leaves_no_span_but_has_a_number() {
    let (tracing, exporter) = tracing(Sampler::AlwaysOff);
    let (trace, served) = tracing.serve(&MetadataMap::new());
    let inner = trace.span("inner");
    assert!(!served.is_recorded() && !inner.is_recorded());
    assert!(trace.id().is_some());
    let mut sent = MetadataMap::new();
    inner.within(&trace).inject(&mut sent);
    let sent = sent.get("traceparent").unwrap().to_str().unwrap();
    assert!(
        sent.ends_with("-00"),
        "whoever comes after decides the same: {sent}"
    );
    drop((inner, served));
    assert!(exporter.get_finished_spans().unwrap().is_empty());
}

#[test]
fn without_a_tracer_the_callers_trace_is_passed_on_as_it_is() {
    let tracing = Arc::new(Tracing::default());
    let (trace, served) = tracing.serve(&from_caller());
    assert!(!served.is_recorded());
    let mut sent = MetadataMap::new();
    trace.inject(&mut sent);
    assert_eq!(sent.get("traceparent").unwrap(), PARENT);
    let (nothing, _) = tracing.serve(&MetadataMap::new());
    assert_eq!(nothing.id(), None);
}

#[test]
fn what_waits_for_something_elsewhere_links_to_it() {
    let (tracing, exporter) = tracing(Sampler::AlwaysOn);
    let start = tracing.unasked("pod start");
    let (trace, served) = tracing.serve(&MetadataMap::new());
    let mut wait = trace.span("wait");
    wait.link_elsewhere(start.context().unwrap());
    drop((wait, served, start));
    let spans = exporter.get_finished_spans().unwrap();
    let (wait, start) = (named(&spans, "wait"), named(&spans, "pod start"));
    assert_eq!(wait.links[0].span_context, start.span_context);
    assert_ne!(wait.span_context.trace_id(), start.span_context.trace_id());
}
