//! The real OpenTelemetry Collector hears of calls, by both protocols.

use std::fs;

use acceptance::{LIST, Server, image, system::wait_until};
use interop::{Collector, attribute, porch_client};
use serde_json::Value;

const METHOD: &str = "evaluator.FunctionEvaluator/EvaluateFunction";

#[test]
fn a_collector_gets_the_trace_of_a_bundled_and_an_exec_call_by_either_protocol() {
    for protocol in ["http/protobuf", "grpc"] {
        let collector = Collector::start();
        let endpoint = match protocol {
            "grpc" => collector.grpc(),
            _ => collector.http(),
        };
        let mut server = Server::runner_with(
            &[
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
                ("OTEL_SERVICE_NAME", "porch-function-runner"),
                ("POD_NAME", "runner-0"),
                ("POD_NAMESPACE", "porch-fn-system"),
            ],
            &["--lame-duck=0s"],
        );
        let file = server.folder.path().join("list.yaml");
        fs::write(&file, LIST).unwrap();
        let file = file.to_str().unwrap();
        let bundled = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1";
        let config = LIST.to_owned()
            + "functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: n}}\n";
        let configured = server.folder.path().join("configured.yaml");
        fs::write(&configured, config).unwrap();
        let answer = porch_client(&server, &["call", bundled, configured.to_str().unwrap()]);
        assert_eq!(answer.code, "OK", "{answer:?}");
        let answer = porch_client(&server, &["call", &image("echo"), file]);
        assert_eq!(answer.code, "OK", "{answer:?}");
        // What has not been sent is sent at the end.
        server.terminate();
        assert!(server.wait().success(), "{}", server.log());
        wait_until("two calls of three spans each", || {
            match collector.spans().len() {
                6 => Ok(()),
                count => Err(format!("{count} spans\n{}", server.log())),
            }
        });
        let spans = collector.spans();
        for (runtime, part) in [("bundled", "native function"), ("exec", "process")] {
            let of_runtime = |span: &Value| attribute(span, "krm.function.runtime") == runtime;
            let (call, sender) = spans.iter().find(|(span, _)| of_runtime(span)).unwrap();
            assert_eq!(call["name"], METHOD);
            assert_eq!(call["kind"], 2, "a server's: {call}");
            assert_eq!(attribute(call, "krm.function.outcome"), "OK");
            for (name, expected) in [
                ("service.name", "porch-function-runner"),
                ("service.version", env!("CARGO_PKG_VERSION")),
                ("k8s.pod.name", "runner-0"),
                ("k8s.namespace.name", "porch-fn-system"),
            ] {
                assert_eq!(attribute(sender, name), expected, "{sender}");
            }
            for name in ["queue", part] {
                let is_child = |span: &Value| {
                    span["name"] == name
                        && span["parentSpanId"] == call["spanId"]
                        && span["traceId"] == call["traceId"]
                };
                let count = spans.iter().filter(|(span, _)| is_child(span)).count();
                assert_eq!(count, 1, "{name} of {runtime} by {protocol}: {spans:#?}");
            }
        }
    }
}
