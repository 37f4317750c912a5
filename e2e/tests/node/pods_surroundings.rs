//! What surrounds a runner goes wrong: names, the API server, the node, the clock. Warm calls do not
//! notice, and whoever needs a new pod gets one or hears why not.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use cluster::layout::NODE_NAME;
use e2e::api_proxy::{ApiProxy, Manner};
use e2e::name_server::{Answers, NameServer};
use e2e::runner::{Runner, call, publish, script};
use e2e::{Scope, audited_pods, outage_scenario, scenario};
use k8s_openapi::api::core::v1::{Node, Pod, PodStatus};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tonic::Status;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(5);

/// No warm call may take so long. Far longer than a warm call takes beside other tests, and far
/// shorter than one answer of a slow neighbour.
const WARM: Duration = Duration::from_secs(5);
const SLOW: Duration = Duration::from_secs(15);

fn echo(scope: &Scope, name: &str) -> Result<String> {
    publish(scope, name, &script("exec cat"))
}

/// What a caller hears that cannot wait for long.
async fn impatient(runner: &Runner, image: &str) -> Result<Status> {
    let told = call(runner.server.connect().await, image, SHORT).await;
    let told = told.err().context("no error")?;
    println!("{told}");
    Ok(told)
}

#[test]
fn slow_names_do_not_slow_warm_calls_down_and_new_pods_come_up() {
    scenario(async |scope| {
        let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
        let names = NameServer::start()?;
        let setup = Runner::setup(scope, &["--scan-interval=2s"]).with_names(&names);
        let runner = setup.start()?;
        runner.call(&warm).await?;
        let load = runner.calls(&warm).start();
        // What asks for names has 5 seconds for an answer, and asks more than once.
        names.give(Answers::Late(Duration::from_secs(1)));
        runner.call(&new).await.context("a new pod")?;
        names.give(Answers::Late(SLOW));
        load.goes_on(10).await?;
        let account = load.end().await?;
        ensure!(account.slowest < WARM, "{account}");
        Ok(())
    });
}

/// While names are answered like this, warm calls go on, and whoever needs a new pod hears of names.
async fn names_are_missed(scope: &Scope, answers: Answers) -> Result<()> {
    let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
    let names = NameServer::start()?;
    let setup = Runner::setup(scope, &["--scan-interval=2s"]).with_names(&names);
    let runner = setup.start()?;
    runner.call(&warm).await?;
    let load = runner.calls(&warm).start();
    names.give(answers);
    let told = impatient(&runner, &new).await?;
    ensure!(told.message().contains("registry.local"), "{told}");
    load.goes_on(10).await?;
    names.give(Answers::Late(Duration::ZERO));
    runner.call(&new).await.context("when names are back")?;
    let account = load.end().await?;
    ensure!(account.slowest < WARM, "{account}");
    Ok(())
}

#[test]
fn names_that_fail_do_not_touch_warm_calls_and_are_told_to_who_needs_a_new_pod() {
    scenario(async |scope| names_are_missed(scope, Answers::Failures).await);
}

#[test]
fn names_that_get_no_answer_do_not_touch_warm_calls_and_are_told_to_who_needs_a_new_pod() {
    scenario(async |scope| names_are_missed(scope, Answers::Silence).await);
}

#[test]
fn a_slow_api_server_does_not_slow_warm_calls_down_and_new_pods_come_up() {
    scenario(async |scope| {
        let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
        let proxy = ApiProxy::start()?;
        proxy.be(Manner::Slow(Duration::from_millis(300)));
        let args = ["--scan-interval=1s"];
        let access = proxy.kubeconfig();
        let runner = Runner::setup(scope, &args).with_access(&access).start()?;
        runner.call(&warm).await.context("the first pod")?;
        let load = runner.calls(&warm).start();
        let begin = Instant::now();
        runner.call(&new).await.context("a new pod")?;
        println!("a new pod after {:?}", begin.elapsed());
        // From now on a warm call that asks the API server for anything takes longer than it may.
        proxy.be(Manner::Slow(SLOW));
        load.goes_on(10).await?;
        // Some scans.
        load.goes_on_for(Duration::from_secs(3)).await?;
        let account = load.end().await?;
        ensure!(account.slowest < WARM, "{account}");
        Ok(())
    });
}

#[test]
fn an_api_server_that_refuses_with_429_is_told_not_hammered_and_warm_calls_go_on() {
    scenario(async |scope| {
        let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
        let proxy = ApiProxy::start()?;
        let args = ["--scan-interval=1s"];
        let access = proxy.kubeconfig();
        let runner = Runner::setup(scope, &args).with_access(&access).start()?;
        runner.call(&warm).await?;
        let load = runner.calls(&warm).start();
        proxy.be(Manner::Refusing);
        let told = impatient(&runner, &new).await?;
        ensure!(told.message().contains("API server"), "{told}");
        load.goes_on(10).await?;
        let refused = proxy.refused();
        println!("{refused} requests were refused");
        // Each may be repeated after the second that the API server has asked for.
        ensure!(refused > 0 && refused < 100, "{refused} requests");
        proxy.be(Manner::Plain);
        runner.call(&new).await.context("afterwards")?;
        let account = load.end().await?;
        ensure!(account.slowest < WARM, "{account}");
        Ok(())
    });
}

#[test]
fn what_happens_while_a_watch_has_lost_its_past_is_found_out() {
    outage_scenario(async |scope, node| {
        let (lost, kept) = (echo(scope, "lost")?, echo(scope, "kept")?);
        let proxy = ApiProxy::start()?;
        let access = proxy.kubeconfig();
        let args = ["--scan-interval=1h"];
        let runner = Runner::setup(scope, &args).with_access(&access).start()?;
        runner.call(&lost).await?;
        let victim = scope.pod_names().await?.remove(0);
        runner.call(&kept).await?;
        let load = runner.calls(&kept).start();
        // Nobody tells the runner of this.
        proxy.be(Manner::Unwatched);
        let at_once = DeleteParams::default().grace_period(0);
        scope.api::<Pod>().delete(&victim, &at_once).await?;
        let is_gone = |pod: Option<&Pod>| pod.is_none();
        scope.becomes::<Pod>(&victim, "gone", is_gone).await?;
        // A new API server knows nothing of what was before it.
        node.stop(Component::ApiServer)?.end()?;
        proxy.be(Manner::Plain);
        runner.loses(&victim, LONG).await?;
        ensure!(proxy.expired() > 0, "no watch was answered with 410");
        runner.call(&lost).await.context("in another pod")?;
        load.end().await?;
        Ok(())
    });
}

#[test]
fn while_the_node_is_not_ready_warm_calls_go_on_and_afterwards_new_pods_start() {
    outage_scenario(async |scope, node| {
        let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
        let runner = Runner::start(scope, &["--scan-interval=1s"])?;
        runner.call(&warm).await?;
        let pods = scope.pod_names().await?;
        let is_ready = |status: &PodStatus| has_ready(status, "True");
        scope.pod_becomes(&pods[0], "ready", is_ready).await?;
        let load = runner.calls(&warm).start();
        let outage = node.stop(Component::Kubelet)?;
        report_not_ready(scope, &pods[0]).await?;
        let is_unready = |status: &PodStatus| has_ready(status, "False");
        scope.pod_becomes(&pods[0], "not ready", is_unready).await?;
        let told = impatient(&runner, &new).await?;
        ensure!(told.message().contains("nodes are available"), "{told}");
        load.goes_on_for(Duration::from_secs(3)).await?;
        outage.end()?;
        runner.call(&new).await.context("afterwards")?;
        let account = load.end().await?;
        ensure!(account.slowest < WARM, "{account}");
        ensure!(scope.pod_names().await?.contains(&pods[0]), "another pod");
        Ok(())
    });
}

#[test]
fn while_containerd_restarts_warm_calls_go_on_and_afterwards_new_pods_start() {
    outage_scenario(async |scope, node| {
        let (warm, new) = (echo(scope, "warm")?, echo(scope, "new")?);
        let runner = Runner::start(scope, &["--scan-interval=1s"])?;
        runner.call(&warm).await?;
        let load = runner.calls(&warm).start();
        node.stop(Component::Containerd)?.end()?;
        runner.call(&new).await.context("afterwards")?;
        load.end().await?;
        Ok(())
    });
}

fn has_ready(status: &PodStatus, value: &str) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == value)
}

/// As the node controller does after 50 seconds of silence; taints follow from it.
async fn report_not_ready(scope: &Scope, pod: &str) -> Result<()> {
    let ordinary = PatchParams::default();
    let status = |status: &str| {
        let condition = json!({ "type": "Ready", "status": status, "reason": "Test" });
        json!({ "status": { "conditions": [condition] } })
    };
    let nodes: Api<Node> = Api::all(scope.client());
    let unknown = Patch::Strategic(status("Unknown"));
    nodes.patch_status(NODE_NAME, &ordinary, &unknown).await?;
    let unready = Patch::Strategic(status("False"));
    let pods = scope.api::<Pod>();
    pods.patch_status(pod, &ordinary, &unready).await?;
    Ok(())
}

/// Pods live for two minutes without a call; a clock that is wrong by ten costs none of them its
/// life, neither after a restart nor beside another runner.
async fn wrong_clock_costs_no_pod(scope: &Scope, offset: &str) -> Result<()> {
    let (first, second) = (echo(scope, "first")?, echo(scope, "second")?);
    let args = ["--pod-ttl=2m", "--scan-interval=1s"];
    let right = || Runner::setup(scope, &args).named("runner-0");
    let runner = right().start()?;
    runner.call(&first).await?;
    runner.stop()?;

    let beside = Runner::setup(scope, &args).named("runner-1").start()?;
    let runner = right().with_clock(offset).start()?;
    runner.call(&first).await?;
    runner.call(&second).await?;
    let pods = scope.pod_names().await?;
    let load = runner.calls(&first).start();
    // Several scans of both.
    load.goes_on_for(SHORT).await?;
    load.end().await?;
    ensure!(scope.pod_names().await? == pods, "while it ran");
    drop(beside);
    runner.stop()?;

    let runner = right().start()?;
    runner.call(&first).await?;
    runner.call(&second).await?;
    ensure!(scope.pod_names().await? == pods, "after it ran");
    let deleted = audited_pods(scope.namespace(), "delete")?;
    ensure!(deleted.is_empty(), "deleted: {deleted:?}");
    Ok(())
}

#[test]
fn a_clock_ten_minutes_ahead_costs_no_pod() {
    scenario(async |scope| wrong_clock_costs_no_pod(scope, "+10m").await);
}

#[test]
fn a_clock_ten_minutes_behind_costs_no_pod() {
    scenario(async |scope| wrong_clock_costs_no_pod(scope, "-10m").await);
}
