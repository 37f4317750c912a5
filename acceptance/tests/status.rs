//! What can be seen of a running runner: metrics, the status page, and who may see them.

use std::process::{Command, Output};

use acceptance::{
    LIST, Server, call, evaluate,
    http1::{get, get_as},
    server::binary,
    system,
};
use proto::EvaluateFunctionRequest;
use serde_json::Value;

/// The value of the one series whose line begins like this.
fn series(metrics: &str, begin: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(begin))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

fn bundled(image: &str) -> EvaluateFunctionRequest {
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n\
                functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data: {a: b}\n";
    EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.into(),
        tag: String::new(),
    }
}

fn status(address: &str, args: &[&str]) -> Output {
    Command::new(binary("function-runner"))
        .args(["status", "--address", address])
        .args(args)
        .output()
        .unwrap()
}

#[tokio::test]
async fn every_call_is_counted_by_function_version_runtime_and_code() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    for _ in 0..3 {
        evaluate(channel.clone(), call("echo", LIST)).await.unwrap();
    }
    evaluate(channel.clone(), bundled("set-labels:v0.2.4"))
        .await
        .unwrap();
    evaluate(channel.clone(), call("fails-silently", LIST))
        .await
        .unwrap_err();
    evaluate(channel, call("there-is-none", LIST))
        .await
        .unwrap_err();
    let metrics = get(&server.status_address(), "/metrics");
    assert!(
        metrics.head.contains("text/plain; version=0.0.4"),
        "{}",
        metrics.head
    );
    let metrics = metrics.body;
    for (begin, expected) in [
        (
            "function_runner_evaluations_total{function=\"test/echo\",version=\"v1\",runtime=\"exec\",code=\"OK\"}",
            3.0,
        ),
        (
            "function_runner_evaluation_duration_seconds_count{function=\"test/echo\",version=\"v1\",runtime=\"exec\",code=\"OK\"}",
            3.0,
        ),
        (
            "function_runner_evaluations_total{function=\"ghcr.io/kptdev/krm-functions-catalog/set-labels\",version=\"v0.2.4\",runtime=\"bundled\",code=\"OK\"}",
            1.0,
        ),
        // Neither has succeeded yet.
        (
            "function_runner_evaluations_total{function=\"other\",version=\"\",runtime=\"exec\",code=\"INTERNAL\"}",
            1.0,
        ),
        (
            "function_runner_evaluations_total{function=\"other\",version=\"\",runtime=\"none\",code=\"NOT_FOUND\"}",
            1.0,
        ),
        (
            "rpc_server_call_duration_seconds_count{rpc_system_name=\"grpc\",rpc_method=\"evaluator.FunctionEvaluator/EvaluateFunction\",rpc_response_status_code=\"OK\"}",
            4.0,
        ),
        (
            "function_runner_list_size_bytes_count{direction=\"in\"}",
            6.0,
        ),
        (
            "function_runner_list_size_bytes_count{direction=\"out\"}",
            4.0,
        ),
        (
            "function_runner_build_info{program=\"function-runner\"",
            1.0,
        ),
    ] {
        assert_eq!(
            series(&metrics, begin),
            Some(expected),
            "{begin}:\n{metrics}"
        );
    }
    let starts = series(
        &metrics,
        "function_runner_process_starts_total{for=\"call\"}",
    )
    .unwrap();
    assert!(starts >= 2.0, "{starts}");
    for positive in [
        "process_memory_usage_bytes ",
        "process_threads ",
        "process_open_file_descriptors ",
        "function_runner_memory_budget_bytes{part=\"requests\"}",
        "function_runner_memory_budget_bytes{part=\"processes\"}",
    ] {
        assert!(series(&metrics, positive).unwrap() > 0.0, "{positive}");
    }
    assert!(!metrics.contains("a-secret-value"));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_under_way_are_seen_and_gone_afterwards_also_if_their_caller_leaves() {
    let server = Server::runner(&[]);
    let address = server.status_address();
    let channel = server.connect().await;
    let lasting = |seconds| call("takes-its-time", format!("{LIST}# seconds: {seconds}\n"));
    // Only what has succeeded once has a series of its own.
    evaluate(channel.clone(), lasting(0)).await.unwrap();
    let in_flight = || {
        let metrics = get(&address, "/metrics").body;
        let begin = "function_runner_evaluations_in_flight{function=\"test/takes-its-time\"";
        series(&metrics, begin).unwrap_or_default()
    };
    // They do not end by themselves while this test waits for anything.
    let calls: Vec<_> = (0..2)
        .map(|_| tokio::spawn(evaluate(channel.clone(), lasting(300))))
        .collect();
    tokio::task::block_in_place(|| {
        system::wait_until("calls under way", || match in_flight() {
            2.0 => Ok(()),
            other => Err(other.to_string()),
        });
    });
    for call in calls {
        call.abort();
    }
    tokio::task::block_in_place(|| {
        system::wait_until("no call under way", || match in_flight() {
            0.0 => Ok(()),
            other => Err(other.to_string()),
        });
    });
    let metrics = get(&address, "/metrics").body;
    let begin = "function_runner_evaluations_total{function=\"test/takes-its-time\",version=\"v1\",runtime=\"exec\",code=\"CANCELLED\"}";
    assert_eq!(series(&metrics, begin), Some(2.0), "{metrics}");
}

#[tokio::test]
async fn the_page_and_its_json_tell_what_happened_and_nothing_that_is_secret() {
    let server = Server::runner(&["--pod-ttl=5m"]);
    let channel = server.connect().await;
    evaluate(channel.clone(), call("echo", LIST)).await.unwrap();
    let secret = "kind: ResourceList\nitems: []\nfunctionConfig: {token: hunter2}\n";
    evaluate(channel.clone(), call("fails-with-results", secret))
        .await
        .unwrap_err();
    let hostile = EvaluateFunctionRequest {
        image: "<script>alert(1)</script>".into(),
        resource_list: LIST.into(),
        tag: String::new(),
    };
    evaluate(channel, hostile).await.unwrap_err();
    let address = server.status_address();
    let page = get(&address, "/");
    assert_eq!(page.status, 200);
    assert!(
        page.head
            .contains("content-security-policy: default-src 'none'"),
        "{}",
        page.head
    );
    for words in [
        "<span>echo</span>",
        "fails-with-results",
        "What to do",
        "--pod-ttl",
    ] {
        assert!(page.body.contains(words), "{words}: {}", page.body);
    }
    assert!(
        page.body.contains("&lt;script&gt;alert(1)"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
    let json = get(&address, "/status.json").body;
    let view: Value = serde_json::from_str(&json).unwrap();
    let calls: u64 = view["functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(calls, 3, "{json}");
    assert_eq!(view["failures"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(
        view["configuration"]["ignored"][0][0], "--pod-ttl",
        "{json}"
    );
    for text in [&page.body, &json] {
        for secret in ["hunter2", "a-secret-value", "a line of log"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    let shown = status(&address, &[]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success(), "{text}");
    for words in [
        "test/echo:v1",
        "LAST FAILURES",
        "what to do",
        "ignored: --pod-ttl",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let shown = status(&address, &["-o", "json"]);
    serde_json::from_slice::<Value>(&shown.stdout).unwrap();
}

#[test]
fn a_name_that_is_not_ours_is_refused_and_health_is_for_everybody() {
    let server = Server::runner(&[]);
    let address = server.status_address();
    for path in ["/", "/status.json", "/metrics", "/style.css"] {
        assert_eq!(get_as(&address, path, "evil.example").status, 403, "{path}");
        assert_eq!(get_as(&address, path, "localhost:1").status, 200, "{path}");
    }
    assert_eq!(get_as(&address, "/healthz", "evil.example").status, 200);
    assert_eq!(get(&address, "/elsewhere").status, 404);
}

#[test]
fn it_can_be_turned_off_and_a_taken_port_is_a_warning() {
    let off = Server::runner(&["--status=false"]);
    assert!(!off.log().contains("status page"), "{}", off.log());
    let refused = status("127.0.0.1:1", &[]);
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("is a runner there"), "{told}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = Command::new("env");
    // The last one counts.
    command.arg(format!("OTEL_EXPORTER_PROMETHEUS_PORT={port}"));
    command.arg(binary("function-runner"));
    command.args(["--port=0", "--disable-runtimes=pod"]);
    let server = Server::start(command, folder);
    let line = server.wait_for_log("no status page and no metrics");
    assert!(line.contains("OTEL_EXPORTER_PROMETHEUS_PORT"), "{line}");
}

#[tokio::test]
async fn the_wrapper_has_metrics_where_its_template_asks_for_them() {
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = Command::new("env");
    command.args([
        "OTEL_METRICS_EXPORTER=prometheus",
        "OTEL_EXPORTER_PROMETHEUS_HOST=127.0.0.1",
    ]);
    command.arg(format!("OTEL_EXPORTER_PROMETHEUS_PORT={port}"));
    command.arg(binary("wrapper-server"));
    command.args(["--port", "0", "--"]);
    command.arg(acceptance::server::functions().join("echo"));
    let server = Server::start(command, folder);
    evaluate(server.connect().await, call("echo", LIST))
        .await
        .unwrap();
    let metrics = get(&format!("127.0.0.1:{port}"), "/metrics");
    assert_eq!(metrics.status, 200);
    let begin = "rpc_server_call_duration_seconds_count{";
    assert_eq!(series(&metrics.body, begin), Some(1.0), "{}", metrics.body);
    assert!(metrics.body.contains("program=\"wrapper-server\""));
}

#[tokio::test]
async fn names_that_never_succeed_make_no_series() {
    let server = Server::runner(&[]);
    let address = server.status_address();
    let channel = server.connect().await;
    let ask = async |from: u32, to: u32| {
        for number in from..to {
            let request = call(&format!("no-such-function-{number}"), LIST);
            evaluate(channel.clone(), request).await.unwrap_err();
        }
    };
    ask(0, 500).await;
    let series = |metrics: &str| {
        metrics
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count()
    };
    let before = series(&get(&address, "/metrics").body);
    ask(500, 1500).await;
    let after = series(&get(&address, "/metrics").body);
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_failure_on_the_page_names_its_callers_trace() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let server = Server::runner(&[]);
    let mut request = tonic::Request::new(call("fails-silently", LIST));
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-00");
    request
        .metadata_mut()
        .insert("traceparent", parent.parse().unwrap());
    evaluate(server.connect().await, request).await.unwrap_err();
    let address = server.status_address();
    let json = get(&address, "/status.json").body;
    let view: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(view["failures"][0]["trace_id"], TRACE, "{json}");
    assert!(get(&address, "/").body.contains(TRACE));
    let shown = String::from_utf8(status(&address, &[]).stdout).unwrap();
    assert!(shown.contains(&format!("trace: {TRACE}")), "{shown}");
}
