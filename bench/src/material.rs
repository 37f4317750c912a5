//! The lists that functions are called with, and the smallest function.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;

/// The bytes of the small list, about: a package of three resources.
pub(crate) const SMALL: usize = 1_000;
/// A package of many resources.
pub(crate) const PACKAGE: usize = 100_000;
/// As large as lists get that still fit Porch's limit of 6 MiB both ways.
pub(crate) const LARGE: usize = 4_500_000;

/// The namespace that set-namespace is asked for.
pub(crate) const WANTED: &str = "namespace: production";

/// A list of at least this many bytes, of ConfigMaps, with set-namespace's configuration.
pub(crate) fn list(size: usize) -> Bytes {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n".to_owned();
    list.push_str("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n");
    let _ = writeln!(list, "  metadata:\n    name: config\n  data:\n    {WANTED}");
    list.push_str("items:\n");
    let mut number = 0;
    while list.len() < size || number == 0 {
        let _ = write!(
            list,
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings-{number}\n    \
             namespace: staging\n    labels:\n      app: shop\n  data:\n    colour: green\n    \
             motto: \"an item of about three hundred bytes is what packages are made of\"\n    \
             script: |\n      echo begin\n      echo end\n"
        );
        number += 1;
    }
    list.into()
}

/// Compiles the identity function into `folder`.
pub(crate) fn identity(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("identity");
    let compiled = Command::new("rustc")
        .args(["--edition=2024", "--crate-name=identity", "-O"])
        .args(["-C", "target-feature=+crt-static", "-C", "panic=abort"])
        .args(["-C", "strip=symbols", "-o"])
        .arg(&program)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/identity.rs"))
        .status()
        .context("could not run rustc")?;
    ensure!(compiled.success(), "the identity function does not compile");
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_size_that_was_asked_for_within_one_item() {
        for size in [SMALL, PACKAGE, LARGE] {
            let length = list(size).len();
            assert!((size..size + 400).contains(&length), "{length} for {size}");
        }
    }
}
