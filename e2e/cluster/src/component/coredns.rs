//! Cluster DNS on the node's address, for pods and for everyone who enters the node.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::layout::{CLUSTER_DOMAIN, NODE_ADDRESS, admin_kubeconfig, state, write};
use crate::registry::Registry;

pub(super) const READY_PORT: u16 = 8181;

pub(super) const READY: Ready = Ready::Dns;

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let file = state("coredns/Corefile");
    write(&file, &corefile())?;
    Ok(Launch {
        program: binaries.program("coredns"),
        arguments: vec!["-conf".to_owned(), file.display().to_string()],
    })
}

/// Whether answers are kept, also that a name does not exist. Counts from the next start on.
pub fn keep_answers(keep: bool) -> Result<()> {
    if keep {
        write(&kept(), "")
    } else {
        Ok(fs::remove_file(kept())?)
    }
}

/// Exists while answers are kept.
fn kept() -> PathBuf {
    state("coredns/keep-answers")
}

/// Unless told otherwise answers live 0 seconds, so that no test waits for a stale one. Kept ones
/// live 30 seconds, as kubeadm sets it up.
fn corefile() -> String {
    let names = Registry::ALL.map(Registry::host).join(" ");
    let (ttl, cache) = if kept().exists() {
        (30, "cache 30")
    } else {
        (0, "")
    };
    format!(
        ".:53 {{
    bind {NODE_ADDRESS}
    errors
    ready {NODE_ADDRESS}:{READY_PORT}
    {cache}
    hosts {{
        {NODE_ADDRESS} {names}
        fallthrough
    }}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {kubeconfig}
        ttl {ttl}
    }}
}}
",
        kubeconfig = admin_kubeconfig().display(),
    )
}
