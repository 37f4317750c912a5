//! Porch 1.6's kinds on the node, while one test needs them: no other test runs meanwhile, because
//! everything else has to work without them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Scope, outage_scenario};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt as _};
use runner::function_config::kind::{FunctionConfig, definition};
use serde_json::{Value, json};

pub(crate) const LONG: Duration = Duration::from_secs(90);

/// What Porch's own runner puts on objects.
pub(crate) const PEERS_FINALIZER: &str = "config.porch.kpt.dev/functionconfig-function-runner";

/// Runs a test on a node that has the kinds.
pub(crate) fn porch16(test: impl AsyncFnOnce(&Scope) -> Result<()>) {
    outage_scenario(async |scope, _| {
        install(scope.client()).await?;
        let outcome = test(scope).await;
        let removed = remove(scope).await;
        outcome?;
        removed
    });
}

pub(crate) async fn install(client: Client) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    for definition in definition::definitions() {
        let name = definition["metadata"]["name"].as_str().context("a name")?;
        let parameters = PatchParams::apply("e2e").force();
        api.patch(name, &parameters, &Patch::Apply(&definition))
            .await?;
        let established = await_condition(api.clone(), name, conditions::is_crd_established());
        tokio::time::timeout(LONG, established).await??;
    }
    Ok(())
}

pub(crate) async fn remove(scope: &Scope) -> Result<()> {
    let objects: Api<FunctionConfig> = scope.api();
    for object in objects.list(&ListParams::default()).await? {
        let free = json!({ "metadata": { "finalizers": null } });
        let (name, parameters) = (object.name_any(), PatchParams::default());
        let _ = objects
            .patch(&name, &parameters, &Patch::Merge(&free))
            .await;
    }
    let api: Api<CustomResourceDefinition> = Api::all(scope.client());
    for definition in definition::definitions() {
        let name = definition["metadata"]["name"].as_str().context("a name")?;
        let uid = api.get(name).await?.uid().context("a uid")?;
        api.delete(name, &DeleteParams::default()).await?;
        let gone = await_condition(api.clone(), name, conditions::is_deleted(&uid));
        tokio::time::timeout(LONG, gone).await??;
    }
    Ok(())
}

/// Creates an object, or makes it what is said here.
pub(crate) async fn configure(scope: &Scope, name: &str, spec: Value) -> Result<()> {
    let object = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig",
        "metadata": { "name": name }, "spec": spec,
    });
    let parameters = PatchParams::apply("e2e").force();
    let objects: Api<FunctionConfig> = scope.api();
    objects
        .patch(name, &parameters, &Patch::Apply(&object))
        .await?;
    Ok(())
}

/// Waits until an object's status satisfies the condition.
pub(crate) async fn status(
    scope: &Scope,
    name: &str,
    is_it: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let objects: Api<FunctionConfig> = scope.api();
    let begin = Instant::now();
    loop {
        let object = objects.get(name).await?;
        let generation = object.metadata.generation;
        let is_seen = object.status["functionRunnerObservedGeneration"] == json!(generation);
        if is_seen && is_it(&object.status) {
            return Ok(object.status);
        }
        let waited = begin.elapsed();
        ensure!(waited < LONG, "{name}: {} after {waited:?}", object.status);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until the runner says that an object counts as it is now, and is well.
pub(crate) async fn observed(scope: &Scope, name: &str) -> Result<()> {
    let status = status(scope, name, |status| status.get("error").is_none()).await;
    status.map(drop)
}
