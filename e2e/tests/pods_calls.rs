//! Calls in pods: how many pods there are for how many callers, what they cost, and when they go.

use std::time::{Duration, Instant};

use acceptance::LIST;
use anyhow::{Result, ensure};
use e2e::runner::{Runner, call, publish, script};
use e2e::{Scope, audited_requests, scenario};
use futures::future::join_all;
use kube::ResourceExt as _;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_first_call_starts_a_pod_and_the_second_uses_it() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        let begin = Instant::now();
        let answer = runner.call(&image).await?;
        ensure!(answer.resource_list == LIST, "another list came back");
        println!("cold: {:?}", begin.elapsed());
        let begin = Instant::now();
        runner.call(&image).await?;
        println!("warm: {:?}", begin.elapsed());
        ensure!(begin.elapsed() < Duration::from_secs(1), "not warm");
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
    let requests = audited_requests(scope.namespace())?;
    let created = requests
        .iter()
        .filter(|event| event["verb"] == "create" && event["objectRef"]["resource"] == "pods");
    let created = created.count();
    ensure!(created == pods, "{created} pods were created");
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

#[test]
fn warm_calls_make_no_request_to_the_api_server() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=10m"])?;
        let channel = runner.server.connect().await;
        call(channel.clone(), &image, LONG).await?;
        // The watch is told of the pod's last changes, and the audit log written.
        tokio::time::sleep(Duration::from_secs(3)).await;
        // The lease is renewed whether or not there are calls.
        let count = || -> Result<usize> {
            let requests = audited_requests(scope.namespace())?;
            let others = requests
                .iter()
                .filter(|event| event["objectRef"]["resource"] != "leases")
                .filter(|event| event["userAgent"] != "kubelet");
            let by_the_runner = others.filter(|event| {
                let agent = event["userAgent"].as_str().unwrap_or_default();
                !agent.contains("kubelet") && !agent.contains("kube-")
            });
            Ok(by_the_runner.count())
        };
        let before = count()?;
        let begin = Instant::now();
        for _ in 0..200 {
            call(channel.clone(), &image, LONG).await?;
        }
        println!("200 warm calls: {:?}", begin.elapsed());
        tokio::time::sleep(Duration::from_secs(2)).await;
        ensure!(before > 0, "the audit log tells nothing");
        ensure!(count()? == before, "{} requests", count()? - before);
        Ok(())
    });
}

#[test]
fn an_idle_pod_goes_with_its_service_and_use_keeps_it() {
    scenario(async |scope| {
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let slow = publish(scope, "slow", &script("sleep 12; exec cat"))?;
        let runner = Runner::start(scope, &["--pod-ttl=5s", "--scan-interval=1s"])?;
        let channel = runner.server.connect().await;
        let busy = tokio::spawn({
            let channel = channel.clone();
            async move { call(channel, &slow, LONG).await.map(drop) }
        });
        call(channel.clone(), &echo, LONG).await?;
        let (pods, _) = scope.functions().await?;
        let pod = |pods: &[k8s_openapi::api::core::v1::Pod]| {
            let mut names: Vec<String> = pods.iter().map(kube::ResourceExt::name_any).collect();
            names.retain(|name| name.starts_with("echo-"));
            names
        };
        let first = pod(&pods);
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(3)).await;
            call(channel.clone(), &echo, LONG).await?;
        }
        ensure!(pod(&scope.functions().await?.0) == first, "it was in use");
        busy.await??;
        scope.functions_become(0, 0).await
    });
}
