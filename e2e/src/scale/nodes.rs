//! Simulated nodes: kwok says of every pod that is sent to them that it runs, and gives it an address.
//! All these addresses lead to this machine, where the test answers. Real pods keep away from these
//! nodes by a taint, and kwok keeps away from the real one by an annotation.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use cluster::binaries::{Binaries, Missing};
use cluster::layout::{admin_kubeconfig, state};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::stage::in_time;
use crate::scope::Scope;

/// What marks the nodes, for kwok and for the scheduler.
pub(super) const MARK: &str = "kwok.x-k8s.io/node";
pub(super) const MARKED: &str = "fake";

/// Addresses for benchmarks (RFC 2544) that the node itself does not use.
pub(super) const RANGE: &str = "198.19.128.0/17";

const NODES: usize = 10;

/// They go when dropped, with kwok.
#[derive(Debug)]
pub(super) struct Nodes {
    kwok: Child,
    _folder: TempDir,
}

impl Nodes {
    /// Starts kwok, makes the nodes, and waits until they are Ready.
    pub(super) async fn start(scope: &Scope) -> Result<Self> {
        lead_here("replace")?;
        let folder = TempDir::new()?;
        let config = folder.path().join("kwok.yaml");
        fs::write(&config, configuration())?;
        let log = File::create(log())?;
        let kwok = Command::new(Binaries::kwok(Missing::Refuse)?)
            .arg(format!("--config={}", config.display()))
            .arg(format!("--kubeconfig={}", admin_kubeconfig().display()))
            .arg(format!("--cidr={RANGE}"))
            .arg(format!(
                "--manage-nodes-with-annotation-selector={MARK}={MARKED}"
            ))
            .args([
                "--manage-all-nodes=false",
                "--node-lease-duration-seconds=40",
            ])
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("kwok does not start")?;
        let nodes = Self {
            kwok,
            _folder: folder,
        };
        let api: Api<Node> = Api::all(scope.client());
        remove(&api).await?;
        try_join_all((0..NODES).map(|number| make(&api, number)))
            .await
            .with_context(|| format!("simulated nodes; kwok's log is {}", log_name()))?;
        Ok(nodes)
    }

    /// Deletes the nodes, once no pod is on them.
    pub(super) async fn end(self, scope: &Scope) -> Result<()> {
        remove(&Api::all(scope.client())).await
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let _ = self.kwok.kill();
        let _ = self.kwok.wait();
        let _ = lead_here("del");
    }
}

fn name(number: usize) -> String {
    format!("scale-{number}")
}

async fn make(api: &Api<Node>, number: usize) -> Result<()> {
    let name = name(number);
    let node = json!({
        "metadata": {
            "name": name,
            "annotations": { MARK: MARKED },
            "labels": { MARK: MARKED, "kubernetes.io/hostname": name },
        },
        "spec": { "taints": [{ "key": MARK, "value": MARKED, "effect": "NoSchedule" }] },
    });
    api.create(&PostParams::default(), &serde_json::from_value(node)?)
        .await?;
    let is_ready = |node: Option<&Node>| {
        let status = node.and_then(|node| node.status.as_ref());
        let mut conditions = status.iter().flat_map(|it| it.conditions.iter().flatten());
        conditions.any(|it| it.type_ == "Ready" && it.status == "True")
    };
    in_time(
        "a node to be Ready",
        await_condition(api.clone(), &name, is_ready),
    )
    .await??;
    Ok(())
}

/// Those of a run that crashed, too.
async fn remove(api: &Api<Node>) -> Result<()> {
    for number in 0..NODES {
        match api.delete(&name(number), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            done => drop(done?),
        }
    }
    Ok(())
}

/// Packets for any address of the range are for this machine.
fn lead_here(verb: &str) -> Result<()> {
    let output = Command::new("ip")
        .args(["route", verb, "local", RANGE, "dev", "lo"])
        .output()
        .context("ip, of the Debian package iproute2, is needed")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cannot {verb} a route: {said}");
    Ok(())
}

fn log() -> PathBuf {
    state("logs/kwok.log")
}

fn log_name() -> String {
    log().display().to_string()
}

/// What kwok does to nodes and pods, as documents of one file.
fn configuration() -> String {
    let options = json!({
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        // What a file does not name is 0 here, and refused.
        "options": {
            "podPlayStageParallelism": 16,
            "nodePlayStageParallelism": 4,
            "nodeLeaseParallelism": 4,
            "podsOnNodeSyncParallelism": 1,
        },
    });
    let documents = [
        options,
        step(
            "node-ready",
            "Node",
            &[(".status.phase", "DoesNotExist")],
            &json!({ "statusTemplate": NODE_READY }),
        ),
        step(
            "pod-runs",
            "Pod",
            &[
                (".metadata.deletionTimestamp", "DoesNotExist"),
                (".status.podIP", "DoesNotExist"),
            ],
            &json!({ "statusTemplate": POD_RUNS }),
        ),
        step(
            "pod-goes",
            "Pod",
            &[(".metadata.deletionTimestamp", "Exists")],
            &json!({ "delete": true }),
        ),
    ];
    documents
        .map(|document| document.to_string())
        .join("\n---\n")
}

fn step(name: &str, kind: &str, conditions: &[(&str, &str)], next: &Value) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(key, operator)| json!({ "key": key, "operator": operator }))
        .collect();
    json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": { "name": name },
        "spec": {
            "resourceRef": { "apiGroup": "v1", "kind": kind },
            "selector": { "matchExpressions": conditions },
            "next": next,
        },
    })
}

const NODE_READY: &str = r#"
phase: Running
allocatable: { cpu: "1000", memory: 1Ti, pods: "100000" }
capacity: { cpu: "1000", memory: 1Ti, pods: "100000" }
conditions:
- type: Ready
  status: "True"
  reason: Simulated
  message: simulated by kwok
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
"#;

/// As a kubelet says it once a function's containers run.
const POD_RUNS: &str = r#"
phase: Running
startTime: {{ Now | Quote }}
podIP: {{ PodIPWith .spec.nodeName false ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
{{ range $type := tuple "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- type: {{ $type | Quote }}
  status: "True"
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: { terminated: { exitCode: 0, reason: Completed } }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: { running: { startedAt: {{ Now | Quote }} } }
{{ end }}
"#;
