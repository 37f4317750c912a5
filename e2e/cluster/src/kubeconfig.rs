//! Who may talk to the API server, and the kubeconfig file of each.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::layout::{API_PORT, NODE_ADDRESS, NODE_NAME, ca_certificate, state};
use crate::pki::{self, Authority};

/// A client of the API server: its file's name, its user and its group.
struct Member {
    name: &'static str,
    user: &'static str,
    group: Option<&'static str>,
}

const MEMBERS: [Member; 5] = [
    Member {
        name: "admin",
        user: "test-admin",
        group: Some("system:masters"),
    },
    Member {
        name: "controller-manager",
        user: "system:kube-controller-manager",
        group: None,
    },
    Member {
        name: "scheduler",
        user: "system:kube-scheduler",
        group: None,
    },
    Member {
        name: "kube-proxy",
        user: "system:kube-proxy",
        group: None,
    },
    // The node authorizer goes by this form of name; see `NODE_USER`.
    Member {
        name: "kubelet",
        user: NODE_USER,
        group: Some("system:nodes"),
    },
];

const NODE_USER: &str = "system:node:test-node";

/// The kubeconfig of a component.
#[must_use]
pub(crate) fn of(name: &str) -> PathBuf {
    state("kubeconfig").join(name)
}

/// Writes every member's certificate and kubeconfig.
pub(crate) fn create(authority: &Authority) -> Result<()> {
    debug_assert!(NODE_USER.ends_with(NODE_NAME));
    for member in MEMBERS {
        let identity = authority.client(member.name, member.user, member.group)?;
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://{NODE_ADDRESS}:{API_PORT}"),
                "certificate-authority": ca_certificate(),
            }}],
            "users": [{ "name": member.name, "user": {
                "client-certificate": identity.certificate,
                "client-key": identity.key,
            }}],
            "contexts": [{ "name": "test", "context": {
                "cluster": "test", "user": member.name,
            }}],
        });
        pki::write(&of(member.name), &format!("{config:#}\n"))?;
    }
    Ok(())
}
