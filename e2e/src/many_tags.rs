//! A repository with 2,500 tags, for version constraints.

use anyhow::{Result, ensure};
use cluster::image::ImageSpec;

use crate::real_registry::Images;

/// How many tags the repository has.
pub const COUNT: usize = 2_500;

/// As Porch 1.6 writes it; [`BEST`] satisfies it.
pub const CONSTRAINT: &str = ">=v0.4.0 <v0.5";

/// The highest version that satisfies the constraint. Read as text others come after it: `v0.4.99`
/// and, on another page, `v0.5.0`.
pub const BEST: &str = "v0.4.899";

/// Stores `best` as [`BEST`] and `others` under all other tags of `repository`.
pub fn store(
    images: &Images,
    repository: &str,
    best: &ImageSpec,
    others: &ImageSpec,
) -> Result<()> {
    let first = format!("{repository}:latest");
    images.store(&first, others, "oci")?;
    let line =
        |line: &'static str, count: u32| (0..count).map(move |patch| format!("{line}.{patch}"));
    let signature = format!("sha256-{}.sig", "0".repeat(64));
    let odd = [
        signature,
        "v0.4.900-git-1234567".into(),
        "v0.4.901-rc1".into(),
    ];
    let tags: Vec<String> = line("v0.3", 899)
        .chain(line("v0.4", 899))
        .chain(line("v0.5", 697))
        .chain(odd)
        .collect();
    // With the first one and the best.
    ensure!(tags.len() + 2 == COUNT, "{} tags", tags.len() + 2);
    images.tag(&first, tags)?;
    images.store(&format!("{repository}:{BEST}"), best, "oci")
}
