//! Where finished spans go: to a collector, or to standard output.

use std::{
    io::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

use opentelemetry::trace::Status;
use opentelemetry_proto::{
    tonic::collector::trace::v1::ExportTraceServiceRequest,
    transform::{
        common::tonic::ResourceAttributesWithSchema,
        trace::tonic::group_spans_by_resource_and_scope,
    },
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{SpanData, SpanExporter},
};
use serde_json::{Map, Value, json};

use crate::{outage::Collector, send::Payload};

/// Sends spans to a collector.
#[derive(Debug)]
pub(crate) struct ToCollector {
    collector: Collector,
    resource: ResourceAttributesWithSchema,
}

impl ToCollector {
    pub(crate) fn new(collector: Collector) -> Self {
        Self {
            collector,
            resource: ResourceAttributesWithSchema::default(),
        }
    }
}

impl SpanExporter for ToCollector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let message = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let sent = self.collector.send(Payload::Traces(message)).await;
        sent.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

/// Prints spans, one line of JSON each.
#[derive(Debug)]
pub(crate) struct Console;

impl SpanExporter for Console {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut out = std::io::stdout().lock();
        for span in &batch {
            // Nobody listens any more: then there is nobody to tell that, either.
            let _ = writeln!(out, "{}", line(span));
        }
        let _ = out.flush();
        Ok(())
    }
}

fn line(span: &SpanData) -> Value {
    let attributes: Map<String, Value> = span
        .attributes
        .iter()
        .map(|entry| (entry.key.to_string(), entry.value.as_str().into()))
        .collect();
    let links = span.links.iter();
    let links = links.map(|link| link.span_context.span_id().to_string());
    let status = match &span.status {
        Status::Unset => Value::Null,
        Status::Ok => "ok".into(),
        Status::Error { description } => format!("error: {description}").into(),
    };
    json!({
        "trace_id": span.span_context.trace_id().to_string(),
        "span_id": span.span_context.span_id().to_string(),
        "parent_span_id": span.parent_span_id.to_string(),
        "name": span.name,
        "kind": format!("{:?}", span.span_kind).to_lowercase(),
        "start_unix_nano": nanoseconds(span.start_time),
        "end_unix_nano": nanoseconds(span.end_time),
        "attributes": attributes,
        "links": links.collect::<Vec<_>>(),
        "status": status,
    })
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
