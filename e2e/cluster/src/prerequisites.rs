//! What the machine must offer before a node can start; everything missing is said at once.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use rustix::process::geteuid;

use crate::binaries::Missing;
use crate::cgroup;
use crate::command::call;
use crate::packages;

/// Checks the machine and installs missing Debian packages, unless that is refused.
pub(crate) fn ensure(missing: Missing) -> Result<()> {
    let packages = packages::missing();
    let mut problems = problems();
    if !packages.is_empty() && (missing == Missing::Refuse || !packages::installable()) {
        problems.push(format!(
            "Debian packages are missing: install {}",
            packages.join(" ")
        ));
    }
    if !problems.is_empty() {
        bail!(
            "this machine cannot run the test node yet:\n  - {}",
            problems.join("\n  - ")
        );
    }
    if !packages.is_empty() {
        packages::install(&packages)?;
    }
    Ok(())
}

/// Only root can make namespaces of this kind.
pub(crate) fn require_root() -> Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    bail!("{NOT_ROOT}");
}

const NOT_ROOT: &str = "not root: namespaces, mounts and control groups need it; use sudo -E";

fn problems() -> Vec<String> {
    let mut problems = Vec::new();
    let mut need = |met: bool, otherwise: &str| {
        if !met {
            problems.push(otherwise.to_owned());
        }
    };
    let root = geteuid().is_root();
    need(root, NOT_ROOT);
    need(
        call("go", &["version"]).is_ok(),
        "no Go in PATH: install it from go.dev, or add its bin directory to PATH",
    );
    for program in ["ip", "nsenter", "unshare", "setsid", "mount"] {
        let found = packages::in_path(program);
        need(
            found,
            &format!("no `{program}`: install the packages iproute2 and util-linux"),
        );
    }
    need(
        has_filesystem("overlay"),
        "the kernel has no overlayfs: load it (`modprobe overlay`) or enable CONFIG_OVERLAY_FS",
    );
    need(
        has_memory_controller(),
        "no memory cgroup is mounted: mount cgroup2 on /sys/fs/cgroup, or enable CONFIG_MEMCG",
    );
    if root {
        need(
            call("unshare", &["--net", "--mount", "true"]).is_ok(),
            "network or mount namespaces cannot be made: a container needs --privileged for it",
        );
        need(
            scratch_network(
                "ip link add br0 type bridge && ip link add veth0 type veth peer name veth1",
            ),
            "the kernel makes no bridge or veth devices: enable CONFIG_BRIDGE and CONFIG_VETH",
        );
        need(
            !packages::in_path("nft") || scratch_network("nft add table ip probe"),
            "the kernel has no nf_tables: enable CONFIG_NF_TABLES",
        );
    }
    problems
}

/// Tries a command in a network namespace of its own, gone with the command.
fn scratch_network(script: &str) -> bool {
    call("unshare", &["--net", "sh", "-c", script]).is_ok()
}

fn has_filesystem(name: &str) -> bool {
    let known = || {
        fs::read_to_string("/proc/filesystems")
            .unwrap_or_default()
            .contains(name)
    };
    // Kernels with modules know it only once it is loaded.
    known() || (call("modprobe", &[name]).is_ok() && known())
}

fn has_memory_controller() -> bool {
    let offers = |hierarchy: &Path| {
        let controllers = fs::read_to_string(hierarchy.join("cgroup.controllers"));
        hierarchy.ends_with("memory")
            || controllers.is_ok_and(|names| names.split_whitespace().any(|name| name == "memory"))
    };
    cgroup::hierarchies().is_ok_and(|all| all.iter().any(|hierarchy| offers(hierarchy)))
}
