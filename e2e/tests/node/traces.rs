//! What calls in pods leave in traces, as the real OpenTelemetry Collector gets them.

use std::time::Duration;

use acceptance::{LIST, evaluate};
use anyhow::{Context, Result, ensure};
use e2e::runner::{Runner, publish, script};
use e2e::{pod, scenario};
use interop::{Collector, array, attribute};
use kube::ResourceExt as _;
use proto::EvaluateFunctionRequest;
use serde_json::Value;
use tonic::Request;

const METHOD: &str = "evaluator.FunctionEvaluator/EvaluateFunction";
/// Two callers that trace, each below a span of its own.
const CALLERS: [(&str, &str); 2] = [
    ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"),
    ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"),
];
const SERVER: u64 = 2;
const CLIENT: u64 = 3;

/// A call by somebody who traces.
async fn traced(runner: &Runner, image: &str, (trace, span): (&str, &str)) -> Result<()> {
    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: image.to_owned(),
        tag: String::new(),
    });
    request.set_timeout(Duration::from_secs(60));
    let parent = format!("00-{trace}-{span}-01");
    request
        .metadata_mut()
        .insert("traceparent", parent.parse()?);
    let answer = evaluate(runner.server.connect().await, request).await?;
    ensure!(answer.resource_list == LIST, "another list came back");
    Ok(())
}

/// The one span of a trace with this name and kind (0: any).
fn span<'a>(spans: &'a [Value], trace: &str, name: &str, kind: u64) -> Result<&'a Value> {
    let is_it = |span: &&Value| {
        let is_kind = kind == 0 || span["kind"] == kind;
        span["traceId"] == trace && span["name"] == name && is_kind
    };
    let found: Vec<&Value> = spans.iter().filter(is_it).collect();
    ensure!(found.len() == 1, "{name:?} of {trace}: {found:#?}");
    Ok(found[0])
}

#[test]
fn the_trace_of_a_cold_call_tells_its_start_and_who_else_waited_points_to_it() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let collector = Collector::start();
        let runner = Runner::setup(scope, &["--max-parallel-pods-per-function=1"])
            .with_variable("OTEL_TRACES_EXPORTER", "otlp")
            .with_variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.http())
            .start()?;
        let (first, second) = futures::join!(
            traced(&runner, &image, CALLERS[0]),
            traced(&runner, &image, CALLERS[1]),
        );
        first.and(second)?;
        let pod = scope.only_pod().await?.name_any();
        // The wrapper answers before the kubelet says that it runs, and has no log until then.
        scope.pod_becomes(&pod, "running", pod::is_running).await?;
        for (trace, _) in CALLERS {
            runner.logs(trace, Duration::from_secs(1)).await?;
            let log = scope.pod_log(&pod).await?;
            ensure!(
                log.contains(trace),
                "the wrapper's log lacks {trace}: {log}"
            );
        }
        // What has not been sent is sent at the end.
        runner.stop()?;
        let spans: Vec<Value> = collector
            .spans()
            .into_iter()
            .map(|(span, _)| span)
            .collect();

        let is_start = |span: &&Value| span["name"] == "pod start";
        let start = spans.iter().find(is_start).context("no start")?;
        ensure!(
            attribute(start, "k8s.pod.name") == pod.as_str(),
            "{start:#}"
        );
        let (mut causes, mut waits) = (0, 0);
        for (trace, caller) in CALLERS {
            let call = span(&spans, trace, METHOD, SERVER)?;
            ensure!(call["parentSpanId"] == caller, "{call:#}");
            ensure!(attribute(call, "krm.function.runtime") == "pod", "{call:#}");
            let digest = attribute(call, "krm.function.digest").as_str();
            ensure!(
                digest.is_some_and(|digest| digest.starts_with("sha256:")),
                "{call:#}"
            );
            let queue = span(&spans, trace, "queue", 0)?;
            ensure!(queue["parentSpanId"] == call["spanId"], "{queue:#}");
            let client = span(&spans, trace, METHOD, CLIENT)?;
            ensure!(client["parentSpanId"] == call["spanId"], "{client:#}");
            if start["traceId"] == trace {
                causes += 1;
                ensure!(start["parentSpanId"] == queue["spanId"], "{start:#}");
                for phase in [
                    "image metadata",
                    "creating the objects",
                    "the wrapper's answer",
                ] {
                    let phase = span(&spans, trace, phase, 0)?;
                    ensure!(phase["parentSpanId"] == start["spanId"], "{phase:#}");
                }
            } else {
                let is_to_start = |link: &Value| link["spanId"] == start["spanId"];
                ensure!(array(&queue["links"]).iter().any(is_to_start), "{queue:#}");
                waits += 1;
            }
        }
        ensure!((causes, waits) == (1, 1), "{causes} causes, {waits} wait");
        Ok(())
    });
}
