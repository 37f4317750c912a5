//! Cluster DNS on the node's address, for pods and for everyone who enters the node.

use anyhow::Result;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::layout::{CLUSTER_DOMAIN, NODE_ADDRESS, admin_kubeconfig, state};
use crate::pki;
use crate::registry::Registry;

const READY_PORT: u16 = 8181;

pub(super) const READY: Ready = Ready::Http {
    port: READY_PORT,
    path: "/ready",
};

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let file = state("coredns/Corefile");
    pki::write(&file, &corefile())?;
    Ok(Launch {
        program: binaries.program("coredns"),
        arguments: vec!["-conf".to_owned(), file.display().to_string()],
    })
}

/// Services and pods come and go: their answers live 0 seconds, so no test waits for a stale one.
fn corefile() -> String {
    let names = Registry::ALL.map(Registry::host).join(" ");
    format!(
        ".:53 {{
    bind {NODE_ADDRESS}
    errors
    ready {NODE_ADDRESS}:{READY_PORT}
    hosts {{
        {NODE_ADDRESS} {names}
        fallthrough
    }}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
        ttl 0
    }}
}}
",
        kubeconfig = admin_kubeconfig().display(),
    )
}
