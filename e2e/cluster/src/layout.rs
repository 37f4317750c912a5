//! Where the node lives: its names, its addresses and its files.
//!
//! Everything a running node writes is below [`STATE`], so removing it is removing one directory;
//! what must survive (built binaries) is in the cache, which `binaries` owns.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// All state of the one node this machine can have.
pub const STATE: &str = "/var/lib/function-runner-cluster";

/// The control group that holds every process of the node, below each hierarchy's root.
pub(crate) const CGROUP: &str = "function-runner-cluster";

pub const NODE_NAME: &str = "test-node";

/// Addresses come from the ranges for benchmarks (RFC 2544), which no real network near a
/// developer uses; private ranges would collide with theirs.
pub const NODE_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
pub(crate) const POD_RANGE: &str = "198.18.0.0/17";
pub(crate) const SERVICE_RANGE: &str = "198.18.128.0/17";
/// The first address of the service range: where the API server gives itself a service.
pub(crate) const API_SERVICE_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 128, 1);
pub const API_PORT: u16 = 6443;
pub(crate) const CLUSTER_DOMAIN: &str = "cluster.local";

/// A file or directory of the node's state.
#[must_use]
pub fn state(path: &str) -> PathBuf {
    Path::new(STATE).join(path)
}

/// What a component prints.
#[must_use]
pub(crate) fn log_file(component: &str) -> PathBuf {
    state("logs").join(format!("{component}.log"))
}

/// Cluster administrator's access.
#[must_use]
pub fn admin_kubeconfig() -> PathBuf {
    state("kubeconfig/admin")
}

/// Holds the test authority's certificate and nothing else, as some clients want it.
#[must_use]
pub(crate) fn authority_directory() -> PathBuf {
    state("authority")
}

/// The authority that every certificate of the node descends from.
#[must_use]
pub fn ca_certificate() -> PathBuf {
    authority_directory().join("ca.crt")
}

/// The API server's requests, one JSON object per line.
#[must_use]
pub fn audit_log() -> PathBuf {
    state("logs/audit.log")
}

/// Writes a file of the state that only root reads, with the directories it needs.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has a directory")?)?;
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("could not write {}", path.display()))
}
