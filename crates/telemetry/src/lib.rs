//! Exports traces and metrics by OpenTelemetry's protocol, as its standard environment
//! variables say. Without these variables nothing is exported and nothing of this runs.
//!
//! ```text
//! environment ─► settings ─► tracer ─► spans (batches, on a thread) ─► outage ─► send
//!                   └── destination: endpoint, protocol, headers, TLS ──────────────┘
//! ```
//! While a collector is away, a bounded queue fills, and one line is logged. The code that
//! does the work makes the spans, with [`service::trace`].

mod destination;
pub mod metrics;
mod outage;
mod send;
mod settings;
mod spans;

use std::{env, sync::Arc, time::Duration};

use destination::{Destination, Signal};
use metrics::{Counts, Push};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::{
    Resource,
    resource::TelemetryResourceDetector,
    trace::{BatchSpanProcessor, SdkTracerProvider},
};
use outage::Collector;
use send::Sender;
use service::{Tracing, trace::BoxedTracer};
pub use settings::Identity;
use settings::{Export, Settings};
use spans::{Console, ToCollector};

/// What exports, until the end of the process.
#[derive(Debug)]
pub struct Telemetry {
    tracing: Arc<Tracing>,
    provider: Option<SdkTracerProvider>,
    push: Option<Arc<Push>>,
}

impl Telemetry {
    /// As the environment says; metrics, if they are pushed, are taken from `counts`.
    /// Must be called on a runtime.
    pub fn from_environment(identity: &Identity, counts: Option<Counts>) -> Self {
        let environment = |name: &str| env::var(name).ok();
        Self::new(Settings::read(identity, environment), counts)
    }

    fn new(settings: Settings, counts: Option<Counts>) -> Self {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let push = counts.and_then(|counts| {
            push(
                settings.metrics,
                settings.metrics_every,
                &settings.resource,
                counts,
            )
        });
        let provider = provider(settings.traces, settings.resource);
        let tracer = provider.as_ref().map(|provider| {
            let tracer = provider.tracer("function-runner");
            BoxedTracer::new(Box::new(tracer))
        });
        let tracing = Tracing {
            tracer,
            propagators: settings.propagators,
        };
        Self {
            tracing: Arc::new(tracing),
            provider,
            push: push.map(Arc::new),
        }
    }

    /// For the code that makes spans.
    pub fn tracing(&self) -> Arc<Tracing> {
        Arc::clone(&self.tracing)
    }

    /// The task that pushes metrics. It never ends.
    pub fn pushes_metrics(&self) -> impl Future<Output = ()> + use<> {
        metrics::keep(self.push.clone())
    }

    /// Sends what has not been sent yet. What takes longer is lost.
    pub async fn flush(self, within: Duration) {
        let spans = async {
            if let Some(provider) = self.provider {
                // It blocks; what it waits for goes on here.
                let flush = move || provider.shutdown_with_timeout(within);
                let _ = tokio::task::spawn_blocking(flush).await;
            }
        };
        let metrics = async {
            if let Some(push) = self.push {
                push.once().await;
            }
        };
        let both = async { tokio::join!(spans, metrics) };
        let _ = tokio::time::timeout(within, both).await;
    }
}

/// Makes the spans, if they go anywhere. The library reads the sampler from the
/// environment, and the bounds of spans and batches.
fn provider(
    exports: Vec<Export>,
    attributes: Vec<opentelemetry::KeyValue>,
) -> Option<SdkTracerProvider> {
    let mut builder = SdkTracerProvider::builder();
    let mut has_any = false;
    for export in exports {
        let processor = match export {
            Export::Console => BatchSpanProcessor::builder(Console).build(),
            Export::Collector(destination) => {
                let Some(collector) = collector(Signal::Traces, *destination) else {
                    continue;
                };
                BatchSpanProcessor::builder(ToCollector::new(collector)).build()
            }
        };
        builder = builder.with_span_processor(processor);
        has_any = true;
    }
    let resource = Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_attributes(attributes)
        .build();
    has_any.then(|| builder.with_resource(resource).build())
}

fn push(
    exports: Vec<Export>,
    every: Duration,
    resource: &[opentelemetry::KeyValue],
    counts: Counts,
) -> Option<Push> {
    let mut push = Push {
        collectors: Vec::new(),
        to_console: false,
        every,
        resource: resource.to_vec(),
        counts,
    };
    for export in exports {
        match export {
            Export::Console => push.to_console = true,
            Export::Collector(destination) => {
                push.collectors
                    .extend(collector(Signal::Metrics, *destination));
            }
        }
    }
    (push.to_console || !push.collectors.is_empty()).then_some(push)
}

fn collector(signal: Signal, destination: Destination) -> Option<Collector> {
    let certificate = destination.certificate.clone();
    match Sender::new(destination) {
        Ok(sender) => {
            let (name, destination) = (signal.name(), sender.destination());
            tracing::info!("{name} are exported to {destination}");
            Some(Collector::new(signal, sender))
        }
        Err(error) => {
            let (signal, file) = (signal.name(), certificate.unwrap_or_default());
            let file = file.display();
            tracing::warn!("no {signal} are exported: cannot use {file}: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests;
