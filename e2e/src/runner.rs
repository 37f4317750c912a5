//! The real runner on the node, with its pods in the test's namespace, and functions for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acceptance::{LIST, Server, evaluate};
use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use cluster::seed::with_shell;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::api::ListParams;
use parking_lot::Mutex;
use proto::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::load::Calls;
use crate::scope::Scope;
pub use crate::setup::Setup;

/// How long objects may take to come or go.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where wrappers listen.
pub const WRAPPER_PORT: u16 = 9446;

/// The binaries that `make build` makes, which `make e2e` sees to.
pub(crate) fn binaries() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release"))
}

/// Publishes the wrapper's image, as users get it, under any name; its reference by digest, so that a
/// node that outlives a build does not go on with the wrapper of before. Once for all tests: who reads a
/// tag that is being written hears of an error of the registry.
pub fn publish_wrapper(repository: &str, tag: &str) -> Result<String> {
    static PUBLISHED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut published = PUBLISHED.lock();
    let name = format!("{repository}:{tag}");
    if let Some(reference) = published.get(&name) {
        return Ok(reference.clone());
    }
    let spec = images::wrapper(&binaries());
    let reference = Registry::Open.publish(repository, tag, &spec)?.pinned();
    published.insert(name, reference.clone());
    Ok(reference)
}

/// What a function made of a shell script looks like.
#[must_use]
pub fn script(script: &str) -> ImageSpec {
    ImageSpec {
        entrypoint: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
        ..with_shell(&["sh", "cat", "sleep", "tail"])
    }
}

/// Publishes a function of the test's own; its reference.
pub fn publish(scope: &Scope, name: &str, spec: &ImageSpec) -> Result<String> {
    Ok(Registry::Open
        .publish(&format!("test/{name}"), scope.namespace(), spec)?
        .reference)
}

/// A running runner.
#[derive(Debug)]
pub struct Runner {
    pub server: Server,
}

impl Runner {
    /// Starts it with its pods in the scope's namespace, and waits until it is ready.
    pub fn start(scope: &Scope, args: &[&str]) -> Result<Self> {
        Self::setup(scope, args).start()
    }

    /// The same, with more to be chosen.
    pub fn setup<'a>(scope: &'a Scope, args: &[&str]) -> Setup<'a> {
        Setup::new(scope, args)
    }

    /// Asks it to end, as a rollout does, and waits until it has ended well.
    pub fn stop(mut self) -> Result<()> {
        self.server.terminate();
        ensure!(self.server.wait().success(), "it did not end well");
        Ok(())
    }

    /// Callers of a function that returns its list.
    pub fn calls(&self, image: &str) -> Calls {
        Calls::to(&self.server.address(), image)
    }

    /// Waits until a line of the log has these words, and lets other calls go on meanwhile.
    pub async fn logs(&self, words: &str, patience: Duration) -> Result<()> {
        self.logs_line(|line| line.contains(words), words, patience)
            .await
    }

    /// Waits until the runner knows that this pod is of no use any more: from the cluster, or because
    /// a call was lost in it.
    pub async fn loses(&self, pod: &str, patience: Duration) -> Result<()> {
        let words = ["a pod is lost", "a pod that a call was lost in is given up"];
        let is_lost =
            |line: &str| line.contains(pod) && words.iter().any(|words| line.contains(words));
        self.logs_line(is_lost, pod, patience).await
    }

    async fn logs_line(
        &self,
        is_it: impl Fn(&str) -> bool,
        words: &str,
        patience: Duration,
    ) -> Result<()> {
        let begin = Instant::now();
        while !self.server.log().lines().any(&is_it) {
            let waited = begin.elapsed();
            ensure!(
                waited < patience,
                "no {words:?} in the log after {waited:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Evaluates over a new connection.
    pub async fn call(&self, image: &str) -> Result<EvaluateFunctionResponse, Status> {
        call(self.server.connect().await, image, PATIENCE).await
    }

    /// Evaluates as Porch 1.6 asks for it: with a tag, or a version constraint, beside the image.
    pub async fn call_tagged(
        &self,
        image: &str,
        tag: &str,
    ) -> Result<EvaluateFunctionResponse, Status> {
        let mut request = Request::new(EvaluateFunctionRequest {
            resource_list: LIST.into(),
            image: image.to_owned(),
            tag: tag.to_owned(),
        });
        request.set_timeout(PATIENCE);
        evaluate(self.server.connect().await, request).await
    }

    /// Evaluates another list than the smallest.
    pub async fn call_on(
        &self,
        image: &str,
        list: String,
    ) -> Result<EvaluateFunctionResponse, Status> {
        call_on(self.server.connect().await, image, list, PATIENCE).await
    }

    /// Evaluates what cannot run, and returns what the caller hears; within 20 seconds.
    pub async fn heard(&self, image: &str) -> Result<Status> {
        let begin = Instant::now();
        let status = self.call(image).await.err().context("no error")?;
        let took = begin.elapsed();
        println!("{took:?}: {status}");
        ensure!(took < Duration::from_secs(20), "told after {took:?}");
        Ok(status)
    }
}

impl Drop for Runner {
    /// Seen only if the test fails.
    fn drop(&mut self) {
        eprintln!("---- log of a runner ----\n{}", self.server.log());
    }
}

/// Evaluates the smallest list.
pub async fn call(
    channel: Channel,
    image: &str,
    timeout: Duration,
) -> Result<EvaluateFunctionResponse, Status> {
    call_on(channel, image, LIST.to_owned(), timeout).await
}

pub(crate) async fn call_on(
    channel: Channel,
    image: &str,
    list: String,
    timeout: Duration,
) -> Result<EvaluateFunctionResponse, Status> {
    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.to_owned(),
        tag: String::new(),
    });
    request.set_timeout(timeout);
    evaluate(channel, request).await
}

impl Scope {
    /// The function pods that are there and not on their way out, and the services.
    pub async fn functions(&self) -> Result<(Vec<Pod>, Vec<Service>)> {
        let ours = ListParams::default().labels("fn.kpt.dev/image");
        let pods = self.api::<Pod>().list(&ours).await?.items;
        let services = self.api::<Service>().list(&ours).await?.items;
        let stays = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
        Ok((pods.into_iter().filter(stays).collect(), services))
    }

    /// The names of the function pods that are there, in order.
    pub async fn pod_names(&self) -> Result<Vec<String>> {
        let (pods, _) = self.functions().await?;
        let mut names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
        names.sort();
        Ok(names)
    }

    /// The function pod that is there.
    pub async fn only_pod(&self) -> Result<Pod> {
        let (mut pods, _) = self.functions().await?;
        ensure!(pods.len() == 1, "{} pods", pods.len());
        pods.pop().context("a pod")
    }

    /// Waits until there are this many function pods and services.
    pub async fn functions_become(&self, pods: usize, services: usize) -> Result<()> {
        let begin = Instant::now();
        loop {
            let found = self.functions().await?;
            let counts = (found.0.len(), found.1.len());
            if counts == (pods, services) {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < PATIENCE,
                "{counts:?} pods and services, not {pods} and {services}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
