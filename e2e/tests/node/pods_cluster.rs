//! The pod runtime under a real cluster's rules: roles, quotas, moved tags, memory limits, warm-up, and the
//! runner's own bound of pods.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, audited_pods, scenario};
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

/// Allows so many pods, from now on.
async fn allow_pods(scope: &Scope, count: usize) -> Result<()> {
    let hard = json!({ "pods": count.to_string() });
    let quota = json!({ "metadata": { "name": "few" }, "spec": { "hard": hard } });
    scope.create_object::<ResourceQuota>(quota).await?;
    let is_counted = |quota: Option<&ResourceQuota>| {
        let status = quota.and_then(|quota| quota.status.as_ref());
        status.is_some_and(|status| status.hard.is_some())
    };
    scope.becomes("few", "in force", is_counted).await?;
    Ok(())
}

/// What a caller hears whose pod is over the quota.
async fn hears_of_the_quota(runner: &Runner, image: &str) -> Result<()> {
    let told = runner.heard(image).await?;
    ensure!(told.code() == Code::FailedPrecondition, "{told}");
    ensure!(told.message().contains("exceeded quota"), "{told}");
    Ok(())
}

#[test]
fn an_exhausted_quota_is_told_in_the_api_servers_words() {
    scenario(async |scope| {
        allow_pods(scope, 0).await?;
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        hears_of_the_quota(&runner, &echo).await?;
        scope.functions_become(0, 0).await
    });
}

#[test]
fn a_quota_tightened_below_what_is_used_leaves_warm_pods_alone_and_is_told_to_who_needs_another() {
    scenario(async |scope| {
        let images =
            ["first", "second", "third"].map(|name| publish(scope, name, &script("exec cat")));
        let [first, second, third] = images;
        let (first, second, third) = (first?, second?, third?);
        let runner = Runner::start(scope, &["--scan-interval=1s"])?;
        runner.call(&first).await?;
        runner.call(&second).await?;
        let pods = scope.pod_names().await?;
        let load = runner.calls(&first).start();
        allow_pods(scope, 1).await?;
        hears_of_the_quota(&runner, &third).await?;
        // Some scans.
        load.goes_on_for(Duration::from_secs(3)).await?;
        runner.call(&second).await.context("warm")?;
        load.end().await?;
        ensure!(scope.pod_names().await? == pods, "another pod");
        Ok(())
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
        runner.call(&echo).await?;
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 2, "not warm: {created:?}");

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

#[test]
fn at_the_bound_of_pods_the_longest_idle_goes_and_if_none_idles_the_caller_hears_it() {
    scenario(async |scope| {
        let echo = |name| publish(scope, name, &script("exec cat"));
        let (first, second, third) = (echo("first")?, echo("second")?, echo("third")?);
        let runner = Runner::start(scope, &["--max-pods=2", "--scan-interval=1s"])?;
        for image in [&first, &second, &third] {
            runner.call(image).await?;
        }
        scope.functions_become(2, 2).await?;
        let names = scope.pod_names().await?;
        let of = |name: &str| names.iter().any(|pod| pod.starts_with(name));
        ensure!(!of("first-") && of("second-") && of("third-"), "{names:?}");

        let slow = |name| publish(scope, name, &script("sleep 20; exec cat"));
        let (one, another) = (slow("slow-one")?, slow("slow-another")?);
        let full = async {
            let begin = Instant::now();
            // From their creation on, both start or work.
            loop {
                let names = scope.pod_names().await?;
                if names.len() == 2 && names.iter().all(|pod| pod.starts_with("slow-")) {
                    break;
                }
                ensure!(begin.elapsed() < Duration::from_secs(60), "{names:?}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let told = runner.heard(&first).await?;
            ensure!(told.code() == Code::ResourceExhausted, "{told}");
            ensure!(told.message().contains("--max-pods"), "{told}");
            Ok(())
        };
        let (a, b, full) = tokio::join!(runner.call(&one), runner.call(&another), full);
        full?;
        a.context("a call that was there before")?;
        b.context("a call that was there before")?;
        runner.call(&first).await.context("afterwards")?;
        Ok(())
    });
}
