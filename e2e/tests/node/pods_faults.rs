//! What goes wrong with pods: no call fails, the truly next one neither; or the caller hears why, in
//! seconds.

use std::time::{Duration, Instant};

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, pod, scenario, template};
use k8s_openapi::api::core::v1::{Pod, PodStatus, Service};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;
use tonic::Code;

/// How long the runner may take to hear what happened to a pod, also on a busy machine.
const NOTICE: Duration = Duration::from_secs(60);

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
    // It is used before the kubelet has reported which container runs in it.
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
        let delete = async |scope: &Scope, pod: &Pod| delete_service(scope, pod).await;
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
fn a_pod_whose_container_is_killed_as_it_starts_is_replaced_for_who_waits_for_it() {
    scenario(async |scope| {
        let kill = async |_: &Scope, pod: &Pod| {
            let first = pod::processes(pod, "function")?.into_iter().next();
            first.context("nothing to kill")?.kill()
        };
        is_replaced_as_it_starts(kill, scope).await
    });
}

#[test]
fn a_pod_that_loses_its_service_as_it_starts_is_replaced_for_who_waits_for_it() {
    scenario(async |scope| {
        let delete = async |scope: &Scope, pod: &Pod| delete_service(scope, pod).await;
        is_replaced_as_it_starts(delete, scope).await
    });
}

/// Its wrapper takes its time, so that the fault comes before it has answered.
async fn is_replaced_as_it_starts(
    fault: impl AsyncFnOnce(&Scope, &Pod) -> Result<()>,
    scope: &Scope,
) -> Result<()> {
    let late = "        - sh\n        - -c\n        - sleep 5; exec /wrapper-server-tools/wrapper-server \
                \"$@\"\n        - sh\n";
    let wrapper = "        - /wrapper-server-tools/wrapper-server\n";
    let late = template::documented_but(&[(wrapper, late)])?;
    let flag = template::publish(scope, "late", &late).await?;
    let image = publish(scope, "echo", &script("exec cat"))?;
    let runner = Runner::start(scope, &[&flag])?;
    let load = runner.calls(&image).start();
    let begin = Instant::now();
    let victim = loop {
        if let Ok(pod) = scope.only_pod().await {
            break pod.name_any();
        }
        ensure!(begin.elapsed() < NOTICE, "no pod");
        sleep(Duration::from_millis(50)).await;
    };
    let pod = scope
        .pod_becomes(&victim, "running", pod::is_running)
        .await?;
    fault(scope, &pod).await?;
    load.goes_on(1).await?;
    load.end().await?;
    Ok(())
}

async fn delete_service(scope: &Scope, pod: &Pod) -> Result<()> {
    let services = scope.api::<Service>();
    let ordinary = DeleteParams::default();
    services.delete(&pod.name_any(), &ordinary).await?;
    Ok(())
}

/// A container whose first process takes all its memory as soon as a call is under way, beside the
/// wrapper: the kernel ends that process, and with it the container. On cgroup v2 the function alone
/// can do that to its container; here an OOM kills one process, and the wrapper would go on.
const HUNGRY: &str = r#"        - sh
        - -c
        - |
          /wrapper-server-tools/wrapper-server "$@" &
          while [ ! -e /called ]; do sleep 0.1; done
          exec tail /dev/zero
        - sh
      resources:
        limits:
          memory: 64Mi
"#;

#[test]
fn a_call_that_kills_its_pod_each_time_ends_with_the_kubelets_reason_after_two_retries() {
    scenario(async |scope| {
        let wrapper = "        - /wrapper-server-tools/wrapper-server\n";
        let hungry = template::documented_but(&[(wrapper, HUNGRY)])?;
        let flag = template::publish(scope, "hungry", &hungry).await?;
        let image = publish(scope, "deadly", &script(": > /called; exec sleep 600"))?;
        let runner = Runner::start(scope, &[&flag])?;
        let told = runner.call(&image).await.err().context("no error")?;
        println!("{told}");
        ensure!(told.code() == Code::Unavailable, "{told}");
        for words in [
            "its pod was lost while it ran: pod deadly-",
            "OOMKilled",
            "it was sent again 2 times (--max-grpc-retries)",
        ] {
            ensure!(told.message().contains(words), "no {words:?}: {told}");
        }
        let retries = runner.server.lines_with("it is sent again to pod deadly-");
        ensure!(retries == 2, "{retries} retries are logged");
        Ok(())
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
        // That memory was the reason is not said then: it should be.
        let is_killed = ["137", "SIGKILL"]
            .iter()
            .any(|words| told.message().contains(words));
        let by_kernel = told.code() == Code::Internal && is_killed;
        ensure!(by_wrapper || by_kernel, "{told}");
        runner.call(&image).await.context("after it")?;
        scope.functions_become(1, 1).await
    });
}

#[test]
fn an_image_that_is_not_there_is_told_in_seconds_and_leaves_nothing() {
    scenario(async |scope| {
        let runner = Runner::start(scope, &[])?;
        let missing = format!("{}/test/none:v1", Registry::Open.address());
        let told = runner.heard(&missing).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("check the name"), "{told}");
        scope.functions_become(0, 0).await
    });
}

#[test]
fn an_image_that_names_no_program_is_told_in_seconds_and_leaves_nothing() {
    scenario(async |scope| {
        let runner = Runner::start(scope, &[])?;
        let empty = publish(scope, "empty", &ImageSpec::default())?;
        let told = runner.heard(&empty).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("neither ENTRYPOINT"), "{told}");
        scope.functions_become(0, 0).await
    });
}

#[test]
fn a_call_without_an_image_is_told_in_seconds_and_leaves_nothing() {
    scenario(async |scope| {
        let runner = Runner::start(scope, &[])?;
        let told = runner.heard("").await?;
        ensure!(told.code() == Code::InvalidArgument, "{told}");
        scope.functions_become(0, 0).await
    });
}
