//! Beside Porch's own function runner: each with the other's wrapper, and one taking over from the
//! other while both are called.

use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use cluster::seed::function_reference;
use e2e::runner::{Runner, call, script};
use e2e::{Calls, Load, Scope, audited_pods, peer, runner, scenario};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt as _;
use kube::api::ListParams;
use proto::EvaluateFunctionRequest;
use tonic::Request;
use tonic::transport::Channel;

const LONG: Duration = Duration::from_secs(60);

/// A list for the real set-namespace.
const PACKAGE: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: colours
    namespace: before
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    namespace: after
";

/// Publishes a function under a short tag: the peer makes a label of it, and labels have an end.
fn publish(scope: &Scope, name: &str, spec: &ImageSpec) -> Result<String> {
    let repository = format!("{}/{name}", scope.namespace());
    Ok(Registry::Open.publish(&repository, "v1", spec)?.reference)
}

/// An echo, a failure and a real function, through any runner with any wrapper.
async fn functions_behave(scope: &Scope, channel: Channel) -> Result<()> {
    let echo = publish(scope, "echo", &script("echo 'by the way' >&2; exec cat"))?;
    let answer = call(channel.clone(), &echo, LONG).await?;
    ensure!(answer.resource_list == LIST, "another list came back");
    ensure!(answer.log == "by the way\n", "{:?}", answer.log);

    let failing = publish(scope, "failing", &script("echo 'the reason' >&2; exit 3"))?;
    let told = call(channel.clone(), &failing, LONG).await;
    let told = told.err().context("a failed function was answered")?;
    ensure!(told.message().contains("the reason"), "{told}");

    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: PACKAGE.into(),
        image: function_reference("set-namespace").context("no such function")?,
        tag: String::new(),
    });
    request.set_timeout(LONG);
    let answer = acceptance::evaluate(channel, request).await?;
    let list = String::from_utf8(answer.resource_list.to_vec())?;
    ensure!(list.contains("namespace: after"), "{list}");
    ensure!(!list.contains("namespace: before"), "{list}");
    Ok(())
}

#[test]
fn our_runner_works_with_the_peers_wrapper() {
    scenario(async |scope| {
        let wrapper = peer::publish_wrapper()?;
        let runner = Runner::setup(scope, &[]).with_wrapper(&wrapper).start()?;
        functions_behave(scope, runner.server.connect().await).await
    });
}

#[test]
fn the_peers_runner_works_with_our_wrapper() {
    scenario(async |scope| {
        let wrapper = runner::publish_wrapper("wrapper", "e2e")?;
        let peer = peer::start(scope, &wrapper, &[]).await?;
        let outcome = functions_behave(scope, peer.connect().await?).await;
        outcome.with_context(|| peer.log())
    });
}

/// Callers of one function, with a pause after each call: the peer shares the machine with us.
fn load(address: &str, image: &str, callers: usize) -> Load {
    let calls = Calls::to(address, image).callers(callers);
    calls.pausing(Duration::from_millis(20)).start()
}

/// Services carry the label only if they are ours.
async fn services(scope: &Scope) -> Result<Vec<String>> {
    let services = scope
        .api::<Service>()
        .list(&ListParams::default())
        .await?
        .items;
    Ok(services.iter().map(Service::name_any).collect())
}

#[test]
fn a_rolling_upgrade_from_the_peer_fails_no_call_and_leaves_nothing_behind() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let peer = peer::start(scope, &peer::publish_wrapper()?, &["--scan-interval=1s"]).await?;
        let channel = peer.connect().await?;
        call(channel.clone(), &image, LONG)
            .await
            .context("the peer")?;
        let theirs = scope.pod_names().await?;
        ensure!(theirs.len() == 1, "{theirs:?}");
        let at_the_peer = load(&peer.address(), &image, 2);

        // The peer's pod has as long to live, from now on, as one of ours.
        let args = ["--pod-ttl=25s", "--scan-interval=1s"];
        let ours = Runner::start(scope, &args)?;
        let at_ours = load(&ours.server.address(), &image, 4);
        at_ours.goes_on(100).await.context("at ours")?;
        at_the_peer.goes_on(20).await.context("at the peer")?;
        // Several scans of both.
        let together = Duration::from_secs(5);
        at_ours.goes_on_for(together).await.context("at ours")?;
        at_the_peer.goes_on(1).await.context("at the peer")?;
        let both = scope.pod_names().await?;
        ensure!(
            both.len() == 2 && both.contains(&theirs[0]),
            "each has its own pod: {both:?}, the peer's was {theirs:?}; it says:\n{}",
            peer.log()
        );
        at_the_peer.end().await.context("a call at the peer")?;
        let deleted = audited_pods(scope.namespace(), "delete")?;
        ensure!(deleted.is_empty(), "deleted while in use: {deleted:?}");

        // Its callers have moved on, and it goes. What it leaves goes when its time is over.
        peer.stop().await?;
        scope
            .becomes::<Pod>(&theirs[0], "gone", |pod: Option<&Pod>| pod.is_none())
            .await?;
        at_ours.end().await.context("a call at ours")?;
        let deleted = audited_pods(scope.namespace(), "delete")?;
        ensure!(deleted == theirs, "deleted while in use: {deleted:?}");

        scope.functions_become(0, 0).await?;
        let left = services(scope).await?;
        ensure!(left.is_empty(), "services left behind: {left:?}");
        Ok(())
    });
}

#[test]
fn a_peer_that_starts_beside_us_leaves_our_pods_alone() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let ours = Runner::start(scope, &[])?;
        ours.call(&image).await?;
        let before = scope.pod_names().await?;
        let load = load(&ours.server.address(), &image, 2);
        // As after a rollback: it looks for pods of an earlier life, and makes one of its own.
        let peer = peer::start(scope, &peer::publish_wrapper()?, &["--scan-interval=1s"]).await?;
        let outcome = call(peer.connect().await?, &image, LONG).await;
        outcome.with_context(|| peer.log())?;
        load.end().await?;
        ensure!(
            audited_pods(scope.namespace(), "delete")?.is_empty(),
            "a pod was deleted"
        );
        let after = scope.pod_names().await?;
        ensure!(after.len() == 2 && after.contains(&before[0]), "{after:?}");
        Ok(())
    });
}
