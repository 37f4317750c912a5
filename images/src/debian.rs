//! The base of the runner's image, out of packages of the Debian that builds it: what the runner was
//! linked with is what it runs with. Nothing is downloaded.
//!
//! The packages' licences come along, and their records where scanners look for those of images
//! without a package manager.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Entry;
use crate::{link, text};

const PACKAGES: [&str; 3] = ["libc6", "libgcc-s1", "busybox-static"];

/// What is not taken of them: documentation, settings of a system with a package manager, and
/// plugins for character sets of the past.
const LEFT_OUT: [&str; 3] = ["/usr/share/", "/etc/", "/gconv/"];

/// Where the package of the public authorities has them: Mozilla's, one per file.
const AUTHORITIES: &str = "/usr/share/ca-certificates/mozilla/";

/// Where programs look for them.
const BUNDLE: &str = "etc/ssl/certs/ca-certificates.crt";

const BUSYBOX: &str = "usr/bin/busybox";

/// A C library with its resolver, a shell with the usual tools, and the public authorities.
pub(crate) fn base() -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = ["bin", "lib", "lib64", "sbin"]
        .map(|name| link(name, format!("usr/{name}")))
        .to_vec();
    entries.push(link("usr/sbin", "bin"));
    for package in PACKAGES {
        for path in query(&["--listfiles", package])?.lines() {
            let is_wanted = !LEFT_OUT.iter().any(|part| path.contains(part));
            if is_wanted && !Path::new(path).is_dir() {
                entries.push(file(path)?);
            }
        }
        let record = query(&["--status", package])?;
        entries.push(text(&format!("var/lib/dpkg/status.d/{package}"), record));
        entries.push(copy(&format!("/usr/share/doc/{package}/copyright"))?);
    }
    for applet in call("/bin/busybox", &["--list"])?.lines() {
        let path = format!("usr/bin/{applet}");
        if path != BUSYBOX {
            entries.push(link(path, "busybox"));
        }
    }
    entries.push(text(BUNDLE, authorities()?));
    entries.push(copy("/etc/os-release")?);
    entries.push(text("etc/nsswitch.conf", "hosts: files dns\n"));
    Ok(entries)
}

/// The public authorities, as the package has them. Not this system's bundle, to which its
/// administrator may have added authorities that nobody else has reason to trust.
fn authorities() -> Result<String> {
    let listed = query(&["--listfiles", "ca-certificates"])?;
    let mut files: Vec<&str> = listed
        .lines()
        .filter(|path| path.starts_with(AUTHORITIES))
        .collect();
    files.sort_unstable();
    if files.is_empty() {
        bail!("the package ca-certificates has no file below {AUTHORITIES}");
    }
    let read =
        |path: &&str| fs::read_to_string(path).with_context(|| format!("could not read {path}"));
    files.iter().map(read).collect()
}

/// A program, library or link at its place.
fn file(path: &str) -> Result<Entry> {
    let place = merged(path);
    Ok(match fs::read_link(path) {
        Ok(target) => link(place, target.to_string_lossy()),
        Err(_) => Entry::program(&place, path),
    })
}

/// Text at its place.
fn copy(path: &str) -> Result<Entry> {
    let content = fs::read(path).with_context(|| {
        format!("could not read {path}: apt-get install busybox-static ca-certificates")
    })?;
    Ok(text(path.trim_start_matches('/'), content))
}

/// Where a path leads when `/bin` and `/lib` are links into `/usr`, whatever the package says.
fn merged(path: &str) -> String {
    let path = path.trim_start_matches('/');
    if path.starts_with("usr/") {
        path.to_owned()
    } else {
        format!("usr/{path}")
    }
}

fn query(arguments: &[&str]) -> Result<String> {
    call("dpkg-query", arguments).context(
        "the runner's image is made of a Debian system's packages: \
         apt-get install busybox-static ca-certificates",
    )
}

fn call(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("could not start {program}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_does_not_depend_on_how_the_package_spells_it() {
        for path in ["/lib/x/libc.so.6", "/usr/lib/x/libc.so.6"] {
            assert_eq!(merged(path), "usr/lib/x/libc.so.6");
        }
    }

    /// The certificates of a bundle, each as its text.
    fn certificates(bundle: &str) -> Vec<&str> {
        let begin = "-----BEGIN CERTIFICATE-----";
        bundle.split(begin).skip(1).map(str::trim).collect()
    }

    #[test]
    fn authorities_that_were_added_to_this_machine_are_not_in_the_image() {
        let bundle = authorities().unwrap();
        let shipped = certificates(&bundle);
        assert!(shipped.len() > 100, "{} authorities", shipped.len());
        let added = fs::read_dir("/usr/local/share/ca-certificates");
        for file in added.into_iter().flatten() {
            let Ok(text) = fs::read_to_string(file.unwrap().path()) else {
                continue;
            };
            for certificate in certificates(&text) {
                assert!(
                    !shipped.contains(&certificate),
                    "a local authority is shipped"
                );
            }
        }
        // Nothing but what the packages' own files hold.
        let packaged: String = fs::read_dir(AUTHORITIES)
            .unwrap()
            .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        let packaged = certificates(&packaged);
        assert!(shipped.iter().all(|one| packaged.contains(one)));
    }
}
