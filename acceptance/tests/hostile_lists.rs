//! Lists and scripts that want to hurt the bundled functions: a clear answer in
//! bounded time and memory, and the server answers the next call.

use std::time::{Duration, Instant};

use acceptance::{Server, call, evaluate, image, server::exec_config, system};
use proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tonic::{Code, Request, Status, transport::Channel};

/// No answer to a hostile call may take longer, on a machine that is very busy: some
/// scripts fill all the memory that they may have.
const BOUND: Duration = Duration::from_secs(120);

const CONFIG: &str = "functionConfig: {apiVersion: v1, kind: ConfigMap, \
                      metadata: {name: c}, data: {namespace: prod}}\n";

fn list(items: &str) -> String {
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\n{CONFIG}")
}

/// An answer in bounded time.
async fn answer(
    channel: Channel,
    request: impl tonic::IntoRequest<EvaluateFunctionRequest>,
) -> Result<EvaluateFunctionResponse, Status> {
    let begin = Instant::now();
    let answer = evaluate(channel, request).await;
    assert!(begin.elapsed() < BOUND, "took {:?}", begin.elapsed());
    answer
}

/// `set-namespace` behind a server that takes large messages.
async fn set_namespace() -> (Server, Channel) {
    let server = Server::runner(&["--max-request-body-size=16777216"]);
    let image = image("moved");
    server.replace_config(&format!(
        "functions:\n- function: set-namespace\n  images: ['{image}']\n"
    ));
    server.wait_for_log("1 images");
    let channel = server.connect().await;
    (server, channel)
}

#[tokio::test]
async fn a_native_function_refuses_what_is_not_a_list_and_lives_on() {
    let (server, channel) = set_namespace().await;
    let deep = "[".repeat(100_000);
    let nested = list(&format!("- a: {}", "{a: ".repeat(100_000)));
    for (hostile, words) in [
        (deep.into_bytes(), "exceeded max depth"),
        (nested.into_bytes(), "exceeded max depth"),
        (b"kind: \xff\xfe\n".to_vec(), "UTF-8"),
    ] {
        let status = answer(channel.clone(), call("moved", hostile))
            .await
            .unwrap_err();
        assert!(status.message().contains(words), "{}", status.message());
        assert!(
            status.message().len() < 10_000,
            "{} bytes",
            status.message().len()
        );
    }
    let mut bomb =
        String::from("- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n  a0: &a0 [x]\n");
    for level in 1..60 {
        let before = level - 1;
        bomb += &format!("  a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n");
    }
    let written = answer(channel.clone(), call("moved", list(&bomb)))
        .await
        .unwrap();
    assert!(written.resource_list.len() < 2 * bomb.len() + 1000);
    let large = "x".repeat(6 << 20);
    let item = format!("- {{apiVersion: v1, kind: A, metadata: {{name: a}}, v: \"{large}\"}}");
    let written = answer(channel.clone(), call("moved", list(&item)))
        .await
        .unwrap();
    assert!(written.resource_list.len() > large.len());
    let peak = system::peak_kib(server.pid());
    assert!(peak < 256 * 1024, "{peak} KiB at most");
    let small = list("- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    let written = answer(channel, call("moved", small)).await.unwrap();
    let written = String::from_utf8(written.resource_list.to_vec()).unwrap();
    assert!(written.contains("namespace: prod"), "{written}");
}

/// A runner with the starlark function beside it, and an image for scripts.
fn with_starlark() -> Server {
    let image = image("script");
    let scripts = format!("- function: starlark\n  images: ['{image}']\n");
    Server::with_starlark(&(exec_config() + &scripts))
}

/// A call of a script.
fn script(lines: &[&str]) -> EvaluateFunctionRequest {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                    - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n\
                    functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  \
                    metadata: {name: hostile}\n  source: |\n"
        .to_owned();
    for line in lines {
        list += &format!("    {line}\n");
    }
    call("script", list)
}

async fn assert_lives_on(server: &Server, channel: Channel) {
    server.assert_nothing_left_running();
    let peak = system::peak_kib(server.pid());
    assert!(peak < 256 * 1024, "{peak} KiB at most");
    let request = script(&[
        "for item in ctx.resource_list[\"items\"]:",
        "  item[\"metadata\"][\"name\"] = \"b\"",
    ]);
    let written = answer(channel, request).await.unwrap();
    let written = String::from_utf8(written.resource_list.to_vec()).unwrap();
    assert!(written.contains("name: b"), "{written}");
}

#[tokio::test]
#[ignore = "needs make build-starlark"]
async fn a_script_that_never_ends_is_ended_with_its_caller() {
    let server = with_starlark();
    let channel = server.connect().await;
    let mut request = Request::new(script(&[
        "def run():",
        "  for i in range(2000000000):",
        "    pass",
        "run()",
    ]));
    request.set_timeout(Duration::from_secs(3));
    let status = answer(channel.clone(), request).await.unwrap_err();
    assert!(
        matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled),
        "{status:?}"
    );
    assert_lives_on(&server, channel).await;
}

#[tokio::test]
#[ignore = "needs make build-starlark"]
async fn a_script_without_bounds_fails_alone() {
    let server = with_starlark();
    let channel = server.connect().await;
    let allocates = [
        "def run():",
        "  x = []",
        "  for i in range(100000000):",
        "    x.append(\"a\" * 1000000 + str(i))",
        "run()",
    ];
    let doubles = [
        "def run():",
        "  x = [1]",
        "  for i in range(64):",
        "    x = x + x",
        "run()",
    ];
    let recurses = ["def run(n):", "  return run(n + 1)", "run(0)"];
    for lines in [&allocates[..], &doubles, &recurses] {
        assert_fails_briefly(channel.clone(), lines).await;
    }
    assert_lives_on(&server, channel).await;
}

/// The caller hears which function it was, in a message that a status can carry.
async fn assert_fails_briefly(channel: Channel, lines: &[&str]) {
    let status = answer(channel, script(lines)).await.unwrap_err();
    let message = status.message();
    assert!(message.contains(&image("script")), "{message}");
    assert!(message.len() < 10_000, "{} bytes", message.len());
}

#[tokio::test]
#[ignore = "needs make build-starlark"]
async fn a_script_that_writes_without_end_fails_alone() {
    let server = with_starlark();
    let channel = server.connect().await;
    let grows = [
        "item = ctx.resource_list[\"items\"][0]",
        "item[\"data\"] = {\"x\": \"y\" * 200000000}",
    ];
    let prints = [
        "def run():",
        "  for i in range(3000000):",
        "    print(\"y\" * 1000)",
        "  fail(\"done\")",
        "run()",
    ];
    for lines in [&grows[..], &prints] {
        assert_fails_briefly(channel.clone(), lines).await;
    }
    assert_lives_on(&server, channel).await;
}
