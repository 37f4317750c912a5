//! Porch 1.6's `FunctionConfig` as a soak needs it: the kind, while the soak runs, and one object
//! that comes, changes and goes.

use std::time::Duration;

use anyhow::{Context, Result};
use cluster::registry::Registry;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::call::Script;
use crate::scope::Scope;

const GROUP: &str = "config.porch.kpt.dev";
const VERSION: &str = "v1alpha1";
const KIND: &str = "functionconfigs.config.porch.kpt.dev";

/// How long a kind may take to come or go.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kind without its schema: what runners make of its fields is what counts.
fn definition() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": KIND },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "kind": "FunctionConfig", "plural": "functionconfigs", "singular": "functionconfig" },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": { "openAPIV3Schema": anything },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// Brings the kind to the node. Nobody else may use the node meanwhile: everything else has to work
/// without the kind.
pub(crate) async fn install(scope: &Scope) -> Result<()> {
    let kinds: Api<CustomResourceDefinition> = Api::all(scope.client());
    let parameters = PatchParams::apply("e2e").force();
    let patch = Patch::Apply(definition());
    kinds.patch(KIND, &parameters, &patch).await?;
    let established = await_condition(kinds, KIND, conditions::is_crd_established());
    timeout(PATIENCE, established).await??;
    Ok(())
}

/// Removes it, and all objects with it.
pub(crate) async fn remove(scope: &Scope) -> Result<()> {
    let kinds: Api<CustomResourceDefinition> = Api::all(scope.client());
    let uid = kinds.get(KIND).await?.uid().context("a uid")?;
    kinds.delete(KIND, &DeleteParams::default()).await?;
    let gone = await_condition(kinds, KIND, conditions::is_deleted(&uid));
    timeout(PATIENCE, gone).await??;
    Ok(())
}

/// Another version of the object of the function that is called seldom: it comes, changes twice, and
/// goes.
pub(crate) async fn change(scope: &Scope, version: u64) -> Result<()> {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, "FunctionConfig");
    let kind = ApiResource::from_gvk(&kind);
    let objects: Api<DynamicObject> =
        Api::namespaced_with(scope.client(), scope.namespace(), &kind);
    let name = Script::Rare.name();
    if version.is_multiple_of(4) {
        return match objects.delete(name, &DeleteParams::default()).await {
            // It never came.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            deleted => Ok(deleted.map(drop)?),
        };
    }
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "FunctionConfig",
        "metadata": { "name": name },
        "spec": {
            "image": name,
            "prefixes": [format!("{}/test", Registry::Open.address())],
            "podExecutor": {
                "tags": [scope.namespace()],
                "maxParallelExecutions": version % 4,
            },
        },
    });
    let parameters = PatchParams::apply("e2e").force();
    objects
        .patch(name, &parameters, &Patch::Apply(&object))
        .await?;
    Ok(())
}
