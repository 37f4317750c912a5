//! What everything happens on: the namespace, the simulated nodes, the wrapper servers and the images.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, ListParams};
use tokio::time::timeout;

use super::nodes::{MARK, MARKED, Nodes};
use super::size::Size;
use super::wrappers::Wrappers;
use super::{images, pods};
use crate::scope::Scope;
use crate::template;

/// How long anything may take that does not grow with the number of pods.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many objects are deleted by one request: more than that takes longer than a request may.
const BATCH: u32 = 100;

/// Requests for deletions that may fail, of a hundred or more.
const FAILURES: usize = 10;

const TEMPLATE: &str = "template";

#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) scope: &'a Scope,
    pub(super) size: Size,
    /// The references of all functions.
    pub(super) functions: Vec<String>,
    pub(super) wrappers: Wrappers,
    nodes: Nodes,
    began: Instant,
}

impl<'a> Stage<'a> {
    pub(super) async fn set(scope: &'a Scope, size: Size) -> Result<Self> {
        acceptance::system::raise_descriptor_limit();
        let stage = Self {
            scope,
            size,
            functions: images::publish(&size)?,
            wrappers: Wrappers::start()?,
            nodes: Nodes::start(scope).await?,
            began: Instant::now(),
        };
        stage.write_template(1).await?;
        Ok(stage)
    }

    /// Says what comes next.
    pub(super) fn chapter(&self, name: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        println!("---- {seconds:.0} s: {name} ----");
    }

    /// The flag that names the pod template.
    pub(super) fn template_flag(&self) -> String {
        template::flag(self.scope, TEMPLATE)
    }

    /// A pod template that sends pods to the simulated nodes. Each version is another template. The
    /// pods stay while their nodes cannot be seen, as they would on real ones for five minutes.
    pub(super) async fn write_template(&self, version: usize) -> Result<()> {
        let spec = format!(
            "spec:\n  nodeSelector: {{ {MARK}: {MARKED} }}\n  tolerations:\n    - operator: Exists\n  \
             terminationGracePeriodSeconds: {}",
            30 + version
        );
        let text = template::documented_but(&[("spec:", &spec)])?;
        template::write(self.scope, TEMPLATE, &text).await
    }

    /// Removes all pods and services, in pieces: there are too many for one request.
    pub(super) async fn strike(self) -> Result<()> {
        let (in_time, at_once) = (
            DeleteParams::default(),
            DeleteParams::default().grace_period(0),
        );
        let some = ListParams::default().limit(BATCH);
        let pods = self.scope.api::<Pod>();
        let mut failures = 0;
        while pods::count(self.scope).await? > 0 {
            // An API server that deletes thousands closes a connection now and then.
            if let Err(error) = pods.delete_collection(&at_once, &some).await {
                failures += 1;
                ensure!(failures < FAILURES, "pods cannot be deleted: {error}");
            }
        }
        // Their owners are gone, and so they would go by themselves; not soon, though.
        let services = self.scope.api::<Service>();
        while !services
            .list_metadata(&ListParams::default().limit(1))
            .await?
            .items
            .is_empty()
        {
            if let Err(error) = services.delete_collection(&in_time, &some).await {
                failures += 1;
                ensure!(failures < FAILURES, "services cannot be deleted: {error}");
            }
        }
        self.nodes.end(self.scope).await
    }
}

/// Waits for what does not depend on how much there is.
pub(super) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    let waited = timeout(PATIENCE, work).await;
    waited.with_context(|| format!("waited {} s in vain for {what}", PATIENCE.as_secs()))
}
