//! The service as clients see it: refusals, limits, health, reflection.

use std::time::{Duration, Instant};

use acceptance::{LIST, Server, call, evaluate, image};
use proto::EvaluateFunctionRequest;
use tokio_stream::StreamExt as _;
use tonic::{Code, Status};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

async fn ask(server: &Server, image: &str) -> Status {
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: image.into(),
        tag: String::new(),
    };
    evaluate(server.connect().await, request).await.unwrap_err()
}

#[tokio::test]
async fn an_unknown_function_is_not_found_and_the_runtimes_are_named() {
    let server = Server::runner(&[]);
    let status = ask(&server, "no-such-function:v1").await;
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "no runtime knows function \"ghcr.io/kptdev/krm-functions-catalog/no-such-function:v1\" \
         (tried: exec)"
    );
    let server = Server::runner(&["--disable-runtimes=exec,pod"]);
    let status = ask(&server, &image("echo")).await;
    assert_eq!(status.code(), Code::NotFound);
    assert!(
        status.message().contains("tried: none"),
        "{}",
        status.message()
    );
}

#[tokio::test]
async fn a_malformed_image_is_refused_at_once() {
    let server = Server::runner(&[]);
    let begin = Instant::now();
    for bad in [
        "",
        " ",
        "UPPER CASE",
        "a/b:",
        "a/b@sha256:1",
        "https://a/b",
        "a//b",
    ] {
        let status = ask(&server, bad).await;
        assert_eq!(status.code(), Code::InvalidArgument, "{bad:?}: {status:?}");
        assert!(
            status.message().contains("invalid image reference"),
            "{}",
            status.message()
        );
    }
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn names_without_a_slash_get_the_prefix() {
    let server = Server::runner(&["--default-image-prefix=test/"]);
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: "echo:v1".into(),
        tag: String::new(),
    };
    assert_eq!(
        evaluate(server.connect().await, request)
            .await
            .unwrap()
            .resource_list,
        LIST
    );
}

#[tokio::test]
async fn messages_over_the_limit_are_refused_as_grpc_go_does() {
    let limit = 100_000;
    let flag = format!("--max-request-body-size={limit}");
    let runner = Server::runner(&[&flag]);
    let wrapper = Server::wrapper_with(&[&flag], "echo");
    for server in [runner, wrapper] {
        let fits = format!("{LIST}#{}", "x".repeat(limit - 200));
        let answer = evaluate(server.connect().await, call("echo", fits.clone()))
            .await
            .unwrap();
        assert_eq!(answer.resource_list, fits);
        let over = format!("{LIST}#{}", "x".repeat(limit));
        let status = evaluate(server.connect().await, call("echo", over))
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
        assert!(
            status.message().contains("--max-request-body-size"),
            "{}",
            status.message()
        );
    }
}

#[tokio::test]
async fn six_megabytes_pass_by_default() {
    let list = format!("{LIST}#{}", "x".repeat(6_000_000));
    for server in [Server::runner(&[]), Server::wrapper("echo")] {
        let answer = evaluate(server.connect().await, call("echo", list.clone()))
            .await
            .unwrap();
        assert_eq!(answer.resource_list.len(), list.len());
    }
}

#[tokio::test]
async fn calls_beyond_the_queue_are_refused() {
    let server = Server::runner(&["--max-queued-per-function=2"]);
    let channel = server.connect().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..6 {
        calls.spawn(evaluate(channel.clone(), call("takes-a-second", LIST)));
    }
    let answers = calls.join_all().await;
    let refused: Vec<&Status> = answers
        .iter()
        .filter_map(|answer| answer.as_ref().err())
        .collect();
    assert_eq!(refused.len(), 4);
    for status in refused {
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(
            status.message().contains("--max-queued-per-function"),
            "{}",
            status.message()
        );
    }
    // Places are given back.
    assert!(
        evaluate(channel, call("takes-a-second", LIST))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn health_is_told_for_the_server_and_for_the_service() {
    for server in [Server::runner(&[]), Server::wrapper("echo")] {
        let mut client = HealthClient::new(server.connect().await);
        for service in ["", "evaluator.FunctionEvaluator"] {
            let request = HealthCheckRequest {
                service: service.into(),
            };
            let answer = client.check(request.clone()).await.unwrap().into_inner();
            assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
            let mut watch = client.watch(request).await.unwrap().into_inner();
            let first = watch.next().await.unwrap().unwrap();
            assert_eq!(first.status(), ServingStatus::Serving, "{service:?}");
        }
        let unknown = HealthCheckRequest {
            service: "nobody".into(),
        };
        assert_eq!(
            client.check(unknown).await.unwrap_err().code(),
            Code::NotFound
        );
    }
}

#[tokio::test]
async fn reflection_lists_the_services() {
    let server = Server::runner(&[]);
    let mut client = ServerReflectionClient::new(server.connect().await);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = client
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.next().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = answer else {
        panic!("{answer:?}")
    };
    let names: Vec<&str> = list
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    assert!(names.contains(&"evaluator.FunctionEvaluator"), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
}

#[tokio::test]
async fn ipv4_and_ipv6_are_served() {
    let server = Server::runner(&[]);
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    for host in ["127.0.0.1", "[::1]"] {
        let stream = tokio::net::TcpStream::connect(format!("{host}:{port}")).await;
        assert!(stream.is_ok(), "{host}: {stream:?}");
    }
}

#[tokio::test]
async fn neither_lists_nor_logs_nor_the_environment_get_out() {
    let server = Server::runner(&["--log-level=5"]);
    let list = format!("{LIST}# password: hunter2\n");
    let channel = server.connect().await;
    for name in [
        "echo",
        "fails-with-text",
        "writes-text",
        "writes-alias-bomb",
    ] {
        let _ = evaluate(channel.clone(), call(name, list.clone())).await;
    }
    let log = server.wait_for_log("writes-alias-bomb");
    assert!(!log.contains("hunter2"));
    for text in ["hunter2", "a line of log", "panic: oops", "a-secret-value"] {
        assert!(!server.log().contains(text), "the log shows {text:?}");
    }
}

#[tokio::test]
async fn functions_see_a_minimal_environment_and_containers_their_own() {
    let name = "shows-environment";
    for (server, secret) in [
        (Server::runner(&[]), "''"),
        (Server::wrapper(name), "'a-secret-value'"),
    ] {
        let answer = evaluate(server.connect().await, call(name, LIST))
            .await
            .unwrap();
        let list = String::from_utf8(answer.resource_list.to_vec()).unwrap();
        assert!(list.contains(&format!("secret: {secret}\n")), "{list}");
        // The three of every program, and the folder that `ls` has open.
        assert!(list.ends_with("descriptors: 0, 1, 2, 3\n"), "{list}");
    }
}

#[tokio::test]
async fn logs_are_json_if_wanted() {
    let server = Server::runner(&["--log-format=json"]);
    evaluate(server.connect().await, call("echo", LIST))
        .await
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(&server.wait_for_log("evaluated")).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["message"], "evaluated");
    assert_eq!(line["image"], image("echo"));
    assert_eq!(line["bytes_in"], LIST.len());
}
