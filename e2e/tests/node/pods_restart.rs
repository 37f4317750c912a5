//! Runners come and go, and so does the API server: pods are adopted, and calls go on.

use std::net::TcpListener;
use std::time::{Duration, Instant};
use std::{fs, process};

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use e2e::api_proxy::{ApiProxy, Manner};
use e2e::runner::{Runner, call, publish, script};
use e2e::{Load, Scope, audited_pods, outage_scenario, scenario};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::json;

const LONG: Duration = Duration::from_secs(60);

/// Services of type NodePort take ports from here on.
const NODE_PORTS: u16 = 30_000;

/// The node's own programs listen below.
const FIRST_PORT: u16 = 16_000;

/// A runner with a warm pod: its function, and the pod's name.
async fn warm(scope: &Scope) -> Result<(Runner, String, Vec<String>)> {
    let image = publish(scope, "echo", &script("exec cat"))?;
    let runner = Runner::start(scope, &[])?;
    runner.call(&image).await?;
    Ok((runner, image, scope.pod_names().await?))
}

#[test]
fn a_runner_that_restarts_adopts_its_pods_whether_it_ended_well_or_not() {
    scenario(async |scope| {
        let (runner, image, pods) = warm(scope).await?;
        runner.stop()?;

        // Another runner, after one that has said goodbye.
        let runner = Runner::setup(scope, &[]).named("runner-0").start()?;
        runner.call(&image).await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");

        // The same one, after a crash.
        drop(runner);
        let runner = Runner::setup(scope, &[]).named("runner-0").start()?;
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
        let (runner, image, pods) = warm(scope).await?;
        // As the kubelet does with the status of a young pod.
        let (elsewhere, name) = (scope.clone(), pods[0].clone());
        let changes = Load::start(2, async move || {
            let api = elsewhere.elsewhere().await?.api::<Pod>();
            Ok(async move || {
                let now = format!("{:?}", Instant::now());
                let patch = json!({ "metadata": { "annotations": { "test/changed": now } } });
                let patch = Patch::Merge(&patch);
                api.patch(&name, &PatchParams::default(), &patch).await?;
                Ok(())
            })
        });
        changes.goes_on(1).await?;
        runner.stop()?;
        let runner = Runner::start(scope, &[])?;
        changes.goes_on(1).await?;
        runner.call(&image).await?;
        changes.end().await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");
        Ok(())
    });
}

/// A port that nobody else gets while the runner that had it is away: it is free now, and the kernel
/// gives none of these to whoever asks for any.
fn port_to_return_to() -> Result<u16> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")?;
    let first = range
        .split_whitespace()
        .next()
        .context("a range of ports")?;
    let below = first.parse::<u16>()?.min(NODE_PORTS);
    // Not the same one as another run of this test, which may be about to take it.
    let begin = below - 1 - u16::try_from(process::id() % 5_000)?;
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let mut ports = (FIRST_PORT..=begin).rev();
    ports.find(is_free).context("no free port")
}

#[test]
fn a_restart_under_load_cuts_no_call_and_keeps_the_pod() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let flag = format!("--port={}", port_to_return_to()?);
        let runner = Runner::start(scope, &[&flag])?;
        runner.call(&image).await?;
        let load = runner.calls(&image).callers(4).start();
        load.goes_on(50).await?;
        runner.stop()?;
        let _runner = Runner::start(scope, &[&flag])?;
        load.goes_on(50).await?;
        // Between the two runners nobody listens: such a call is never sent.
        let account = load.ended().await?;
        let cut = account.failures.iter().find(|failure| !failure.is_unsent);
        ensure!(cut.is_none(), "{account}");
        let created = audited_pods(scope.namespace(), "create")?;
        ensure!(created.len() == 1, "{created:?}");
        Ok(())
    });
}

#[test]
fn calls_in_flight_at_sigterm_are_answered() {
    scenario(async |scope| {
        let image = publish(scope, "slow", &script("sleep 2; exec cat"))?;
        let runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let load = runner.calls(&image).callers(8).start();
        // The first eight are answered, and the next eight are under way.
        load.goes_on(8).await?;
        runner.stop()?;
        let account = load.ended().await?;
        ensure!(account.answered >= 16, "{account}");
        let cut = account.failures.iter().find(|failure| !failure.is_unsent);
        ensure!(cut.is_none(), "{account}");
        Ok(())
    });
}

#[test]
fn calls_right_after_a_start_wait_for_the_adoption_instead_of_starting_a_second_pod() {
    scenario(async |scope| {
        let (runner, image, pods) = warm(scope).await?;
        runner.stop()?;

        // It listens long before it knows which pods there are.
        let proxy = ApiProxy::start()?;
        proxy.be(Manner::Slow(Duration::from_secs(1)));
        let setup = Runner::setup(scope, &[]).with_access(&proxy.kubeconfig());
        let runner = setup.start_unready()?;
        let load = runner.calls(&image).callers(4).start();
        load.goes_on(8).await?;
        ensure!(
            runner.server.log().contains("adopted a pod"),
            "answered before the adoption"
        );
        load.end().await?;
        ensure!(scope.pod_names().await? == pods, "not adopted");
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

        let at_the_survivor = second.calls(&shared).callers(2).start();
        let at_the_victim = first.calls(&shared).callers(2).start();
        // Several scans, and several looks at each other.
        let together = Duration::from_secs(15);
        at_the_survivor.goes_on_for(together).await?;
        at_the_victim.end().await.context("before the kill")?;
        let victims_load = first.calls(&shared).callers(2).start();
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
        let rest = Duration::from_secs(45).saturating_sub(killed.elapsed());
        at_the_survivor.goes_on_for(rest).await?;
        at_the_survivor.end().await.context("at the survivor")?;
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
        let load = runner.calls(&image).start();
        let told = call(channel.clone(), &other, Duration::from_secs(3)).await;
        let told = told.err().context("no error")?;
        println!("{told}");
        ensure!(told.message().contains("API server"), "{told}");
        let rest = Duration::from_secs(30).saturating_sub(began.elapsed());
        load.goes_on_for(rest).await?;
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
            "logged at every attempt instead of once"
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
        let load = runner.calls(&image).start();
        // Connections open and nothing answers, so only silence tells.
        runner.logs("cannot watch Pod objects", LONG).await?;
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
