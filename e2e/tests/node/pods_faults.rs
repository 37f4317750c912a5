//! What goes wrong with pods: no call fails, the truly next one neither; or the caller hears why, in
//! seconds.

use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::{Pod, PodStatus, Service};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams};
use serde_json::json;
use tonic::Code;

/// How long the runner may take to hear what happened to a pod.
const NOTICE: Duration = Duration::from_secs(10);

/// A warm pod that is called all the time: what happens to it fails no call, the next one neither,
/// and in the end another pod has its place.
async fn fails_no_call(
    fault: impl AsyncFnOnce(&Scope, &Pod) -> Result<()>,
    scope: &Scope,
) -> Result<()> {
    let image = publish(scope, "echo", &script("exec cat"))?;
    let runner = Runner::start(scope, &["--scan-interval=2s"])?;
    runner.call(&image).await?;
    let name = scope.only_pod().await?.name_any();
    // It is used before the kubelet has told which container runs in it.
    let pod = scope.pod_becomes(&name, "running", pod::is_running).await?;
    let load = runner.calls(&image).callers(4).start();
    load.goes_on(4).await?;
    fault(scope, &pod).await?;
    // Whether the runner knows of it or not.
    runner.call(&image).await.context("the next call")?;
    runner.loses(&name, NOTICE).await?;
    load.goes_on(4).await?;
    load.end().await?;
    scope.functions_become(1, 1).await?;
    ensure!(scope.only_pod().await?.name_any() != name, "the same pod");
    Ok(())
}

#[test]
fn a_pod_that_is_deleted_fails_no_call() {
    scenario(async |scope| {
        let delete = async |scope: &Scope, pod: &Pod| {
            let at_once = DeleteParams::default().grace_period(0);
            let pods = scope.api::<Pod>();
            pods.delete(&pod.name_any(), &at_once).await?;
            Ok(())
        };
        fails_no_call(delete, scope).await
    });
}

#[test]
fn a_pod_that_loses_its_service_fails_no_call() {
    scenario(async |scope| {
        let delete = async |scope: &Scope, pod: &Pod| {
            let services = scope.api::<Service>();
            let ordinary = DeleteParams::default();
            services.delete(&pod.name_any(), &ordinary).await?;
            Ok(())
        };
        fails_no_call(delete, scope).await
    });
}

#[test]
fn a_pod_whose_wrapper_is_killed_fails_no_call() {
    scenario(async |scope| {
        let kill = async |_: &Scope, pod: &Pod| {
            // The first one is the wrapper; whatever it has started ends with it.
            let wrapper = pod::processes(pod, "function")?.into_iter().next();
            wrapper.context("nothing to kill")?.kill()
        };
        fails_no_call(kill, scope).await
    });
}

#[test]
fn a_pod_that_is_evicted_fails_no_call() {
    scenario(async |scope| {
        let evict = async |scope: &Scope, pod: &Pod| {
            let pods = scope.api::<Pod>();
            pods.evict(&pod.name_any(), &EvictParams::default()).await?;
            Ok(())
        };
        fails_no_call(evict, scope).await
    });
}

#[test]
fn a_pod_that_ends_as_failed_fails_no_call() {
    scenario(async |scope| {
        let fail = async |scope: &Scope, pod: &Pod| {
            // The kubelet ends a pod whose time is over, and leaves it there as failed.
            let patch = json!({ "spec": { "activeDeadlineSeconds": 1 } });
            let (patch, name) = (Patch::Merge(&patch), pod.name_any());
            let pods = scope.api::<Pod>();
            pods.patch(&name, &PatchParams::default(), &patch).await?;
            let has_failed = |pod: Option<&Pod>| {
                let status = pod.and_then(|pod| pod.status.as_ref());
                let phase = |status: &PodStatus| status.phase.as_deref() == Some("Failed");
                // Gone if the runner was faster than this watch.
                pod.is_none() || status.is_some_and(phase)
            };
            scope.becomes(&name, "failed", has_failed).await?;
            Ok(())
        };
        fails_no_call(fail, scope).await
    });
}

#[test]
fn a_function_that_runs_out_of_memory_is_told_and_the_next_call_succeeds() {
    scenario(async |scope| {
        let hungry = script(
            "cat > /tmp/$$; if grep -q hungry /tmp/$$; then exec tail /dev/zero; fi; cat /tmp/$$",
        );
        let image = publish(scope, "hungry", &hungry)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pod-cache-config.yaml");
        let limits = "resources: { limits: { memory: 48Mi } }";
        std::fs::write(&file, format!("- name: {image}\n  {limits}\n"))?;
        let config = format!("--pod-cache-config={}", file.display());
        let runner = Runner::start(scope, &[&config, "--scan-interval=2s"])?;
        // Far longer than the next list: what a list of that length needed is remembered.
        let list = format!("{LIST}# hungry {}\n", "x".repeat(100_000));
        let told = runner.call_on(&image, list).await.err();
        let told = told.context("no error")?;
        println!("{told}");
        // The wrapper ends it with the numbers, unless the kernel is quicker.
        let by_wrapper = told.code() == Code::ResourceExhausted
            && told.message().contains("raise the memory limit");
        let by_kernel = told.code() == Code::Internal && told.message().contains("137");
        ensure!(by_wrapper || by_kernel, "{told}");
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
