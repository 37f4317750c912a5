//! What a node could leave on its host: processes, mounts, control groups, network, settings and
//! files, as sets of lines that can be compared.
//!
//! Other people work on the machine meanwhile. So of processes only those count that are in other
//! namespaces or run a program of the node, and of `/tmp` only names that the node could have made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

type Lines = BTreeSet<String>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    kinds: BTreeMap<&'static str, Lines>,
}

impl Traces {
    pub(crate) fn take() -> Result<Self> {
        let mut files = Lines::new();
        for root in [
            "/etc",
            "/opt",
            "/run",
            "/srv",
            "/usr/libexec",
            "/usr/local",
            "/var",
        ] {
            walk(Path::new(root), &|path| !is_package_state(path), &mut files);
        }
        for directory in ["/", &std::env::var("HOME").unwrap_or_default()] {
            files.extend(names(Path::new(directory)));
        }
        files.extend(names(Path::new("/tmp")).into_iter().filter(|name| {
            ["cluster", "containerd", "kube", "runc", "skopeo"]
                .iter()
                .any(|ours| name.contains(ours))
        }));
        let mut groups = Lines::new();
        walk(Path::new("/sys/fs/cgroup"), &Path::is_dir, &mut groups);
        let mut network = Lines::new();
        for command in [
            "ip -o link",
            "ip -o address",
            "ip route show table all",
            "nft list ruleset",
        ] {
            network.extend(output(command)?);
        }
        Ok(Self {
            kinds: BTreeMap::from([
                ("process", processes()),
                ("mount", mounts()),
                ("control group", groups),
                ("network", network),
                ("setting", settings()),
                ("file", files),
            ]),
        })
    }

    /// Every line that is in one and not in the other.
    pub(crate) fn difference(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, here) in &self.kinds {
            let there = &other.kinds[kind];
            lines.extend(
                there
                    .difference(here)
                    .map(|line| format!("new {kind}: {line}")),
            );
            lines.extend(
                here.difference(there)
                    .map(|line| format!("lost {kind}: {line}")),
            );
        }
        lines
    }
}

/// Installing packages and reading package lists is not the node's doing.
fn is_package_state(path: &Path) -> bool {
    ["/var/cache", "/var/lib/apt", "/var/lib/dpkg"]
        .iter()
        .any(|known| path.starts_with(known))
}

fn walk(directory: &Path, counts: &dyn Fn(&Path) -> bool, found: &mut Lines) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if counts(&path) {
            found.insert(path.display().to_string());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&path, counts, found);
            }
        }
    }
}

fn names(directory: &Path) -> Lines {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path().display().to_string())
        .collect()
}

fn processes() -> Lines {
    const PROGRAMS: [&str; 12] = [
        "containerd",
        "containerd-shim",
        "runc",
        "docker-registry",
        "etcd",
        "kube-apiserver",
        "kube-controller",
        "kube-scheduler",
        "kube-proxy",
        "kubelet",
        "coredns",
        "busybox",
    ];
    let ours = namespaces(Path::new("/proc/self"));
    let mut found = Lines::new();
    for path in names(Path::new("/proc")).iter().map(Path::new) {
        let Ok(name) = fs::read_to_string(path.join("comm")) else {
            continue;
        };
        // Kernel threads and dead processes have none that can be read.
        let theirs = namespaces(path);
        let moved = theirs.is_some() && theirs != ours;
        if moved || PROGRAMS.iter().any(|program| name.starts_with(program)) {
            found.insert(format!("{} {}", path.display(), name.trim()));
        }
    }
    found
}

fn namespaces(process: &Path) -> Option<(u64, u64)> {
    let inode = |kind: &str| Some(fs::metadata(process.join("ns").join(kind)).ok()?.ino());
    Some((inode("net")?, inode("mnt")?))
}

/// Mount points with what is mounted there; the ids before them differ from look to look.
fn mounts() -> Lines {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines()
        .map(|line| line.splitn(4, ' ').last().unwrap_or_default().to_owned())
        .collect()
}

/// What kubelet, kube-proxy and CNI plugins are known to change.
fn settings() -> Lines {
    let mut files = Lines::new();
    for directory in [
        "/proc/sys/kernel/keys",
        "/proc/sys/net/ipv4/conf",
        "/proc/sys/net/bridge",
    ] {
        walk(Path::new(directory), &|_| true, &mut files);
    }
    let single = [
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "kernel/panic",
        "kernel/panic_on_oops",
        "net/ipv4/ip_forward",
        "net/netfilter/nf_conntrack_max",
    ];
    files.extend(single.map(|name| format!("/proc/sys/{name}")));
    let value = |file: String| {
        let text = fs::read_to_string(&file).unwrap_or_default();
        format!("{file} = {}", text.trim())
    };
    files.into_iter().map(value).collect()
}

fn output(command: &str) -> Result<Lines> {
    let run = Command::new("sh").args(["-c", command]).output()?;
    ensure!(
        run.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = String::from_utf8(run.stdout)?;
    Ok(text
        .lines()
        .map(|line| format!("{command}: {line}"))
        .collect())
}
