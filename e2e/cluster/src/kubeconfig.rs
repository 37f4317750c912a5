//! Who may talk to the API server, and the kubeconfig file of each.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::layout::{API_PORT, NODE_ADDRESS, NODE_NAME, ca_certificate, state, write};
use crate::pki::Authority;

/// The kubeconfig of a component.
#[must_use]
pub(crate) fn of(name: &str) -> PathBuf {
    state("kubeconfig").join(name)
}

/// Writes the certificate and the kubeconfig of everyone who may talk to the API server.
pub(crate) fn create(authority: &Authority) -> Result<()> {
    // The authorizer for nodes goes by this form of name.
    let node = format!("system:node:{NODE_NAME}");
    for (name, user, group) in [
        ("admin", "test-admin", Some("system:masters")),
        ("controller-manager", "system:kube-controller-manager", None),
        ("scheduler", "system:kube-scheduler", None),
        ("kube-proxy", "system:kube-proxy", None),
        ("kubelet", &node, Some("system:nodes")),
    ] {
        let identity = authority.client(name, user, group)?;
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://{NODE_ADDRESS}:{API_PORT}"),
                "certificate-authority": ca_certificate(),
            }}],
            "users": [{ "name": name, "user": {
                "client-certificate": identity.certificate,
                "client-key": identity.key,
            }}],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": name } }],
        });
        write(&of(name), &format!("{config:#}\n"))?;
    }
    Ok(())
}
