//! Runners come and go, and so does the API server: pods are adopted, and calls go on.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use e2e::runner::{Runner, call, publish, script};
use e2e::{Load, audited_pods, outage_scenario, scenario};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

const LONG: Duration = Duration::from_secs(60);

/// Callers of one function over one connection, none of whose calls may fail.
fn load(channel: &Channel, image: &str, callers: usize) -> Load {
    let (channel, image) = (channel.clone(), image.to_owned());
    Load::start(callers, move || {
        let (channel, image) = (channel.clone(), image.clone());
        async move { Ok(call(channel, &image, LONG).await.map(drop)?) }
    })
}

#[test]
fn a_runner_that_restarts_adopts_its_pods_whether_it_ended_well_or_not() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let mut runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let pods = scope.pod_names().await?;
        runner.server.terminate();
        ensure!(runner.server.wait().success(), "it did not end well");

        // Another runner, after one that has said goodbye.
        let runner = Runner::start_as(scope, "runner-0", &[])?;
        runner.call(&image).await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");

        // The same one, after a crash.
        drop(runner);
        let runner = Runner::start_as(scope, "runner-0", &[])?;
        runner.call(&image).await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 1, "{created:?}");
        Ok(())
    });
}

#[test]
fn a_pod_that_changes_all_the_time_is_adopted_too() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let mut runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let pods = scope.pod_names().await?;
        let (api, name) = (scope.api::<Pod>(), pods[0].clone());
        // As the kubelet does with the status of a young pod.
        let changes = Load::start(2, move || {
            let (api, name) = (api.clone(), name.clone());
            async move {
                let now = format!("{:?}", Instant::now());
                let patch = json!({ "metadata": { "annotations": { "test/changed": now } } });
                let patch = Patch::Merge(&patch);
                api.patch(&name, &PatchParams::default(), &patch).await?;
                Ok(())
            }
        });
        let scope_again = scope.clone();
        let restarted = tokio::task::spawn_blocking(move || {
            runner.server.terminate();
            ensure!(runner.server.wait().success(), "it did not end well");
            Runner::start(&scope_again, &[])
        });
        let runner = restarted.await??;
        changes.goes_on(1).await?;
        runner.call(&image).await?;
        changes.end().await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");
        Ok(())
    });
}

/// Calls until one is answered, as a client does that retries what is unavailable.
async fn call_until_answered(endpoint: Endpoint, image: String) -> Result<()> {
    let begin = Instant::now();
    loop {
        let trouble = match endpoint.connect().await {
            Ok(channel) => match call(channel, &image, LONG).await {
                Ok(_) => return Ok(()),
                Err(status) if status.code() == Code::Unavailable => status.to_string(),
                // The connection was cut before the answer came.
                Err(status) if status.code() == Code::Unknown => status.to_string(),
                Err(status) => return Err(status).context("not to be retried"),
            },
            Err(error) => error.to_string(),
        };
        ensure!(begin.elapsed() < LONG, "{trouble}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_restart_under_load_is_not_noticed_by_clients_that_retry() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let flag = format!("--port={port}");
        let mut runner = Runner::start(scope, &[&flag])?;
        runner.call(&image).await?;
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?;
        let load = Load::start(4, move || {
            call_until_answered(endpoint.clone(), image.clone())
        });
        load.goes_on(50).await?;
        let scope_again = scope.clone();
        // Ends and starts while calls come in, which needs this thread.
        let restarted = tokio::task::spawn_blocking(move || {
            runner.server.terminate();
            ensure!(runner.server.wait().success(), "it did not end well");
            Runner::start(&scope_again, &[&flag])
        });
        let _runner = restarted.await??;
        load.goes_on(50).await?;
        load.end().await?;
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 1, "{created:?}");
        Ok(())
    });
}

#[test]
fn two_runners_keep_apart_and_the_survivor_takes_over() {
    scenario(async |scope| {
        let shared = publish(scope, "shared", &script("exec cat"))?;
        let other = publish(scope, "other", &script("exec cat"))?;
        let first = Runner::start(scope, &["--scan-interval=2s"])?;
        let second = Runner::start(scope, &["--scan-interval=2s"])?;
        let survivor = second.server.connect().await;
        let victim = first.server.connect().await;
        call(victim.clone(), &shared, LONG).await?;
        let doomed = scope.pod_names().await?;
        call(victim.clone(), &other, LONG).await?;
        call(survivor.clone(), &shared, LONG).await?;
        let pods = scope.pod_names().await?;
        ensure!(pods.len() == 3, "each has its own: {pods:?}");

        let at_the_survivor = load(&survivor, &shared, 2);
        let at_the_victim = load(&victim, &shared, 2);
        // Several scans, and several looks at each other.
        let together = Instant::now() + Duration::from_secs(15);
        while Instant::now() < together {
            at_the_survivor.goes_on(1).await?;
            at_the_victim.goes_on(1).await?;
        }
        at_the_victim.end().await.context("before the kill")?;
        let victims_load = load(&victim, &shared, 2);
        victims_load.goes_on(1).await?;
        ensure!(scope.pod_names().await? == pods, "none is touched");
        let deleted = audited_pods(scope.namespace(), "delete")?;
        ensure!(
            deleted.is_empty(),
            "deleted while its owner lived: {deleted:?}"
        );

        drop(first);
        let killed = Instant::now();
        second
            .logs("adopted a pod", Duration::from_secs(75))
            .await?;
        println!("adopted after {:?}", killed.elapsed());
        // What the survivor had none of is adopted; what it has enough of goes.
        let expected: Vec<String> = pods.into_iter().filter(|pod| *pod != doomed[0]).collect();
        scope.functions_become(2, 2).await?;
        ensure!(scope.pod_names().await? == expected, "not {expected:?}");
        call(survivor, &other, LONG).await.context("adopted")?;
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 3, "{created:?}");
        while killed.elapsed() < Duration::from_secs(45) {
            at_the_survivor.goes_on(1).await?;
        }
        let calls = at_the_survivor.end().await.context("at the survivor")?;
        println!("{calls} calls at the survivor");
        Ok(())
    });
}

#[test]
fn while_the_api_server_is_down_warm_calls_go_on() {
    outage_scenario(async |scope, node| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let other = publish(scope, "other", &script("exec cat"))?;
        // What is started during the outage goes on to start after it.
        let args = ["--scan-interval=2s", "--pod-start-timeout=2m"];
        let runner = Runner::start(scope, &args)?;
        runner.call(&image).await?;
        let pods = scope.pod_names().await?;
        let channel = runner.server.connect().await;
        let outage = node.stop(Component::ApiServer)?;
        let began = Instant::now();
        let load = load(&channel, &image, 1);
        let told = call(channel.clone(), &other, Duration::from_secs(3)).await;
        let told = told.err().context("no error")?;
        println!("{told}");
        ensure!(told.message().contains("API server"), "{told}");
        while began.elapsed() < Duration::from_secs(30) {
            load.goes_on(1).await?;
        }
        outage.end()?;
        call(channel.clone(), &other, LONG + LONG)
            .await
            .context("afterwards")?;
        load.goes_on(1).await?;
        load.end().await.context("warm")?;
        let after = scope.pod_names().await?;
        ensure!(after.contains(&pods[0]), "the warm pod is gone");
        let log = runner.server.log();
        ensure!(
            !log.contains("ERROR"),
            "not told once, but at every attempt"
        );
        Ok(())
    });
}

#[test]
fn an_api_server_that_hangs_is_noticed_and_all_is_well_when_it_answers_again() {
    outage_scenario(async |scope, node| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let other = publish(scope, "other", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=2s"])?;
        let channel = runner.server.connect().await;
        call(channel.clone(), &image, LONG).await?;
        let pods = scope.pod_names().await?;
        let outage = node.pause(Component::ApiServer)?;
        let load = load(&channel, &image, 1);
        // Connections open and nothing answers, so only silence tells.
        runner.logs("cannot watch Pod", LONG).await?;
        load.goes_on(1).await?;
        outage.end()?;
        runner
            .logs("watching Pod objects of functions again", LONG)
            .await?;
        call(channel, &other, LONG).await.context("afterwards")?;
        load.end().await.context("warm")?;
        ensure!(
            scope.pod_names().await?.contains(&pods[0]),
            "the warm pod is gone"
        );
        Ok(())
    });
}
