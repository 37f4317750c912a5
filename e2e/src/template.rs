//! Pod templates for the runner, in ConfigMaps as its users write them.

use anyhow::{Context, Result};
use cluster::registry::Registry;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::runner::publish_wrapper;
use crate::scope::Scope;

/// The runner's own namespace when it runs outside of a cluster.
const NAMESPACE: &str = "porch-system";

/// The pod of Porch's documentation as it stands there, `annotations` at the wrong place included.
pub const DOCUMENTED: &str = r"apiVersion: v1
kind: Pod
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: true
spec:
  initContainers:
    - name: copy-wrapper-server
      image: docker.io/nephio/porch-wrapper-server:latest
      command: 
        - cp
        - -a
        - /wrapper-server/.
        - /wrapper-server-tools
      volumeMounts:
        - name: wrapper-server-tools
          mountPath: /wrapper-server-tools
  containers:
    - name: function
      image: image-replaced-by-kpt-func-image
      command: 
        - /wrapper-server-tools/wrapper-server
      volumeMounts:
        - name: wrapper-server-tools
          mountPath: /wrapper-server-tools
  volumes:
    - name: wrapper-server-tools
      emptyDir: {}
";

const SERVICE: &str = r"apiVersion: v1
kind: Service
spec:
  ports:
  - port: 9446
    protocol: TCP
    targetPort: 9446
  selector:
    fn.kpt.dev/image: to-be-replaced
  type: ClusterIP
";

/// [`DOCUMENTED`] with some text replaced, which has to be there.
pub fn documented_but(changes: &[(&str, &str)]) -> Result<String> {
    let mut text = DOCUMENTED.to_owned();
    for (old, new) in changes {
        let at = text.find(old).with_context(|| format!("no {old:?}"))?;
        text.replace_range(at..at + old.len(), new);
    }
    Ok(text)
}

/// Puts a template into a ConfigMap of the test's own, or another one in its place; the flag
/// that names it. The wrapper is there under the name that the documentation has.
pub async fn publish(scope: &Scope, name: &str, pod: &str) -> Result<String> {
    publish_wrapper("nephio/porch-wrapper-server", "latest")?;
    write(scope, name, pod).await?;
    Ok(flag(scope, name))
}

/// The flag that names a template of the test's own.
pub(crate) fn flag(scope: &Scope, name: &str) -> String {
    format!("--function-pod-template={}", config_map(scope, name))
}

fn config_map(scope: &Scope, name: &str) -> String {
    format!("{}-{name}", scope.namespace())
}

/// The same for a template that names its wrapper's image itself.
pub(crate) async fn write(scope: &Scope, name: &str, pod: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(scope.client());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    // It may be there already.
    let _ = namespaces.create(&PostParams::default(), &namespace).await;
    let name = config_map(scope, name);
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name },
        "data": { "template": pod, "serviceTemplate": SERVICE },
    });
    let config_maps: Api<ConfigMap> = Api::namespaced(scope.client(), NAMESPACE);
    let parameters = PatchParams::apply("e2e").force();
    config_maps
        .patch(&name, &parameters, &Patch::Apply(&config_map))
        .await?;
    Ok(())
}

/// A docker config with one registry, as files and secrets have it.
#[must_use]
pub fn docker_config(registry: Registry, user: &str, password: &str) -> String {
    let entry = json!({ "username": user, "password": password });
    json!({ "auths": { registry.address(): entry } }).to_string()
}
