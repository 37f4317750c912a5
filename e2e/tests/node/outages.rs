//! What tests may break: each breakage is felt, and the cluster works again afterwards.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use cluster::image::{Entry, ImageSpec};
use cluster::process::Process;
use cluster::registry::Registry;
use cluster::seed::BUSYBOX;
use e2e::{Scope, outage_scenario, pod, scenario};
use k8s_openapi::api::core::v1::{Pod, PodStatus, Service};
use kube::api::ListParams;
use serde_json::json;
use tokio::net::lookup_host;

/// Short enough to wait for an answer that does not come.
const SILENCE: Duration = Duration::from_secs(2);

/// Longer than any answer takes, also on a busy machine.
const ANSWER: Duration = Duration::from_secs(30);

async fn list_pods(scope: &Scope, patience: Duration) -> Result<()> {
    let pods = scope.api::<Pod>();
    let list = tokio::time::timeout(patience, pods.list(&ListParams::default())).await;
    list.context("no answer")?.map(drop).context("refused")
}

#[test]
fn a_stopped_api_server_refuses_and_a_pod_outlives_it() {
    outage_scenario(async |scope, node| {
        let steady = run_steady(scope, "steady").await?;
        let outage = node.stop(Component::ApiServer)?;
        let refused = list_pods(scope, ANSWER).await;
        ensure!(format!("{:#}", refused.unwrap_err()).contains("refused"));
        outage.end()?;
        list_pods(scope, ANSWER).await?;
        ensure!(steady.is_alive(), "the pod died");
        Ok(())
    });
}

/// Starts a pod that stays, and finds its process.
async fn run_steady(scope: &Scope, name: &str) -> Result<Process> {
    scope.create_pod(name, pod::shell("exec sleep 600")).await?;
    let pod = scope.pod_becomes(name, "running", pod::is_running).await?;
    let processes = pod::processes(&pod, "main")?;
    processes
        .into_iter()
        .next()
        .context("the pod has no process")
}

#[test]
fn a_paused_api_server_is_silent_until_it_resumes() {
    outage_scenario(async |scope, node| {
        list_pods(scope, ANSWER).await?;
        let outage = node.pause(Component::ApiServer)?;
        let silence = list_pods(scope, SILENCE).await;
        ensure!(format!("{:#}", silence.unwrap_err()).contains("no answer"));
        outage.end()?;
        list_pods(scope, ANSWER).await
    });
}

#[test]
fn a_stopped_registry_fails_pulls_until_it_is_back() {
    outage_scenario(async |scope, node| {
        // A tag of its own: the node must not have the image from an earlier run.
        let image = Registry::Open.publish("outage/new", scope.namespace(), &sleeper())?;
        let outage = node.stop(Component::OpenRegistry)?;
        scope
            .create_pod("waiting", pod::image(&image.reference))
            .await?;
        scope
            .pod_becomes("waiting", "refused", pod::has_reason("ErrImagePull"))
            .await?;
        outage.end()?;
        scope
            .pod_becomes("waiting", "running", pod::is_running)
            .await?;
        Ok(())
    });
}

#[test]
fn a_restarted_containerd_keeps_its_pods_and_starts_new_ones() {
    outage_scenario(async |scope, node| {
        let old = run_steady(scope, "old").await?;
        node.stop(Component::Containerd)?.end()?;
        let new = run_steady(scope, "new").await?;
        ensure!(old.is_alive() && new.is_alive(), "a pod died");
        Ok(())
    });
}

#[test]
fn slow_dns_keeps_saying_that_a_name_does_not_exist() {
    outage_scenario(async |scope, node| {
        let outage = node.slow_dns()?;
        ensure!(!resolves(scope, "early").await, "a name without a service");
        create_service(scope, "early").await?;
        // DNS hears of services in their order: when it knows a later one, it knows the early one.
        // Each is asked for once, as that answer would be kept too; each later than the one before,
        // so that a DNS that hears of all of them late knows one in the end.
        let mut known = false;
        for number in 0..20 {
            let later = format!("later-{number}");
            create_service(scope, &later).await?;
            tokio::time::sleep(Duration::from_millis(100) * (number + 1)).await;
            known = resolves(scope, &later).await;
            if known {
                break;
            }
        }
        ensure!(known, "no service gets known");
        ensure!(!resolves(scope, "early").await, "the answer was not kept");
        outage.end()?;
        ensure!(resolves(scope, "early").await, "DNS is not fresh again");
        Ok(())
    });
}

async fn create_service(scope: &Scope, name: &str) -> Result<Service> {
    let spec = json!({ "ports": [{ "port": 80 }] });
    scope
        .create_object(json!({ "metadata": { "name": name }, "spec": spec }))
        .await
}

async fn resolves(scope: &Scope, service: &str) -> bool {
    let name = format!("{service}.{}.svc.cluster.local:80", scope.namespace());
    lookup_host(name).await.is_ok()
}

#[test]
fn a_pod_whose_process_is_killed_is_started_again() {
    scenario(async |scope| {
        let mut spec = pod::shell("sleep 600");
        spec["restartPolicy"] = json!("Always");
        scope.create_pod("victim", spec).await?;
        let pod = scope
            .pod_becomes("victim", "running", pod::is_running)
            .await?;
        let processes = pod::processes(&pod, "main")?;
        processes
            .first()
            .context("the pod has no process")?
            .kill()?;
        scope
            .pod_becomes("victim", "restarted", |status| restarted(status) > 0)
            .await?;
        Ok(())
    });
}

fn restarted(status: &PodStatus) -> i32 {
    status
        .container_statuses
        .iter()
        .flatten()
        .map(|container| container.restart_count)
        .sum()
}

fn sleeper() -> ImageSpec {
    ImageSpec {
        entries: vec![Entry::program("busybox", BUSYBOX)],
        entrypoint: ["/busybox", "sleep", "600"].map(str::to_owned).to_vec(),
        ..ImageSpec::default()
    }
}
