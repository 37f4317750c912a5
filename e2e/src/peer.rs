//! Porch's own function runner on the node, under its own roles, with its own wrapper.

use std::path::Path;
use std::process::Command;

use acceptance::program::Program;
use anyhow::{Context, Result};
use cluster::layout::admin_kubeconfig;
use cluster::peer::Peer;
use cluster::registry::Registry;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scope::Scope;

/// Publishes the image of its wrapper; its reference.
pub fn publish_wrapper() -> Result<String> {
    let image = Peer::built()?.wrapper_image();
    Ok(Registry::Open
        .publish("peer-wrapper", "e2e", &image)?
        .pinned())
}

/// Starts it with its pods in the scope's namespace, and with this wrapper in them.
pub async fn start(scope: &Scope, wrapper: &str, args: &[&str]) -> Result<Program> {
    let folder = TempDir::new()?;
    let access = folder.path().join("kubeconfig");
    write_access(scope, &access).await?;
    let mut command = Command::new(Peer::built()?.server);
    command
        .args(["--disable-runtimes=exec", "--warm-up-pod-cache=false"])
        .arg(format!("--pod-namespace={}", scope.namespace()))
        .args(args)
        .env("WRAPPER_SERVER_IMAGE", wrapper)
        .env("KUBECONFIG", access);
    Program::start(command, folder).await
}

/// A kubeconfig with what Porch's own runner may do in the pod namespace, and nothing more.
pub async fn write_access(scope: &Scope, file: &Path) -> Result<()> {
    const NAME: &str = "porch-fn-runner";
    let namespace = scope.namespace();
    let metadata = json!({ "name": NAME });
    let account = json!({ "metadata": metadata });
    scope.create_object::<ServiceAccount>(account).await?;
    let rules = json!([
        { "apiGroups": [""], "resources": ["pods"],
          "verbs": ["create", "delete", "patch", "get", "watch", "list"] },
        { "apiGroups": [""], "resources": ["services", "endpoints"],
          "verbs": ["create", "delete", "get", "watch", "list"] },
        { "apiGroups": [""], "resources": ["secrets"],
          "verbs": ["create", "delete", "update", "get"] },
    ]);
    let role = json!({ "metadata": metadata, "rules": rules });
    scope.create_object::<Role>(role).await?;
    let binding = json!({
        "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": namespace }],
    });
    scope.create_object::<RoleBinding>(binding).await?;
    let mut access: Value = serde_json::from_slice(&std::fs::read(admin_kubeconfig())?)
        .context("the node's kubeconfig is JSON")?;
    access["users"][0]["user"]["as"] = format!("system:serviceaccount:{namespace}:{NAME}").into();
    std::fs::write(file, access.to_string())?;
    Ok(())
}
