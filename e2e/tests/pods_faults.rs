//! What goes wrong with pods: the next call succeeds, or the caller hears why, in seconds.

use std::time::Duration;

use acceptance::system::connections_to;
use anyhow::{Context, ensure};
use cluster::image::ImageSpec;
use cluster::process::wait_until;
use cluster::registry::Registry;
use e2e::runner::{Runner, WRAPPER_PORT, publish, script};
use e2e::{pod, scenario};
use k8s_openapi::api::core::v1::{Pod, PodStatus, Service};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams};
use serde_json::json;
use tonic::Code;

/// How long the runner may take to hear what happened to a pod.
const NOTICE: Duration = Duration::from_secs(10);

#[test]
fn after_a_pod_was_deleted_or_killed_or_lost_its_service_the_next_call_succeeds() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=2s"])?;
        runner.call(&image).await?;

        let first = scope.only_pod().await?.name_any();
        let at_once = DeleteParams::default().grace_period(0);
        scope.api::<Pod>().delete(&first, &at_once).await?;
        // Until the runner has heard of it, the pod may answer, or break off.
        runner.loses(&first, NOTICE).await?;
        runner.call(&image).await.context("after a deletion")?;

        scope.functions_become(1, 1).await?;
        let second = scope.only_pod().await?.name_any();
        ensure!(second != first, "a new pod");
        let services = scope.api::<Service>();
        services.delete(&second, &DeleteParams::default()).await?;
        runner.loses(&second, NOTICE).await?;
        runner.call(&image).await.context("without a service")?;

        scope.functions_become(1, 1).await?;
        let third = scope.only_pod().await?.name_any();
        ensure!(third != second, "a new pod");
        // It is used before the kubelet has told which container runs in it.
        let third = scope
            .pod_becomes(&third, "running", pod::is_running)
            .await?;
        // The first one is the wrapper; whatever it has started ends with it.
        let wrapper = pod::processes(&third, "function")?.into_iter().next();
        wrapper.context("nothing to kill")?.kill()?;
        // What is sent to it before may have run, and is not sent again.
        let pid = runner.server.pid();
        let has_noticed = || Ok(connections_to(pid, WRAPPER_PORT) == 0);
        wait_until(NOTICE, "the runner to notice a kill", has_noticed)?;
        runner.call(&image).await.context("after a kill")?;
        // A new pod has answered, or the same one, whose container the kubelet has started again; that
        // one is given up all the same as soon as the runner hears of it.
        scope.functions_become_at_most_one().await
    });
}

#[test]
fn after_a_pod_was_evicted_or_has_failed_the_next_call_succeeds() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=2s"])?;
        runner.call(&image).await?;
        let pods = scope.api::<Pod>();

        let first = scope.only_pod().await?.name_any();
        pods.evict(&first, &EvictParams::default()).await?;
        // Until the runner has heard of it, the pod finishes what it gets.
        runner.loses(&first, NOTICE).await?;
        runner.call(&image).await.context("after an eviction")?;

        // The kubelet ends a pod whose time is over, and leaves it there as failed.
        let second = scope.only_pod().await?.name_any();
        ensure!(second != first, "a new pod");
        let patch = json!({ "spec": { "activeDeadlineSeconds": 1 } });
        let patch = Patch::Merge(&patch);
        pods.patch(&second, &PatchParams::default(), &patch).await?;
        let has_failed = |pod: Option<&Pod>| {
            let status = pod.and_then(|pod| pod.status.as_ref());
            let phase = |status: &PodStatus| status.phase.as_deref() == Some("Failed");
            // Gone if the runner was faster than this watch.
            pod.is_none() || status.is_some_and(phase)
        };
        scope.becomes(&second, "failed", has_failed).await?;
        runner.loses(&second, NOTICE).await?;
        runner.call(&image).await.context("after a failure")?;
        scope.functions_become(1, 1).await?;
        ensure!(scope.only_pod().await?.name_any() != second, "a new pod");
        Ok(())
    });
}

#[test]
fn a_function_that_runs_out_of_memory_is_told_and_the_next_call_succeeds() {
    scenario(async |scope| {
        // It reads before it decides: another one may have been started ahead.
        let once = script(
            "cat > /tmp/$$; [ -e /tmp/again ] || { echo > /tmp/again; tail /dev/zero; exit; }; cat /tmp/$$",
        );
        let image = publish(scope, "hungry-once", &once)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pod-cache-config.yaml");
        let limits = "resources: { limits: { memory: 48Mi } }";
        std::fs::write(&file, format!("- name: {image}\n  {limits}\n"))?;
        let config = format!("--pod-cache-config={}", file.display());
        let runner = Runner::start(scope, &[&config, "--scan-interval=2s"])?;
        let told = runner.call(&image).await.err().context("no error")?;
        println!("{told}");
        ensure!(told.code() == Code::Internal, "{told}");
        ensure!(told.message().contains("137"), "{told}");
        runner.call(&image).await.context("after it")?;
        scope.functions_become(1, 1).await
    });
}

#[test]
fn what_cannot_run_is_told_in_seconds_and_leaves_nothing() {
    scenario(async |scope| {
        let runner = Runner::start(scope, &[])?;
        let address = Registry::Open.address();
        let missing = runner.heard(&format!("{address}/test/none:v1")).await?;
        ensure!(missing.code() == Code::FailedPrecondition, "{missing}");
        ensure!(missing.message().contains("check the name"), "{missing}");

        let empty = publish(scope, "empty", &ImageSpec::default())?;
        let told = runner.heard(&empty).await?;
        ensure!(told.message().contains("neither ENTRYPOINT"), "{told}");

        ensure!(runner.heard("").await?.code() == Code::InvalidArgument);
        scope.functions_become(0, 0).await
    });
}
