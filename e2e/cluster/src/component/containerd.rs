//! containerd with its CRI plugin, the CNI network of pods, and how it reaches the registries.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::{Launch, Ready};
use crate::layout::{POD_RANGE, state, write};
use crate::registry::Registry;
use crate::seed;

/// In the node's own `/run`.
pub(super) const SOCKET: &str = "/run/containerd/containerd.sock";

/// Registries that manifests name but this machine cannot or shall not reach.
const MIRRORED: [&str; 3] = ["docker.io", "ghcr.io", "gcr.io"];

pub(super) const READY: Ready = Ready::Socket(SOCKET);

pub(super) fn launch() -> Result<Launch> {
    write_network()?;
    write_registries()?;
    let file = state("containerd/config.toml");
    write(&file, &config())?;
    Ok(Launch {
        program: PathBuf::from("containerd"),
        arguments: vec![format!("--config={}", file.display())],
    })
}

fn config() -> String {
    format!(
        r#"version = 2
# Snapshotters that complain when their devices are missing, and one that makes /opt/containerd.
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Without CAP_SYS_RESOURCE no score below the own one can be set, and every sandbox would die.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"#,
        pause = seed::pause_reference(),
        network = state("containerd/net.d").display(),
        registries = state("containerd/registries").display(),
    )
}

fn write_network() -> Result<()> {
    let network = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": true,
                "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{ "subnet": POD_RANGE }]],
                    "routes": [{ "dst": "0.0.0.0/0" }],
                },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    });
    write(
        &state("containerd/net.d/pods.conflist"),
        &network.to_string(),
    )
}

fn write_registries() -> Result<()> {
    let own = Registry::ALL.map(|registry| (registry.address(), registry));
    let mirrored = MIRRORED.map(|name| (name.to_owned(), Registry::Open));
    for (name, registry) in own.into_iter().chain(mirrored) {
        let file = state("containerd/registries").join(name).join("hosts.toml");
        write(&file, &hosts_file(registry))?;
    }
    Ok(())
}

fn hosts_file(registry: Registry) -> String {
    let url = registry.url();
    let authority = registry
        .authority()
        .map(|file| format!("  ca = {:?}\n", file.display().to_string()))
        .unwrap_or_default();
    format!(
        "server = {url:?}\n[host.{url:?}]\n  capabilities = [\"pull\", \"resolve\"]\n{authority}"
    )
}
