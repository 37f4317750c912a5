//! Taking the node down, whatever state it is in.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cgroup;
use crate::layout::root;
use crate::lock::Lock;
use crate::namespaces;
use crate::prerequisites::require_root;

/// Removes every trace of the node. Safe to repeat.
pub fn down() -> Result<()> {
    require_root()?;
    if namespaces::inside() {
        bail!("this shell is inside the node and would end with it: leave it first");
    }
    if !root().exists() && cgroup::trees()?.is_empty() {
        println!("no cluster is up");
        return Ok(());
    }
    let lock = Lock::take()?;
    clear()?;
    lock.remove()?;
    println!("the cluster is gone");
    Ok(())
}

/// Removes everything but the lock, which the caller holds; says whether there was anything.
///
/// Processes go first: with the last of them the kernel drops the namespaces, and with those every
/// mount, interface and firewall rule. What is left is plain directories.
pub(crate) fn clear() -> Result<bool> {
    let mut found = !cgroup::trees()?.is_empty();
    cgroup::kill_all()?;
    cgroup::remove()?;
    for entry in fs::read_dir(root()).context("could not read the state")? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "lock") {
            continue;
        }
        found = true;
        if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        }
        .with_context(|| format!("could not remove {}", path.display()))?;
    }
    Ok(found)
}
