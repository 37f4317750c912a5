//! Calls in pods: how many pods there are for how many callers, what they cost, and when they go.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use acceptance::LIST;
use acceptance::system::{connections_to, open_descriptors, resident_kib};
use anyhow::{Context, Result, bail, ensure};
use cluster::layout::API_PORT;
use e2e::runner::{Runner, WRAPPER_PORT, call, publish, script};
use e2e::{Scope, audited_pods, audited_requests, scenario};
use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_first_call_starts_a_pod_and_the_second_uses_it() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        let begin = Instant::now();
        let impatient = runner.server.connect().await;
        let given_up = call(impatient, &image, Duration::from_millis(200)).await;
        ensure!(given_up.is_err(), "it cannot be there so soon");
        // The pod goes on to start, for others.
        let answer = runner.call(&image).await?;
        ensure!(answer.resource_list == LIST, "another list came back");
        println!("cold: {:?}", begin.elapsed());
        for part in [
            "image metadata",
            "the wrapper's answer",
            "first answer took",
        ] {
            let told = runner.logs(part, Duration::from_secs(1)).await;
            told.context("a part of the start that is not reported")?;
        }
        let begin = Instant::now();
        runner.call(&image).await?;
        println!("warm: {:?}", begin.elapsed());
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 1, "{created:?}");
        let (pods, services) = scope.functions().await?;
        ensure!((pods.len(), services.len()) == (1, 1), "{pods:?}");
        ensure!(
            services[0].owner_references()[0].uid == pods[0].uid().unwrap_or_default(),
            "the service goes with its pod"
        );
        Ok(())
    });
}

#[test]
fn a_function_that_fails_is_told_as_its_wrapper_tells_it() {
    scenario(async |scope| {
        let failing = script("echo 'the reason' >&2; exit 3");
        let image = publish(scope, "failing", &failing)?;
        let runner = Runner::start(scope, &[])?;
        let status = runner.call(&image).await.unwrap_err();
        ensure!(status.code() == tonic::Code::Internal, "{status}");
        ensure!(status.message().contains("exit code 3"), "{status}");
        ensure!(status.message().contains("the reason"), "{status}");
        ensure!(!status.details().is_empty(), "the details are lost");
        ensure!(!runner.server.log().contains("the reason"), "it was logged");
        Ok(())
    });
}

async fn hundred(scope: &Scope, args: &[&str], pods: usize) -> Result<()> {
    let image = publish(scope, "echo", &script("exec cat"))?;
    let runner = Runner::start(scope, args)?;
    let channel = runner.server.connect().await;
    let calls = (0..100).map(|_| call(channel.clone(), &image, LONG));
    for answer in join_all(calls).await {
        ensure!(answer?.resource_list == LIST, "another list came back");
    }
    let created = audited_pods(scope.namespace(), "create")?;
    ensure!(created.len() == pods, "{created:?}");
    scope.functions_become(pods, pods).await
}

#[test]
fn a_hundred_first_calls_make_one_pod() {
    scenario(async |scope| hundred(scope, &[], 1).await);
}

#[test]
fn a_hundred_first_calls_make_as_many_pods_as_are_allowed() {
    scenario(async |scope| hundred(scope, &["--max-parallel-pods-per-function=3"], 3).await);
}

/// Every request that was answered so far, oldest first: a request of the test's own, sent now, is
/// waited for in the audit log.
async fn audited_until_now(scope: &Scope, marker: &str) -> Result<Vec<Value>> {
    let config_maps = scope.api::<ConfigMap>();
    config_maps.get_opt(marker).await?;
    let begin = Instant::now();
    loop {
        let requests = audited_requests(scope.namespace())?;
        if requests.iter().any(|it| it["objectRef"]["name"] == marker) {
            return Ok(requests);
        }
        ensure!(begin.elapsed() < LONG, "{marker} is not in the audit log");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many of the requests are by the runner, and not made whether or not there are calls: the lease
/// is renewed, and so are the watches.
fn by_calls(requests: &[Value]) -> usize {
    let is_by_calls = |event: &&Value| {
        let agent = event["userAgent"].as_str().unwrap_or_default();
        let is_a_components = agent.contains("kubelet") || agent.contains("kube-");
        let resource = event["objectRef"]["resource"].as_str().unwrap_or_default();
        let is_others = ["leases", "configmaps"].contains(&resource);
        !is_a_components && !is_others && event["verb"] != "watch"
    };
    requests.iter().filter(is_by_calls).count()
}

#[test]
fn warm_calls_make_no_request_to_the_api_server() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=10m"])?;
        let channel = runner.server.connect().await;
        call(channel.clone(), &image, LONG).await?;
        let mut made = Vec::new();
        // What follows the pod's start may fall into the first round; calls that ask would do so in
        // every round.
        for round in 0..3 {
            let before = audited_until_now(scope, &format!("before-{round}")).await?;
            let before = by_calls(&before);
            ensure!(before > 0, "the audit log has nothing");
            let begin = Instant::now();
            for _ in 0..200 {
                call(channel.clone(), &image, LONG).await?;
            }
            println!("200 warm calls: {:?}", begin.elapsed());
            let after = audited_until_now(scope, &format!("after-{round}")).await?;
            made.push(by_calls(&after) - before);
            if made.ends_with(&[0]) {
                return Ok(());
            }
        }
        bail!("in each round of 200 calls: {made:?} requests")
    });
}

/// A function's pod and when it may go, if it is there.
async fn reclaim_after(scope: &Scope, function: &str) -> Result<Option<(String, u64)>> {
    let (pods, _) = scope.functions().await?;
    let pod = pods
        .into_iter()
        .find(|pod| pod.name_any().starts_with(function));
    let Some(pod) = pod else { return Ok(None) };
    let time = pod.annotations().get("fn.kpt.dev/reclaim-after");
    let time = time.context("no annotation")?.parse()?;
    Ok(Some((pod.name_any(), time)))
}

#[test]
fn an_idle_pod_goes_with_its_service_and_use_keeps_it() {
    scenario(async |scope| {
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let slow = publish(scope, "slow", &script("sleep 14; exec cat"))?;
        let runner = Runner::start(scope, &["--pod-ttl=5s", "--scan-interval=1s"])?;
        let channel = runner.server.connect().await;
        let busy = tokio::spawn({
            let channel = channel.clone();
            async move { call(channel, &slow, LONG).await.map(drop) }
        });
        call(channel.clone(), &echo, LONG).await?;
        let first = reclaim_after(scope, "echo-").await?.context("a pod")?.0;
        // Used for more than twice its time, with pauses shorter than that.
        for _ in 0..6 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            call(channel.clone(), &echo, LONG).await?;
        }
        let used = Instant::now();
        let pod = reclaim_after(scope, "echo-").await?;
        ensure!(pod.is_some_and(|pod| pod.0 == first), "it was in use");
        if !busy.is_finished() {
            let pod = reclaim_after(scope, "slow-")
                .await?
                .context("it was busy")?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
            ensure!(pod.1 >= now, "others would take it for idle");
        }
        while reclaim_after(scope, "echo-").await?.is_some() {
            // Time and scan, and what a busy machine adds.
            ensure!(used.elapsed() < Duration::from_secs(16), "still there");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        busy.await??;
        scope.functions_become(0, 0).await
    });
}

#[test]
fn fifty_pods_that_came_and_went_leave_nothing_behind() {
    scenario(async |scope| {
        let mut images = Vec::new();
        for number in 0..10 {
            let function = script(&format!("exec cat # {number}"));
            images.push(publish(scope, &format!("echo-{number}"), &function)?);
        }
        let runner = Runner::start(scope, &["--pod-ttl=1s", "--scan-interval=1s"])?;
        let (channel, pid) = (runner.server.connect().await, runner.server.pid());
        let (mut descriptors, mut memory) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let calls = images
                .iter()
                .map(|image| call(channel.clone(), image, LONG));
            for answer in join_all(calls).await {
                answer?;
            }
            scope.functions_become(0, 0).await?;
            // Connections to the API server are kept for a while, as many as were needed at once.
            let count = || open_descriptors(pid).saturating_sub(connections_to(pid, API_PORT));
            descriptors.push(settled(count).await);
            let to_wrappers = connections_to(pid, WRAPPER_PORT);
            ensure!(
                to_wrappers == 0,
                "{to_wrappers} connections to pods that are gone"
            );
            memory.push(resident_kib(pid));
        }
        println!("after each 10 pods: descriptors {descriptors:?}, KiB {memory:?}");
        ensure!(descriptors[4] <= descriptors[0] + 2, "{descriptors:?}");
        ensure!(memory[4] <= memory[1] + 4096, "{memory:?}");
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 50, "{} pods", created.len());
        Ok(())
    });
}

/// The least of what is counted over two seconds: connections take a moment to close.
async fn settled(count: impl Fn() -> usize) -> usize {
    let begin = Instant::now();
    let mut least = count();
    while begin.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        least = least.min(count());
    }
    least
}
