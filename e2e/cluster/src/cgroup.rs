//! The node's control groups: one tree of the same name below every hierarchy.
//!
//! The kubelet makes its pods' groups in it, and every process of the node starts in its `system`
//! leaf, so "all that belongs to the node" is a question to the kernel: no crash can hide a
//! process from [`kill_all`].

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::layout::control_group;
use crate::process::{Process, wait_until};

/// What the kubelet limits pods by; under v2 a group has only what its parent hands down.
const CONTROLLERS: [&str; 6] = ["cpu", "cpuset", "hugetlb", "io", "memory", "pids"];

/// Makes the tree in every hierarchy, as the kubelet's `cgroupRoot` has to exist in each.
pub(crate) fn create() -> Result<()> {
    for hierarchy in hierarchies()? {
        let tree = hierarchy.join(control_group());
        fs::create_dir_all(&tree).with_context(|| format!("could not make {}", tree.display()))?;
        // v1 has no such file.
        let offered = fs::read_to_string(hierarchy.join("cgroup.controllers")).unwrap_or_default();
        for controller in offered
            .split_whitespace()
            .filter(|name| CONTROLLERS.contains(name))
        {
            for parent in [&hierarchy, &tree] {
                let file = parent.join("cgroup.subtree_control");
                fs::write(&file, format!("+{controller}"))
                    .with_context(|| format!("could not hand down {controller} by {file:?}"))?;
            }
        }
    }
    fs::create_dir_all(system_leaf()?)?;
    Ok(())
}

/// A command that becomes a member of the node and then `program`, with the same pid: there is no
/// moment in which the program runs outside the group.
pub(crate) fn member(program: &str) -> Result<Command> {
    let mut command = Command::new("sh");
    command.args(["-c", r#"echo $$ >"$0" && exec "$@""#]);
    command
        .arg(system_leaf()?.join("cgroup.procs"))
        .arg(program);
    Ok(command)
}

/// Ends every process of the node: components, shims, containers, and whoever entered.
pub fn kill_all() -> Result<()> {
    let mut seen = Vec::new();
    wait_until(
        Duration::from_secs(20),
        "the node's processes to end",
        || {
            let members = members()?;
            for pid in &members {
                // Gone between the look and the signal is as good as killed.
                if let Ok(process) = Process::with_pid(*pid) {
                    let _ = process.kill();
                    seen.push(process);
                }
            }
            Ok(members.is_empty())
        },
    )?;
    // Orphans stay in the process table until init notices. One that never does is not ours to
    // mend, so this is no error.
    let _ = wait_until(Duration::from_secs(5), "init to reap", || {
        Ok(!seen.iter().any(Process::exists))
    });
    Ok(())
}

/// Removes the trees; they must hold no process.
pub(crate) fn remove() -> Result<()> {
    wait_until(
        Duration::from_secs(10),
        "the node's control groups to go",
        || {
            let mut gone = true;
            for tree in trees()? {
                for directory in with_descendants(&tree).iter().rev() {
                    match fs::remove_dir(directory) {
                        Err(error) if error.kind() == ErrorKind::NotFound => {}
                        // Dying members leave a group with a delay.
                        Err(_) => gone = false,
                        Ok(()) => {}
                    }
                }
            }
            Ok(gone)
        },
    )
}

/// The pids of every process in any group of the node.
fn members() -> Result<BTreeSet<i32>> {
    let mut pids = BTreeSet::new();
    for directory in trees()?.iter().flat_map(|tree| with_descendants(tree)) {
        let procs = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        pids.extend(procs.lines().filter_map(|line| line.parse::<i32>().ok()));
    }
    Ok(pids)
}

/// The node's groups that exist now.
pub(crate) fn trees() -> Result<Vec<PathBuf>> {
    let trees = hierarchies()?
        .into_iter()
        .map(|hierarchy| hierarchy.join(control_group()));
    Ok(trees.filter(|tree| tree.is_dir()).collect())
}

/// One hierarchy is enough to count processes, and which one does not limit them: `pids` of v1,
/// else the unified one.
fn system_leaf() -> Result<PathBuf> {
    let hierarchies = hierarchies()?;
    let chosen = hierarchies
        .iter()
        .find(|path| path.ends_with("pids"))
        .or_else(|| {
            hierarchies
                .iter()
                .find(|path| path.join("cgroup.controllers").exists())
        })
        .context("neither cgroup v2 nor the pids controller of v1 is mounted")?;
    Ok(chosen.join(control_group()).join("system"))
}

/// Mount points of every cgroup hierarchy, v1 and v2, each once.
pub(crate) fn hierarchies() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let mut found = BTreeSet::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        if let (Some(path), Some("cgroup" | "cgroup2")) = (fields.next(), fields.next()) {
            found.insert(PathBuf::from(path));
        }
    }
    if found.is_empty() {
        bail!("no cgroup hierarchy is mounted");
    }
    Ok(found.into_iter().collect())
}

/// Parents before their children.
fn with_descendants(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    let mut next = 0;
    while let Some(parent) = found.get(next).cloned() {
        next += 1;
        let children = fs::read_dir(parent).into_iter().flatten().flatten();
        found.extend(
            children
                .map(|entry| entry.path())
                .filter(|path| path.is_dir()),
        );
    }
    found
}
