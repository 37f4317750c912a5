//! Functions configured by Porch 1.6's objects: they count live, say so, and go away.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::kinds::{LONG, PEERS_FINALIZER, configure, observed, porch16, status};
use anyhow::{Context, Result, ensure};
use cluster::registry::Registry;
use e2e::Scope;
use e2e::deployment::kubectl;
use e2e::runner::{Runner, script};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use runner::function_config::kind::FunctionConfig;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A list with something for `set-namespace` to do.
const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: { name: config }
  data: { namespace: elsewhere }
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: { name: cm }
";

/// The default objects of a Porch 1.6 installation: image, then tags of pod, binary and go executor.
const DEFAULTS: &[(&str, &str, &str, &[&str])] = &[
    ("apply-replacements", "v0.1.1", "", &["v0.1", "v0.1.5"]),
    ("apply-setters", "v0.2.2", "v0.2.0", &[]),
    ("create-setters", "v0.1.0", "", &[]),
    ("ensure-name-substring", "v0.2.0", "v0.1.1", &[]),
    ("gatekeeper", "v0.2.1", "", &[]),
    ("kubeconform", "v0.1.1", "", &[]),
    ("search-replace", "v0.2.0", "v0.2.1", &[]),
    ("set-annotations", "v0.1.4", "v0.1.5", &[]),
    ("set-enforcement-action", "v0.1.0", "", &[]),
    ("set-image", "v0.1.1", "v0.1.2", &[]),
    ("set-labels", "v0.1.5", "v0.2.2", &[]),
    ("set-namespace", "v0.4.1", "v0.4.2", &["v0.4", "v0.4.5"]),
    ("starlark", "v0.4.3", "v0.5.2", &[]),
];

/// Both runtimes, and no pods before somebody asks: their images are not all there.
const BOTH: [&str; 2] = ["--disable-runtimes=", "--warm-up-pod-cache=false"];

/// Where the test's own images are.
fn prefix(scope: &Scope) -> String {
    format!("{}/test/{}", Registry::Open.address(), scope.namespace())
}

/// Publishes a function that says where it runs; its reference.
fn publish(scope: &Scope, name: &str, tag: &str) -> Result<String> {
    let repository = format!("test/{}/{name}", scope.namespace());
    let spec = script("echo in a pod >&2; exec cat");
    Ok(Registry::Open.publish(&repository, tag, &spec)?.reference)
}

/// An executable that says where it runs.
fn executable(folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, "#!/bin/sh\necho as executable >&2\nexec cat\n")?;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}

fn spec(scope: &Scope, (image, pod, binary, go): &(&str, &str, &str, &[&str])) -> Value {
    let mut spec = json!({ "image": image, "prefixes": ["", prefix(scope)] });
    spec["podExecutor"] = json!({ "tags": [pod] });
    if !binary.is_empty() {
        spec["binaryExecutor"] = json!({ "tags": [binary], "path": image });
    }
    if !go.is_empty() {
        spec["goExecutor"] = json!({ "tags": go });
    }
    spec
}

#[test]
fn the_default_objects_of_an_installation_are_observed_and_their_tags_run_as_configured() {
    porch16(async |scope| {
        for default in DEFAULTS {
            configure(scope, default.0, spec(scope, default)).await?;
        }
        let folder = TempDir::new()?;
        executable(folder.path(), "set-labels")?;
        let functions = format!("--functions={}", folder.path().display());
        let runner = Runner::start(scope, &[BOTH[0], BOTH[1], &functions])?;
        // Also those that name an executable which is not there.
        for (name, ..) in DEFAULTS {
            status(scope, name, |_| true).await?;
        }
        let prefix = prefix(scope);
        let in_pod = publish(scope, "set-namespace", "v0.4.1")?;
        let answer = runner.call(&in_pod).await?;
        ensure!(answer.log == "in a pod\n", "{:?}", answer.log);
        // What is bundled does not come before what an object says.
        scope.functions_become(1, 1).await?;
        let answer = runner.call(&format!("{prefix}/set-labels:v0.2.2")).await?;
        ensure!(answer.log == "as executable\n", "{:?}", answer.log);
        // No file of that name: the bundled release; nor is there such an image.
        for tag in ["v0.4.2", "v0.4.5", "v0.4"] {
            let image = format!("{prefix}/set-namespace:{tag}");
            let answer = runner.call_on(&image, LIST.into()).await?;
            let list = String::from_utf8_lossy(&answer.resource_list).into_owned();
            ensure!(list.contains("namespace: elsewhere"), "{tag}: {list}");
        }
        scope.functions_become(1, 1).await
    });
}

#[test]
fn the_objects_that_are_deployed_are_accepted_and_every_one_of_them_is_well() {
    porch16(async |scope| {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../deploy/function-configs/bundled.yaml"
        );
        let objects = fs::read_to_string(path)?.replace("porch-fn-system", scope.namespace());
        kubectl(&["apply", "--server-side", "-f", "-"], &objects)?;
        let runner = Runner::start(scope, &BOTH)?;
        let names = objects
            .lines()
            .filter_map(|line| line.strip_prefix("  name: "));
        for name in names {
            observed(scope, name).await?;
        }
        let image = "gcr.io/kpt-fn/set-namespace:v0.4.1";
        let answer = runner.call_on(image, LIST.into()).await?;
        let list = String::from_utf8_lossy(&answer.resource_list).into_owned();
        ensure!(list.contains("namespace: elsewhere"), "{list}");
        scope.functions_become(0, 0).await
    });
}

/// Waits until the next call of an image is an error.
async fn is_not_answered(runner: &Runner, image: &str) -> Result<()> {
    let begin = Instant::now();
    while runner.call(image).await.is_ok() {
        ensure!(begin.elapsed() < LONG, "{image} is still answered");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[test]
fn an_edited_object_counts_for_the_next_call_and_a_deleted_one_goes_with_its_binary() {
    porch16(async |scope| {
        let (folder, allowed) = (TempDir::new()?, TempDir::new()?);
        executable(folder.path(), "own")?;
        executable(allowed.path(), "other")?;
        let functions = format!("--functions={}", folder.path().display());
        let paths = format!("--allowed-binary-paths={}", allowed.path().display());
        let runner = Runner::start(scope, &[BOTH[0], BOTH[1], &functions, &paths])?;
        let prefix = prefix(scope);
        let spec = |tag: &str, path: &str| {
            json!({ "image": "own", "prefixes": [prefix],
                    "binaryExecutor": { "tags": [tag], "path": path } })
        };
        // The kind is new to this runner: it looks for it every 30 s.
        configure(scope, "own", spec("v1", "own")).await?;
        observed(scope, "own").await?;
        let [v1, v2] = ["v1", "v2"].map(|tag| format!("{prefix}/own:{tag}"));
        runner.call(&v1).await?;
        let inside = allowed.path().join("other").display().to_string();
        configure(scope, "own", spec("v2", &inside)).await?;
        observed(scope, "own").await?;
        runner.call(&v2).await?;
        runner.heard(&v1).await?;

        configure(scope, "own", spec("v2", "/bin/cat")).await?;
        let told = status(scope, "own", |status| status.get("error").is_some()).await?;
        let told = told["error"].as_str().unwrap_or_default();
        ensure!(told.contains("--allowed-binary-paths"), "{told}");
        configure(scope, "second", spec("v3", "own")).await?;
        let told = status(scope, "second", |status| status.get("error").is_some()).await?;
        let told = told["error"].as_str().unwrap_or_default();
        ensure!(told.contains("\"own\" is older"), "{told}");

        configure(scope, "own", spec("v2", "own")).await?;
        observed(scope, "own").await?;
        runner.call(&v2).await?;
        let objects: Api<FunctionConfig> = scope.api();
        let marked = json!({ "metadata": { "finalizers": [PEERS_FINALIZER] } });
        let parameters = PatchParams::default();
        objects
            .patch("own", &parameters, &Patch::Merge(&marked))
            .await?;
        objects.delete("own", &DeleteParams::default()).await?;
        let begin = Instant::now();
        while objects.get_opt("own").await?.is_some() {
            ensure!(begin.elapsed() < LONG, "it does not go away");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        is_not_answered(&runner, &v2).await?;
        // The next one takes its place.
        observed(scope, "second").await?;
        runner.call(&format!("{prefix}/own:v3")).await?;
        Ok(())
    });
}

#[test]
fn an_object_that_appears_later_is_warmed_up_and_keeps_its_pods_whatever_the_ttl_says() {
    porch16(async |scope| {
        publish(scope, "kept", "v1.0.0")?;
        let image = publish(scope, "kept", "v1.1.0")?;
        let args = [
            "--disable-runtimes=",
            "--scan-interval=2s",
            "--pod-ttl=5s",
            "--max-pods=3",
        ];
        let runner = Runner::start(scope, &args)?;
        let spec = json!({
            "image": "kept", "prefixes": [prefix(scope)],
            "podExecutor": { "tags": [">=v1.0.0 <v2"], "timeToLive": "5s" },
        });
        configure(scope, "kept", spec).await?;
        let objects: Api<FunctionConfig> = scope.api();
        let annotate = async |count: Option<&str>| -> Result<()> {
            let patch = json!({ "metadata": { "annotations": { "fn.kpt.dev/min-pods": count } } });
            let parameters = PatchParams::default();
            objects
                .patch("kept", &parameters, &Patch::Merge(&patch))
                .await?;
            Ok(())
        };
        annotate(Some("2")).await?;
        scope.functions_become(2, 2).await?;
        let names = scope.pod_names().await?;
        for pod in scope.functions().await?.0 {
            let of = pod.annotations().get("fn.kpt.dev/image-reference");
            ensure!(of == Some(&image), "{of:?}");
        }
        // Four times as long as they would live.
        tokio::time::sleep(Duration::from_secs(20)).await;
        ensure!(scope.pod_names().await? == names, "{names:?}");
        runner.call(&image).await?;
        annotate(None).await?;
        scope
            .functions_become(0, 0)
            .await
            .context("nobody keeps them")
    });
}
