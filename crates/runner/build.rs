//! Links the runner with packed relocations where they can be read: glibc can from
//! 2.36 on. They are a twelfth of the program otherwise, and all of it is read, and
//! stays in memory, at every start.

use std::{env, process::Command};

/// The first glibc that reads them.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_for_here = variable("TARGET") == variable("HOST");
    if is_for_here && variable("CARGO_CFG_TARGET_ENV") == "gnu" && glibc() >= Some(FIRST) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's, which says `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
