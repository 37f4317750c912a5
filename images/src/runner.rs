//! The runner's image: everything in the user's home, as manifests for Porch's own image expect it,
//! and the same names at the root, as older ones do.
//!
//! ```text
//! /home/nonroot/server               the runner
//! /home/nonroot/starlark-function    beside it, where it looks for it
//! /home/nonroot/grpc-health-probe    the wrapper's program, which is a probe by this name
//! /home/nonroot/config.yaml          the catalog's images that it runs by itself
//! /home/nonroot/functions/           for executables of the operator's
//! /server, /config.yaml, …           links to the above
//! ```
//! The base is a C library and a shell, taken from the Debian that builds it (`debian`): the runner
//! resolves names, and functions may be scripts or dynamic programs (docs/decisions/0040).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::layout::{Entry, ImageSpec, Packing};
use crate::{HOME, USER, accounts, debian, labels, link, text};

/// The image, from the directory with the release binaries.
pub fn runner(binaries: &Path) -> Result<ImageSpec> {
    let mut entries = debian::base()?;
    entries.extend(accounts());
    entries.push(Entry::Directory {
        path: "tmp".to_owned(),
        mode: 0o1777,
    });
    for (name, program) in [
        ("server", "function-runner"),
        ("starlark-function", "starlark-function"),
        ("grpc-health-probe", "wrapper-server"),
    ] {
        let program = binaries.join(program);
        entries.push(Entry::program(&format!("{HOME}/{name}"), program));
    }
    entries.push(text(&format!("{HOME}/config.yaml"), config(binaries)?));
    entries.push(Entry::Directory {
        path: format!("{HOME}/functions"),
        mode: 0o755,
    });
    for name in ["server", "grpc-health-probe", "config.yaml", "functions"] {
        entries.push(link(name, format!("{HOME}/{name}")));
    }
    let entrypoint = [
        format!("/{HOME}/server"),
        format!("--config=/{HOME}/config.yaml"),
        format!("--functions=/{HOME}/functions"),
    ];
    Ok(ImageSpec {
        entries,
        entrypoint: entrypoint.to_vec(),
        user: Some(USER.to_owned()),
        env: vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()],
        ports: ["9445/tcp", "9464/tcp"].map(str::to_owned).to_vec(),
        labels: labels("function-runner"),
        packing: Packing::Small,
        ..ImageSpec::default()
    })
}

/// The images that the runner runs by itself, in its own words. It sees its neighbours where it was
/// built as it will see them in the image.
fn config(binaries: &Path) -> Result<Vec<u8>> {
    let program = binaries.join("function-runner");
    let output = Command::new(&program)
        .args(["fn", "config"])
        .output()
        .with_context(|| format!("could not start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", program.display());
    Ok(output.stdout)
}
