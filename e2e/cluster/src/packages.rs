//! The Debian packages a node needs. They stay installed: other programs may use them by then.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::run;
use crate::seed::BUSYBOX;

/// Each package, and something it must bring: a program in PATH or a file.
const PACKAGES: [(&str, &str); 11] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("containernetworking-plugins", "/usr/lib/cni/bridge"),
    ("docker-registry", "docker-registry"),
    ("skopeo", "skopeo"),
    ("busybox-static", BUSYBOX),
    ("nftables", "nft"),
    ("iptables", "iptables"),
    ("conntrack", "conntrack"),
    ("apache2-utils", "htpasswd"),
    ("faketime", "faketime"),
];

/// While this file exists and says 101, installing a package starts no service.
const START_POLICY: &str = "/usr/sbin/policy-rc.d";

#[must_use]
pub(crate) fn missing() -> Vec<&'static str> {
    let absent = PACKAGES.iter().filter(|(_, brings)| !in_path(brings));
    absent.map(|(package, _)| *package).collect()
}

#[must_use]
pub(crate) fn installable() -> bool {
    in_path("apt-get")
}

/// Whether a program is in PATH, or a file of this absolute name exists.
#[must_use]
pub(crate) fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).exists())
}

pub(crate) fn install(packages: &[&str]) -> Result<()> {
    eprintln!("installing Debian packages: {}", packages.join(" "));
    let _quiet = ServicesStayOff::new()?;
    let apt = || {
        let mut command = Command::new("apt-get");
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-q", "-y"]);
        command
    };
    run(apt().arg("update")).context("could not read the package lists")?;
    run(apt()
        .args(["install", "--no-install-recommends"])
        .args(packages))
    .context("could not install packages")?;
    Ok(())
}

/// Keeps the packages' own services from starting: the node starts its own, its own way.
struct ServicesStayOff {
    ours: bool,
}

impl ServicesStayOff {
    fn new() -> Result<Self> {
        let ours = !Path::new(START_POLICY).exists();
        if ours {
            fs::write(START_POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(START_POLICY, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { ours })
    }
}

impl Drop for ServicesStayOff {
    fn drop(&mut self) {
        if self.ours {
            let _ = fs::remove_file(START_POLICY);
        }
    }
}
