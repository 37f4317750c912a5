//! Templates from Porch 1.6's objects, and what functions change of them; and a cluster of 1.5, which
//! has neither the kinds nor the permissions.

use std::time::{Duration, Instant};

use super::kinds::{LONG, configure, install, observed, porch16, remove, status};
use anyhow::{Context, Result, ensure};
use cluster::layout::admin_kubeconfig;
use cluster::registry::Registry;
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, scenario};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplate, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use runner::function_config::kind::ServiceTemplate;
use serde_json::{Value, json};
use tempfile::TempDir;

/// As a 1.6 installation has it: a liveness probe, another port, variables for telemetry.
fn pod_template(labels: &Value, function: &str) -> Value {
    let probe = json!({ "exec": {
        "command": ["/wrapper-server-tools/grpc-health-probe", "-addr", "localhost:9446"] } });
    let tools = json!([{ "name": "wrapper-server-tools", "mountPath": "/wrapper-server-tools" }]);
    json!({
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "base-pod-template" },
        "template": {
            "metadata": { "labels": labels },
            "spec": {
                "initContainers": [{
                    "name": "copy-wrapper-server", "image": "example.com/to-be-replaced",
                    "command": ["cp", "-a", "/home/nonroot/wrapper-server/.", "/wrapper-server-tools"],
                    "volumeMounts": tools,
                }],
                "containers": [{
                    "name": function, "image": "image-replaced-by-kpt-func-image",
                    "command": ["/wrapper-server-tools/wrapper-server"],
                    "env": [
                        { "name": "OTEL_METRICS_EXPORTER", "value": "prometheus" },
                        { "name": "OTEL_TRACES_EXPORTER", "value": "none" },
                        { "name": "OTEL_EXPORTER_PROMETHEUS_HOST", "value": "0.0.0.0" },
                        { "name": "OTEL_EXPORTER_PROMETHEUS_PORT", "value": "9464" },
                    ],
                    "ports": [{ "containerPort": 9464, "name": "metrics" }],
                    "readinessProbe": probe, "livenessProbe": probe,
                    "volumeMounts": tools,
                }],
                "volumes": [{ "name": "wrapper-server-tools", "emptyDir": {} }],
            },
        },
    })
}

/// Creates or changes the PodTemplate; its version.
async fn put_pod_template(scope: &Scope, labels: Value, function: &str) -> Result<String> {
    let api: Api<PodTemplate> = scope.api();
    let object = pod_template(&labels, function);
    let parameters = PatchParams::apply("e2e").force();
    let put = api
        .patch("base-pod-template", &parameters, &Patch::Apply(&object))
        .await?;
    put.resource_version().context("a version")
}

/// Waits for the only pod to be one that satisfies the condition.
async fn pod_becomes(scope: &Scope, what: &str, is_it: impl Fn(&Pod) -> bool) -> Result<Pod> {
    let begin = Instant::now();
    loop {
        let (mut pods, _) = scope.functions().await?;
        if pods.len() == 1 && is_it(&pods[0]) {
            return pods.pop().context("a pod");
        }
        ensure!(begin.elapsed() < LONG, "no pod is {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn version(pod: &Pod) -> Option<&str> {
    let version = pod.annotations().get("fn.kpt.dev/template-version");
    version.map(String::as_str)
}

#[test]
fn an_edited_pod_template_replaces_pods_under_load_and_a_broken_one_is_told_and_replaces_nothing() {
    porch16(async |scope| {
        let first = put_pod_template(scope, json!({ "team": "a" }), "function").await?;
        let service = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "ServiceTemplate",
            "metadata": { "name": "base-service-template" },
            "template": {
                "metadata": { "labels": { "team": "a" }, "annotations": { "own": "kept" } },
                "spec": { "type": "ClusterIP", "selector": { "fn.kpt.dev/image": "to-be-replaced" },
                          "ports": [{ "name": "server", "port": 9446, "targetPort": 9446 },
                                    { "name": "metrics", "port": 9464, "targetPort": 9464 }] },
            },
        });
        let services: Api<ServiceTemplate> = scope.api();
        let parameters = PatchParams::apply("e2e");
        services
            .patch(
                "base-service-template",
                &parameters,
                &Patch::Apply(&service),
            )
            .await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        configure(
            scope,
            "echo",
            json!({
                "image": "echo", "prefixes": [format!("{}/test", Registry::Open.address())],
                "podExecutor": { "tags": ["*"] },
            }),
        )
        .await?;
        let runner = Runner::start(scope, &["--warm-up-pod-cache=false", "--scan-interval=2s"])?;
        runner.call(&image).await?;
        let pod = scope.only_pod().await?;
        ensure!(version(&pod) == Some(&first), "{:?}", pod.annotations());
        let (_, services) = scope.functions().await?;
        ensure!(
            services[0].annotations().contains_key("own"),
            "{:?}",
            services[0]
        );
        ensure!(services[0].labels()["team"] == "a", "{:?}", services[0]);

        let load = runner.calls(&image).callers(4).start();
        load.goes_on(4).await?;
        let second = put_pod_template(scope, json!({ "team": "b" }), "function").await?;
        let is_second = |pod: &Pod| version(pod) == Some(&second);
        let pod = pod_becomes(scope, "of the second template", is_second).await?;
        ensure!(pod.labels()["team"] == "b", "{:?}", pod.labels());
        load.goes_on(4).await?;

        put_pod_template(scope, json!({ "team": "c" }), "main").await?;
        let told = status(scope, "echo", |status| status.get("error").is_some()).await?;
        let told = told["error"].as_str().unwrap_or_default();
        ensure!(
            told.contains("no container is named \"function\""),
            "{told}"
        );
        load.goes_on(4).await?;
        ensure!(
            scope.only_pod().await?.name_any() == pod.name_any(),
            "it was replaced"
        );
        put_pod_template(scope, json!({ "team": "d" }), "function").await?;
        observed(scope, "echo").await?;
        pod_becomes(scope, "of team d", |pod| pod.labels()["team"] == "d").await?;
        let account = load.end().await?;
        account.none_failed()
    });
}

#[test]
fn a_template_that_is_broken_from_the_beginning_is_told_to_callers() {
    scenario(async |scope| {
        put_pod_template(scope, json!({}), "main").await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        let told = runner.heard(&image).await?;
        for words in [
            "PodTemplate \"base-pod-template\"",
            "no container is named \"function\"",
        ] {
            ensure!(told.message().contains(words), "no {words:?} in {told}");
        }
        put_pod_template(scope, json!({}), "function").await?;
        let begin = Instant::now();
        while let Err(told) = runner.call(&image).await {
            ensure!(begin.elapsed() < LONG, "{told}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    });
}

#[test]
fn overrides_of_resources_and_environment_arrive_in_the_pod_and_new_ones_replace_it() {
    porch16(async |scope| {
        let image = publish(scope, "echo", &script("echo $GREETING >&2; exec cat"))?;
        let spec = |greeting: &str| {
            json!({
                "image": "echo", "prefixes": [format!("{}/test", Registry::Open.address())],
                "podExecutor": { "tags": ["*"], "templateOverrides": {
                    "initContainer": { "resources": { "limits": { "memory": "64Mi" } } },
                    "container": {
                        "resources": { "requests": { "cpu": "15m" }, "limits": { "memory": "96Mi" } },
                        "env": [{ "name": "GREETING", "value": greeting }],
                    },
                } },
            })
        };
        configure(scope, "echo", spec("hello")).await?;
        let runner = Runner::start(scope, &["--warm-up-pod-cache=false"])?;
        let answer = runner.call(&image).await?;
        ensure!(answer.log == "hello\n", "{:?}", answer.log);
        let pod = serde_json::to_value(scope.only_pod().await?)?;
        let function = &pod["spec"]["containers"][0]["resources"];
        ensure!(function["limits"]["memory"] == "96Mi", "{function}");
        ensure!(function["requests"]["cpu"] == "15m", "{function}");
        let init = &pod["spec"]["initContainers"][0]["resources"];
        ensure!(init["limits"]["memory"] == "64Mi", "{init}");

        configure(scope, "echo", spec("goodbye")).await?;
        let begin = Instant::now();
        loop {
            let answer = runner.call(&image).await?;
            if answer.log == "goodbye\n" {
                break;
            }
            ensure!(begin.elapsed() < LONG, "{:?}", answer.log);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        scope.functions_become(1, 1).await
    });
}

/// A kubeconfig with no more rights than the runner's role in 1.5.
async fn access_of_15(scope: &Scope, folder: &TempDir) -> Result<std::path::PathBuf> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let all = ["create", "delete", "patch", "get", "list", "watch"];
    let rules = [
        rule("", &["pods", "services"], &all),
        rule("", &["pods/log"], &["get"]),
        rule(
            "coordination.k8s.io",
            &["leases"],
            &["create", "delete", "patch", "list"],
        ),
    ];
    let metadata = json!({ "name": "runner" });
    scope
        .create_object::<ServiceAccount>(json!({ "metadata": metadata }))
        .await?;
    scope
        .create_object::<Role>(json!({ "metadata": metadata, "rules": rules }))
        .await?;
    let subject =
        json!({ "kind": "ServiceAccount", "name": "runner", "namespace": scope.namespace() });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "runner" });
    let binding = json!({ "metadata": metadata, "roleRef": role, "subjects": [subject] });
    scope.create_object::<RoleBinding>(binding).await?;
    let request = TokenRequest {
        spec: TokenRequestSpec {
            audiences: vec![],
            ..Default::default()
        },
        ..Default::default()
    };
    let accounts: Api<ServiceAccount> = scope.api();
    let token = accounts
        .create_token_request("runner", &PostParams::default(), &request)
        .await?;
    let token = token.status.context("a token")?.token;
    let mut access = serde_json::to_value(Kubeconfig::read_from(admin_kubeconfig())?)?;
    access["users"][0]["user"] = json!({ "token": token });
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, access.to_string())?;
    Ok(path)
}

/// Lines of a log that should not be there at all, or not again.
fn lines(runner: &Runner, words: &str) -> usize {
    let log = runner.server.log();
    log.lines().filter(|line| line.contains(words)).count()
}

#[test]
fn under_the_roles_of_15_all_goes_on_and_what_is_missing_is_said_once() {
    porch16(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        // They cannot be seen, so they must not do harm either.
        configure(
            scope,
            "echo",
            json!({ "image": "echo", "prefixes": ["a"], "goExecutor": {} }),
        )
        .await?;
        put_pod_template(scope, json!({}), "main").await?;
        let folder = TempDir::new()?;
        let access = access_of_15(scope, &folder).await?;
        let runner = Runner::setup(scope, &[]).with_access(&access).start()?;
        runner.call(&image).await?;
        // Each kind is looked for twice again in this time.
        tokio::time::sleep(Duration::from_secs(65)).await;
        runner.call(&image).await?;
        for kind in ["FunctionConfig", "PodTemplate", "ServiceTemplate"] {
            let said = lines(
                &runner,
                &format!("does not let it list and watch {kind} objects"),
            );
            ensure!(said == 1, "{kind}: {said} times");
        }
        ensure!(
            lines(&runner, "WARN") == 0 && lines(&runner, "ERROR") == 0,
            "warnings"
        );
        Ok(())
    });
}

#[test]
fn without_the_kinds_nothing_is_said_about_them_and_they_are_noticed_when_they_come() {
    porch16(async |scope| {
        remove(scope).await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--warm-up-pod-cache=false"])?;
        runner.call(&image).await?;
        tokio::time::sleep(Duration::from_secs(35)).await;
        ensure!(lines(&runner, "FunctionConfig") == 0, "it is said");
        ensure!(
            lines(&runner, "WARN") == 0 && lines(&runner, "ERROR") == 0,
            "warnings"
        );
        install(scope.client()).await?;
        configure(
            scope,
            "echo",
            json!({
                "image": "echo", "prefixes": ["a"], "podExecutor": { "tags": ["v1"] },
            }),
        )
        .await?;
        observed(scope, "echo").await
    });
}
