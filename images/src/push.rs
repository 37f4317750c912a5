//! Uploading an image.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::layout::Layout;

/// Uploads with skopeo, under `host/repository:tag`. What arrives has the digest of the layout, byte for
/// byte. Credentials and authorities are skopeo's own, or given by `flags` of `skopeo copy`.
pub fn push(layout: &Layout, reference: &str, flags: &[String]) -> Result<()> {
    let output = Command::new("skopeo")
        .args(["--insecure-policy", "copy", "--quiet", "--all"])
        .arg("--preserve-digests")
        .args(flags)
        .arg(format!("oci:{}", layout.directory().display()))
        .arg(format!("docker://{reference}"))
        .output()
        .context("could not start skopeo: apt-get install skopeo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "could not push {reference}: {}",
        said.trim()
    );
    Ok(())
}
