//! The node's own network and mount namespaces.
//!
//! One sleeping process holds both; whoever belongs to the node enters through it. Nothing is
//! pinned on the host: no file in `/run/netns`, no bind mount. When the last member is gone the
//! kernel takes interfaces, routes, firewall rules and mounts away, after a crash as well.
//!
//! ```text
//! host                         inside
//! /var/lib/function-runner-…   the same
//! /var/lib, /var/log           directories of the state (kubelet, containerd, CNI, pod logs)
//! /run                         a tmpfs
//! /etc/hosts, resolv.conf      registries by name; the cluster's DNS
//! six files of /proc/sys       what the kubelet wants to read there, so it does not set it
//! ```

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cgroup;
use crate::command::call;
use crate::layout::{NODE_ADDRESS, log_file, root, state};
use crate::process::{self, Process, wait_until};
use crate::registry::Registry;

const HOLDER: &str = "holder";

/// The kubelet sets these for the whole machine unless it finds them set. It reads our files
/// instead, and the host keeps its values.
const KUBELET_SYSCTLS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Makes the namespaces, empty: [`furnish`] fills them from within.
pub(crate) fn create() -> Result<()> {
    let arguments = [
        "--net",
        "--mount",
        "--propagation",
        "private",
        "sleep",
        "infinity",
    ];
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let holder = process::start(HOLDER, Path::new("unshare"), &arguments)?;
    let host = (
        namespace(std::process::id(), "net")?,
        namespace(std::process::id(), "mnt")?,
    );
    wait_until(Duration::from_secs(5), "the node's namespaces", || {
        if !holder.is_alive() {
            let said = fs::read_to_string(log_file(HOLDER)).unwrap_or_default();
            bail!("could not make namespaces: {}", said.trim());
        }
        let pid = u32::try_from(holder.pid())?;
        Ok(namespace(pid, "net")? != host.0 && namespace(pid, "mnt")? != host.1)
    })
}

/// The holder, if the node's namespaces exist.
#[must_use]
pub(crate) fn holder() -> Option<Process> {
    Process::recorded(HOLDER).filter(Process::is_alive)
}

/// Whether the calling process is inside.
#[must_use]
pub fn inside() -> bool {
    let same = |holder: Process| -> Result<bool> {
        let pid = u32::try_from(holder.pid())?;
        let me = std::process::id();
        Ok(namespace(pid, "net")? == namespace(me, "net")?
            && namespace(pid, "mnt")? == namespace(me, "mnt")?)
    };
    holder().is_some_and(|holder| same(holder).unwrap_or(false))
}

/// A command that will run `program` inside, as a member of the node: it ends with the node.
pub(crate) fn enter(program: &Path) -> Result<Command> {
    let holder = holder().context("no cluster is up: run `make cluster`")?;
    let mut command = cgroup::member("nsenter")?;
    command.args(["--target", &holder.pid().to_string(), "--net", "--mount"]);
    // The working directory is looked up again, inside.
    let mut directory = std::ffi::OsString::from("--wdns=");
    directory.push(std::env::current_dir()?);
    command.arg(directory).arg("--").arg(program);
    Ok(command)
}

/// Refuses a path that the node's own directories would hide from those inside.
pub(crate) fn require_visible(path: &Path) -> Result<()> {
    match ["/run", "/var/lib", "/var/log"]
        .iter()
        .find(|hidden| path.starts_with(hidden))
    {
        Some(hidden) => bail!(
            "{} must not be below {hidden}: inside the node that is another directory",
            path.display()
        ),
        None => Ok(()),
    }
}

/// Fills the namespaces: mounts first, then the network. Runs inside.
pub(crate) fn furnish() -> Result<()> {
    mounts().context("could not set up the node's mounts")?;
    network().context("could not set up the node's network")
}

fn mounts() -> Result<()> {
    let (lib, log, etc) = (state("node/lib"), state("node/log"), state("node/etc"));
    let own = lib.join(root().file_name().context("state directory")?);
    for directory in [&own, &log, &etc] {
        fs::create_dir_all(directory)?;
    }
    let hosts = Registry::ALL.map(|registry| format!("{NODE_ADDRESS} {}\n", registry.host()));
    fs::write(
        etc.join("hosts"),
        format!("127.0.0.1 localhost\n{}", hosts.concat()),
    )?;
    fs::write(etc.join("resolv.conf"), resolv_conf())?;
    // The state stays visible at its own path below the new /var/lib.
    bind(root(), &own)?;
    call(
        "mount",
        &[Path::new("--rbind"), &lib, Path::new("/var/lib")],
    )?;
    bind(&log, Path::new("/var/log"))?;
    bind(&etc.join("hosts"), Path::new("/etc/hosts"))?;
    let resolver = fs::canonicalize("/etc/resolv.conf").context("no /etc/resolv.conf")?;
    call("mount", &["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])?;
    // Where systemd-resolved rules, the file is a link into /run.
    if resolver.starts_with("/run") {
        fs::create_dir_all(resolver.parent().context("directory of resolv.conf")?)?;
        fs::write(&resolver, resolv_conf())?;
    } else {
        bind(&etc.join("resolv.conf"), &resolver)?;
    }
    for (name, value) in KUBELET_SYSCTLS {
        let file = etc.join(name.replace('/', "."));
        fs::write(&file, format!("{value}\n"))?;
        bind(&file, &Path::new("/proc/sys").join(name))?;
    }
    // Pods may ask for mounts that propagate; that needs a shared root, shared only in here.
    call("mount", &["--make-rshared", "/"])?;
    Ok(())
}

/// The node's resolver, for those inside and for pods that use the node's DNS.
fn resolv_conf() -> String {
    format!("nameserver {NODE_ADDRESS}\n")
}

fn network() -> Result<()> {
    let address = format!("{NODE_ADDRESS}/32");
    // A bridge without ports carries the address: some kernels lack the dummy device.
    for arguments in [
        "link set lo up",
        "link add node type bridge",
        &format!("address add {address} dev node"),
        "link set node up",
        "route add default dev node",
    ] {
        call("ip", &arguments.split(' ').collect::<Vec<_>>())?;
    }
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    Ok(())
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    call("mount", &[Path::new("--bind"), from, to]).map(drop)
}

fn namespace(pid: u32, kind: &str) -> Result<u64> {
    Ok(fs::metadata(format!("/proc/{pid}/ns/{kind}"))?.ino())
}
