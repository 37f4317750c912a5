//! What a call leaves in a trace and in the log, by OpenTelemetry's standard variables.

use std::{fs, net::TcpListener, time::Instant};

use acceptance::{LIST, Server, call, evaluate};
use proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use serde_json::Value;
use tonic::{Request, Status};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
const METHOD: &str = "evaluator.FunctionEvaluator/EvaluateFunction";
const CONSOLE: &[(&str, &str)] = &[("OTEL_TRACES_EXPORTER", "console")];

/// A call by somebody who traces.
async fn traced(
    server: &Server,
    request: EvaluateFunctionRequest,
) -> Result<EvaluateFunctionResponse, Status> {
    let mut request = Request::new(request);
    let parent = format!("00-{TRACE}-{CALLER}-01");
    request
        .metadata_mut()
        .insert("traceparent", parent.parse().unwrap());
    evaluate(server.connect().await, request).await
}

/// The spans of a server that has ended: sent at the latest then.
fn spans(mut server: Server) -> Vec<Value> {
    server.terminate();
    assert!(server.wait().success(), "{}", server.log());
    let text = fs::read_to_string(server.folder.path().join("stdout")).unwrap();
    let spans = text.lines().map(|line| serde_json::from_str(line).unwrap());
    spans.collect()
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("no {name:?} in {spans:#?}"))
}

#[tokio::test]
async fn a_trace_tells_what_a_bundled_call_did() {
    let server = Server::runner_with(CONSOLE, &["--lame-duck=0s"]);
    let image = "ghcr.io/kptdev/krm-functions-catalog/remove-local-config-resources:v0.1.0";
    let request = EvaluateFunctionRequest {
        image: image.into(),
        ..call("", LIST)
    };
    traced(&server, request).await.unwrap();
    let line = server.wait_for_log("evaluated");
    for fact in ["runtime=\"bundled\"", "queue_wait=", "run_time=", TRACE] {
        assert!(line.contains(fact), "{line}");
    }
    let spans = spans(server);
    let call = named(&spans, METHOD);
    assert_eq!(call["kind"], "server");
    assert_eq!(call["trace_id"], TRACE);
    assert_eq!(call["parent_span_id"], CALLER);
    let attributes = &call["attributes"];
    assert_eq!(attributes["krm.function.image"], image);
    assert_eq!(attributes["krm.function.runtime"], "bundled");
    assert_eq!(attributes["krm.function.outcome"], "OK");
    assert_eq!(attributes["rpc.response.status_code"], "OK");
    for child in ["queue", "native function"] {
        let child = named(&spans, child);
        assert_eq!(child["parent_span_id"], call["span_id"]);
        assert_eq!(child["trace_id"], TRACE);
    }
    assert_eq!(spans.len(), 3, "{spans:#?}");
}

#[tokio::test]
async fn a_process_that_is_started_for_a_call_hears_of_its_trace() {
    let args = ["--lame-duck=0s", "--started-ahead=0"];
    let server = Server::runner_with(CONSOLE, &args);
    let answer = traced(&server, call("shows-trace", LIST)).await.unwrap();
    let told = String::from_utf8(answer.resource_list.to_vec()).unwrap();
    let line = server.wait_for_log("evaluated");
    assert!(line.contains("runtime=\"exec\""), "{line}");
    let spans = spans(server);
    let process = named(&spans, "process");
    let id = process["span_id"].as_str().unwrap();
    assert!(told.contains(&format!("00-{TRACE}-{id}-01")), "{told}");
    assert_eq!(process["parent_span_id"], named(&spans, METHOD)["span_id"]);
    assert_eq!(process["attributes"]["krm.process.started_ahead"], "false");
}

#[tokio::test]
async fn errors_end_with_the_trace_and_spans_say_how_it_ended() {
    let server = Server::runner_with(CONSOLE, &["--lame-duck=0s"]);
    let failed = traced(&server, call("fails-with-text", LIST)).await;
    let failed = failed.unwrap_err();
    let end = format!("\n(trace {TRACE})");
    assert!(failed.message().ends_with(&end), "{}", failed.message());
    let unknown = traced(&server, call("unknown", LIST)).await.unwrap_err();
    assert!(unknown.message().ends_with(&end), "{}", unknown.message());
    let untraced = evaluate(server.connect().await, call("unknown", LIST));
    let untraced = untraced.await.unwrap_err();
    // It has a number, too: its own.
    assert!(untraced.message().contains("\n(trace "));
    assert!(!untraced.message().contains(TRACE));
    let spans = spans(server);
    let outcomes: Vec<_> = spans
        .iter()
        .filter(|span| span["name"] == METHOD)
        .map(|span| {
            let outcome = span["attributes"]["krm.function.outcome"].as_str();
            (outcome.unwrap(), span["status"].as_str())
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            ("FUNCTION_FAILED", Some("error: FUNCTION_FAILED")),
            ("FUNCTION_NOT_FOUND", None),
            ("FUNCTION_NOT_FOUND", None),
        ]
    );
}

#[tokio::test]
async fn a_wrapper_passes_the_trace_to_its_log_its_errors_and_its_function() {
    let server = Server::wrapper_with(&["--started-ahead=0"], "shows-trace");
    let answer = traced(&server, call("shows-trace", LIST)).await.unwrap();
    let told = String::from_utf8(answer.resource_list.to_vec()).unwrap();
    assert!(told.contains(&format!("00-{TRACE}-{CALLER}-01")), "{told}");
    let line = server.wait_for_log("evaluated");
    assert!(line.contains(TRACE), "{line}");
    let server = Server::wrapper("fails-with-text");
    let failed = traced(&server, call("fails-with-text", LIST)).await;
    let message = failed.unwrap_err().message().to_owned();
    assert!(message.ends_with(&format!("(trace {TRACE})")), "{message}");
}

#[tokio::test]
async fn a_collector_that_is_away_is_reported_once_and_holds_nothing_up() {
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let mut server = Server::runner_with(
        &[
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ],
        &["--lame-duck=0s"],
    );
    let channel = server.connect().await;
    let warning = "no traces reach the collector";
    evaluate(channel.clone(), call("echo", LIST)).await.unwrap();
    server.wait_for_log(warning);
    for _ in 0..20 {
        evaluate(channel.clone(), call("echo", LIST)).await.unwrap();
    }
    let begin = Instant::now();
    server.interrupt();
    assert!(server.wait().success());
    // The drain has nothing to wait for, and the flush has two seconds.
    assert!(begin.elapsed().as_secs() < 15, "{:?}", begin.elapsed());
    let log = server.log();
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    assert!(log.contains(&endpoint), "{log}");
}

#[tokio::test]
async fn text_and_json_tell_the_same() {
    let server = Server::runner_with(&[], &["--log-format=json"]);
    traced(&server, call("echo", LIST)).await.unwrap();
    let line: Value = serde_json::from_str(&server.wait_for_log("evaluated")).unwrap();
    assert_eq!(line["runtime"], "exec");
    assert_eq!(line["trace_id"], TRACE);
    for time in ["took", "queue_wait", "run_time"] {
        assert!(line[time].is_string(), "{line}");
    }
}
