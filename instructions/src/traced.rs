//! Calls through the service to a native function, with and without tracing. The wire is left out, so
//! tracing looks more expensive here than it is.

use std::{hint::black_box, sync::Arc, time::Duration};

use functions::{Clock, catalog};
use krm::Output;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use proto::{EvaluateFunctionRequest, function_evaluator_server::FunctionEvaluator as _};
use service::{
    EvaluateError, Evaluation, Evaluator, Handler, Tracing,
    trace::{BoxedTracer, Part},
};
use tonic::Request;

use crate::Workload;

pub(crate) const WORKLOADS: &[Workload] = &[
    ("calls-untraced", |rounds| {
        calls(rounds, Arc::new(Tracing::default()), 0);
    }),
    ("calls-traced-1-percent", |rounds| {
        calls(rounds, tracing(), 1);
    }),
];

/// Calls per round.
const CALLS: usize = 100;

/// Runs a function as the runner does, on this thread.
struct Native;

#[tonic::async_trait]
impl Evaluator for Native {
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let mut part = Part::waits(&evaluation.notes, &evaluation.trace);
        part.runs(|trace| trace.span("native function"));
        let function = catalog::find("set-namespace").unwrap();
        let clock = Clock::until(std::time::Instant::now() + Duration::from_secs(60));
        let ended = function.run(evaluation.resource_list, &clock);
        let Ok(ended) = ended else { panic!("in time") };
        Ok(Output {
            resource_list: ended.stdout.into(),
            log: ended.stderr.into(),
            errors: Vec::new(),
            answered_by: None,
        })
    }
}

/// Sends nothing anywhere.
#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        black_box(batch);
        Ok(())
    }
}

fn tracing() -> Arc<Tracing> {
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(Nowhere)
        .build();
    Arc::new(Tracing {
        tracer: Some(BoxedTracer::new(Box::new(provider.tracer("instructions")))),
        ..Tracing::default()
    })
}

/// So many of a hundred calls are sampled: their callers say so.
fn calls(rounds: usize, tracing: Arc<Tracing>, sampled: usize) {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings\n  data: {key: value}\n";
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{}functionConfig:\n  apiVersion: v1\n  kind: \
         ConfigMap\n  metadata: {{name: c}}\n  data: {{namespace: n}}\n",
        item.repeat(10)
    );
    let handler = Handler::new(Native, Duration::from_secs(60)).with_tracing(tracing);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for call in 0..rounds * CALLS {
            let mut request = Request::new(EvaluateFunctionRequest {
                resource_list: list.clone().into(),
                image: "example.com/set-namespace:v0.4.1".into(),
                tag: String::new(),
            });
            let flag = u8::from(call % CALLS < sampled);
            let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flag:02}");
            let parent = parent.parse().unwrap();
            request.metadata_mut().insert("traceparent", parent);
            black_box(handler.evaluate_function(request).await.unwrap());
        }
    });
}
