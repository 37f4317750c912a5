//! The real functions of the catalog run as pods, each with an input that shows its work.

use anyhow::{Context, Result, ensure};
use cluster::registry::Registry;
use cluster::seed::{busybox_reference, function_reference};
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

/// `config` is the functionConfig's content; only the function can make `expected` of it.
fn transforms(function: &str, config: &str, expected: &str) {
    scenario(async |scope| {
        run(scope, function, config).await?;
        scope.pod_becomes("function", "over", pod::is_over).await?;
        let output = scope.pod_log("function").await?;
        ensure!(output.contains(expected), "{function} answered:\n{output}");
        Ok(())
    });
}

/// A pod whose function reads the list from a ConfigMap. The image holds the function alone, so a
/// shell comes from an init container.
async fn run(scope: &Scope, function: &str, config: &str) -> Result<()> {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  metadata:
    name: config
  {config}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: subject
  data:
    colour: blue # kpt-set: ${{colour}}
"
    );
    let input = json!({ "metadata": { "name": "input" }, "data": { "list.yaml": list } });
    scope.create_object::<ConfigMap>(input).await?;
    let local = function_reference(function).context("an unknown function")?;
    // Under its public name: the node's open registry stands in for ghcr.io.
    let image = local.replace(&Registry::Open.address(), "ghcr.io");
    let tools = json!({ "name": "tools", "mountPath": "/tools" });
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [
            { "name": "tools", "emptyDir": {} },
            { "name": "input", "configMap": { "name": "input" } },
        ],
        "initContainers": [{
            "name": "copy",
            "image": busybox_reference(),
            "command": ["cp", "/bin/busybox", "/tools/busybox"],
            "volumeMounts": [tools],
        }],
        "containers": [{
            "name": "function",
            "image": image,
            "command": ["/tools/busybox", "sh", "-c"],
            "args": ["/usr/local/bin/function < /input/list.yaml"],
            "volumeMounts": [tools, { "name": "input", "mountPath": "/input" }],
        }],
    });
    scope.create_pod("function", spec).await?;
    Ok(())
}

#[test]
fn set_namespace_moves_a_resource() {
    let config = "\
  apiVersion: v1
  kind: ConfigMap
  data:
    namespace: moved";
    transforms(
        "set-namespace",
        config,
        "name: subject\n    namespace: moved\n",
    );
}

#[test]
fn apply_setters_sets_a_marked_field() {
    let config = "\
  apiVersion: v1
  kind: ConfigMap
  data:
    colour: green";
    transforms(
        "apply-setters",
        config,
        "colour: green # kpt-set: ${colour}",
    );
}

#[test]
fn starlark_runs_a_script_over_the_items() {
    let config = "\
  apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  source: |
    for resource in ctx.resource_list[\"items\"]:
      resource[\"data\"][\"colour\"] = \"star\" + \"light\"";
    transforms("starlark", config, "colour: starlight");
}

#[test]
fn apply_replacements_copies_a_field() {
    let config = "\
  apiVersion: fn.kpt.dev/v1alpha1
  kind: ApplyReplacements
  replacements:
  - source:
      kind: ConfigMap
      fieldPath: metadata.name
    targets:
    - select:
        kind: ConfigMap
      fieldPaths:
      - data.colour";
    transforms("apply-replacements", config, "colour: subject");
}
