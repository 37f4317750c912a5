//! Where the node lives: its names, its addresses and its files.
//!
//! Everything a running node writes is below [`root`], so removing it is removing one directory;
//! what must survive (built binaries) is in the cache, which `binaries` owns. A machine has one node
//! unless [`NAME`] gives a command another one: that node has a directory, a lock and a control
//! group of its own, and its namespaces keep the addresses apart.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};

/// The variable that names another node than the usual one. Those inside inherit it.
pub(crate) const NAME: &str = "FUNCTION_RUNNER_NODE";

/// What the usual node's directory and control group are called; others append their name.
const USUAL: &str = "function-runner-cluster";

static TITLE: LazyLock<String> = LazyLock::new(|| title(&name()).expect("a checked name"));
static ROOT: LazyLock<PathBuf> = LazyLock::new(|| Path::new("/var/lib").join(&*TITLE));

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

/// Refuses a name that could not be that of a directory and a control group. Before anything else.
pub fn check_name() -> Result<()> {
    title(&name()).map(drop)
}

fn name() -> String {
    let name = env::var_os(NAME).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn title(name: &str) -> Result<String> {
    if name.is_empty() {
        return Ok(USUAL.to_owned());
    }
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    ensure!(
        name.len() <= 16 && name.bytes().all(is_plain),
        "{NAME} is {name:?}: use at most 16 lower-case letters and digits, or unset it"
    );
    Ok(format!("{USUAL}-{name}"))
}

/// All state of the node.
#[must_use]
pub fn root() -> &'static Path {
    &ROOT
}

/// The control group that holds every process of the node, below each hierarchy's root.
#[must_use]
pub(crate) fn control_group() -> &'static str {
    &TITLE
}

/// A file or directory of the node's state.
#[must_use]
pub fn state(path: &str) -> PathBuf {
    root().join(path)
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
pub(crate) fn ca_certificate() -> PathBuf {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_node_shares_no_directory_and_no_control_group_with_the_usual_one() {
        assert_eq!(title("").unwrap(), USUAL);
        assert_eq!(title("scale2").unwrap(), "function-runner-cluster-scale2");
        for bad in ["../x", "a b", "A", "a/b", "aaaaaaaaaaaaaaaaa", "é"] {
            let told = title(bad).unwrap_err().to_string();
            assert!(told.contains(NAME), "{told}");
        }
    }
}
