//! `deploy/` in namespaces of the test's own: rendered by the node's kubectl as an operator would, with
//! the images of `make images`, and nothing changed but names.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::image::Layout;
use cluster::registry::Registry;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::scope::Scope;

/// What it is called everywhere.
pub(crate) const NAME: &str = "function-runner";

/// How long the node may take to lead the service to its pods, on two busy cores.
const REACHABLE_WITHIN: Duration = Duration::from_secs(20);

fn checkout(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// The components that there are, so that none is forgotten.
pub fn components() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(checkout("deploy/components"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The manifests of `deploy/kustomization.yaml` with these components and further flags of the runner.
pub fn render(scope: &Scope, components: &[&str], flags: &[&str]) -> Result<String> {
    let folder = TempDir::new()?;
    let copy = Command::new("cp")
        .arg("-r")
        .args([checkout("deploy").as_path(), folder.path()])
        .status()?;
    ensure!(copy.success(), "deploy/ cannot be copied");
    let root = folder.path().join("deploy");
    let file = root.join("kustomization.yaml");
    let mut text = fs::read_to_string(&file)?;
    ensure!(
        text.contains("registry.example.com/porch"),
        "no images in {text}"
    );
    text = text.replace("registry.example.com/porch", &images_of(scope));
    let mut components: Vec<String> = components.iter().map(ToString::to_string).collect();
    if !flags.is_empty() {
        let own = "flags-of-the-test";
        let folder = root.join("components").join(own);
        fs::create_dir(&folder)?;
        fs::write(folder.join("kustomization.yaml"), flag_component(flags))?;
        components.push(own.to_owned());
    }
    let paths: Vec<_> = components
        .iter()
        .map(|name| format!("components/{name}"))
        .collect();
    text.push_str(&format!("components: {}\n", json!(paths)));
    fs::write(&file, text)?;
    let rendered = kubectl(&["kustomize", &root.display().to_string()], "")?;
    Ok(rendered
        .replace("porch-fn-system", &functions_namespace(scope))
        .replace("porch-system", scope.namespace()))
}

/// Flags after those of the base, as an operator would add them.
fn flag_component(flags: &[&str]) -> String {
    let path = "/spec/template/spec/containers/0/args/-";
    let additions = flags
        .iter()
        .map(|flag| json!({ "op": "add", "path": path, "value": flag }))
        .collect::<Vec<_>>();
    let patch = json!({
        "target": { "kind": "Deployment", "name": NAME },
        "patch": json!(additions).to_string(),
    });
    let component = json!({
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [patch],
    });
    component.to_string()
}

/// The function pods' namespace.
#[must_use]
pub fn functions_namespace(scope: &Scope) -> String {
    format!("{}-fn", scope.namespace())
}

fn images_of(scope: &Scope) -> String {
    format!("{}/{}", Registry::Open.address(), scope.namespace())
}

/// Only the namespaces of rendered manifests: in what is not there nothing can be tried.
#[must_use]
pub fn namespaces(manifests: &str) -> String {
    let documents = manifests.split("---\n");
    let of_namespaces = documents.filter(|document| document.contains("kind: Namespace\n"));
    of_namespaces.collect::<Vec<_>>().join("---\n")
}

/// Runs the node's kubectl on a text; what it says must hold no warning.
pub fn kubectl(arguments: &[&str], input: &str) -> Result<String> {
    let mut child = Command::new("kubectl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("the node has kubectl")?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && !said.contains("Warning"),
        "kubectl {arguments:?}: {said}"
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Pushes the images, applies the manifests, and waits until the runner is available. Returns the
/// namespace of its function pods.
pub async fn deploy(scope: &Scope, components: &[&str], flags: &[&str]) -> Result<Scope> {
    for name in [NAME, "wrapper-server"] {
        let directory = checkout("target/images").join(name);
        let layout = Layout::existing(&directory);
        let repository = format!("{}/{name}", scope.namespace());
        Registry::Open
            .push(&layout, &repository, "0.1.0")
            .context("`make images` makes what is deployed")?;
    }
    let manifests = render(scope, components, flags)?;
    kubectl(
        &["apply", "--server-side", "-f", "-"],
        &namespaces(&manifests),
    )?;
    let functions = scope.adopt_namespace(&functions_namespace(scope)).await?;
    kubectl(&["apply", "--server-side", "-f", "-"], &manifests)?;
    is_rolled_out(scope).await?;
    Ok(functions)
}

/// Replaces the runner's pods one after the other, as `kubectl rollout restart` does.
pub async fn restart(scope: &Scope) -> Result<()> {
    let annotation = json!({ "restarted-by": "the test" });
    let template = json!({ "metadata": { "annotations": annotation } });
    let patch = json!({ "spec": { "template": template } });
    let deployments = scope.api::<Deployment>();
    deployments
        .patch(NAME, &PatchParams::default(), &Patch::Merge(&patch))
        .await?;
    is_rolled_out(scope).await
}

/// Waits until all replicas are of the newest version and available, and no other is left.
async fn is_rolled_out(scope: &Scope) -> Result<()> {
    let holds = |deployment: Option<&Deployment>| {
        let Some(Deployment {
            metadata,
            spec: Some(spec),
            status: Some(status),
        }) = deployment
        else {
            return false;
        };
        status.observed_generation == metadata.generation
            && status.updated_replicas == spec.replicas
            && status.available_replicas == spec.replicas
            && status.replicas == spec.replicas
    };
    scope
        .becomes::<Deployment>(NAME, "rolled out", holds)
        .await?;
    Ok(())
}

/// The runner's service by its name, as Porch knows it.
#[must_use]
pub fn address(scope: &Scope) -> String {
    format!("{NAME}.{}.svc.cluster.local:9445", scope.namespace())
}

/// Connects to the runner's service. Available pods are the API server's word; the node learns of them
/// a moment later.
pub async fn connect(scope: &Scope) -> Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", address(scope)))?;
    let begin = Instant::now();
    loop {
        match endpoint.connect().await {
            Ok(channel) => return Ok(channel),
            Err(error) if begin.elapsed() > REACHABLE_WITHIN => return Err(error.into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
