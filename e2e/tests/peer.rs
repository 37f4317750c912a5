//! Beside Porch's own function runner: each with the other's wrapper, and one taking over from the
//! other while both are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use cluster::seed::function_reference;
use e2e::runner::{Runner, call, script};
use e2e::{Scope, audited_requests, peer, runner, scenario};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt as _;
use kube::api::ListParams;
use proto::EvaluateFunctionRequest;
use tokio::task::JoinHandle;
use tokio::time::sleep;
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
        let runner = Runner::start_wrapped(scope, &wrapper, &[])?;
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

/// Callers in a closed loop, until they are told to stop; each says how many calls it made, or
/// which one failed.
struct Load {
    enough: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Result<usize>>>,
}

impl Load {
    fn start(channel: &Channel, image: &str, callers: usize) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let one = |_| {
            let (channel, image) = (channel.clone(), image.to_owned());
            let enough = Arc::clone(&enough);
            tokio::spawn(async move {
                let mut calls = 0;
                while !enough.load(Ordering::Relaxed) {
                    call(channel.clone(), &image, LONG).await?;
                    calls += 1;
                    sleep(Duration::from_millis(20)).await;
                }
                Ok(calls)
            })
        };
        let callers = (0..callers).map(one).collect();
        Self { enough, callers }
    }

    async fn end(self) -> Result<usize> {
        self.enough.store(true, Ordering::Relaxed);
        let mut calls = 0;
        for caller in self.callers {
            calls += caller.await??;
        }
        Ok(calls)
    }
}

async fn pod_names(scope: &Scope) -> Result<Vec<String>> {
    let pods = scope.functions().await?.0;
    Ok(pods.iter().map(Pod::name_any).collect())
}

/// The pods whose deletion somebody has asked for.
fn deleted_pods(scope: &Scope) -> Result<Vec<String>> {
    let requests = audited_requests(scope.namespace())?;
    let deletions = requests
        .iter()
        .filter(|event| event["verb"] == "delete" && event["objectRef"]["resource"] == "pods");
    let names = deletions.filter_map(|event| event["objectRef"]["name"].as_str());
    Ok(names.map(str::to_owned).collect())
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
        // Built before the peer's pod has an age.
        acceptance::server::binary("function-runner");
        let peer = peer::start(scope, &peer::publish_wrapper()?, &["--scan-interval=1s"]).await?;
        let channel = peer.connect().await?;
        call(channel.clone(), &image, LONG)
            .await
            .context("the peer")?;
        let theirs = pod_names(scope).await?;
        ensure!(theirs.len() == 1, "{theirs:?}");
        let at_the_peer = Load::start(&channel, &image, 2);

        // The peer's pod has as long to live, from now on, as one of ours.
        let args = ["--pod-ttl=25s", "--scan-interval=1s"];
        let ours = Runner::start(scope, &args)?;
        let channel = ours.server.connect().await;
        let at_ours = Load::start(&channel, &image, 4);
        sleep(Duration::from_secs(8)).await;
        let both = pod_names(scope).await?;
        ensure!(
            both.len() == 2 && both.contains(&theirs[0]),
            "each has its own pod: {both:?}, the peer's was {theirs:?}; it says:\n{}",
            peer.log()
        );
        let calls = at_the_peer.end().await.context("a call at the peer")?;
        ensure!(calls > 20, "only {calls} calls at the peer");
        let deleted = deleted_pods(scope)?;
        ensure!(deleted.is_empty(), "deleted while in use: {deleted:?}");

        // Its callers have moved on, and it goes. What it leaves goes when its time is over.
        peer.stop().await?;
        scope
            .becomes::<Pod>(&theirs[0], "gone", |pod: Option<&Pod>| pod.is_none())
            .await?;
        let calls = at_ours.end().await.context("a call at ours")?;
        ensure!(calls > 100, "only {calls} calls at ours");
        let deleted = deleted_pods(scope)?;
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
        let before = pod_names(scope).await?;
        let load = Load::start(&ours.server.connect().await, &image, 2);
        // As after a rollback: it looks for pods of an earlier life, and makes one of its own.
        let peer = peer::start(scope, &peer::publish_wrapper()?, &["--scan-interval=1s"]).await?;
        let outcome = call(peer.connect().await?, &image, LONG).await;
        outcome.with_context(|| peer.log())?;
        load.end().await?;
        ensure!(deleted_pods(scope)?.is_empty(), "a pod was deleted");
        let after = pod_names(scope).await?;
        ensure!(after.len() == 2 && after.contains(&before[0]), "{after:?}");
        Ok(())
    });
}
