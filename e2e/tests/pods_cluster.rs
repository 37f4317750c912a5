//! The pod runtime under a real cluster's rules: roles, quotas, moved tags, memory limits, warm-up.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use e2e::runner::{Runner, publish, script};
use e2e::scenario;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::ResourceExt as _;
use serde_json::json;
use tonic::Code;

#[test]
fn under_the_peers_roles_everything_works_and_the_rest_is_one_warning_each() {
    scenario(async |scope| {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("kubeconfig");
        e2e::peer::write_access(scope, &file).await?;
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let other = publish(scope, "other", &script("exec cat"))?;
        let args = ["--pod-ttl=8s", "--scan-interval=1s"];
        let runner = Runner::setup(scope, &args).with_access(&file).start()?;
        runner.call(&echo).await?;
        runner.call(&other).await?;
        scope.functions_become(0, 0).await?;
        let log = runner.server.log();
        for words in ["leases cannot be used", "services cannot be patched"] {
            let count = log.matches(words).count();
            ensure!(count == 1, "{count} times {words:?}");
        }
        Ok(())
    });
}

#[test]
fn an_exhausted_quota_is_told_in_the_api_servers_words() {
    scenario(async |scope| {
        let quota = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
        scope.create_object::<ResourceQuota>(quota).await?;
        let is_counted = |quota: Option<&ResourceQuota>| {
            let status = quota.and_then(|quota| quota.status.as_ref());
            status.is_some_and(|status| status.hard.is_some())
        };
        scope.becomes("none", "in force", is_counted).await?;
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        let begin = Instant::now();
        let told = runner.call(&echo).await.err().context("no error")?;
        println!("{told}");
        ensure!(begin.elapsed() < Duration::from_secs(15), "late");
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("exceeded quota"), "{told}");
        scope.functions_become(0, 0).await
    });
}

#[test]
fn listed_functions_are_warm_when_the_runner_is_ready_and_keep_their_own_settings() {
    scenario(async |scope| {
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let limited = publish(scope, "limited", &script("exec cat"))?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pod-cache-config.yaml");
        let text = format!(
            "- name: {echo}\n- name: {limited}\n  resources: {{ limits: {{ memory: 48Mi }} }}\n"
        );
        std::fs::write(&file, &text)?;
        let config = format!("--pod-cache-config={}", file.display());
        let runner = Runner::start(scope, &[&config])?;
        let (pods, _) = scope.functions().await?;
        ensure!(pods.len() == 2, "{} pods", pods.len());
        let begin = Instant::now();
        runner.call(&echo).await?;
        ensure!(begin.elapsed() < Duration::from_secs(1), "not warm");

        let limit = |pod: &Pod| {
            let function = pod.spec.as_ref().map(|spec| &spec.containers[0]);
            let resources = function.and_then(|function| function.resources.clone());
            let limits = resources.and_then(|resources| resources.limits);
            limits.and_then(|limits| limits.get("memory").map(|memory| memory.0.clone()))
        };
        let limits: Vec<String> = pods.iter().filter_map(limit).collect();
        ensure!(limits == ["48Mi"], "{limits:?}");

        let late = publish(scope, "late", &script("exec cat"))?;
        std::fs::write(&file, format!("{text}- name: {late}\n"))?;
        let begin = Instant::now();
        loop {
            let (pods, _) = scope.functions().await?;
            if pods.iter().any(|pod| pod.name_any().starts_with("late-")) {
                return Ok(());
            }
            ensure!(begin.elapsed() < Duration::from_secs(20), "not warmed up");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
}
