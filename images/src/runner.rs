//! The runner's image: everything in the user's home, as manifests for Porch's own image expect it,
//! and the same names at the root, as older ones do.
//!
//! ```text
//! /home/nonroot/server               the runner
//! /home/nonroot/starlark-function    beside it, where it looks for it
//! /home/nonroot/grpc-health-probe    a link to the runner, which is a probe by this name
//! /home/nonroot/config.yaml          empty: a place for the operator's own
//! /home/nonroot/functions/           for executables of the operator's
//! /server, /config.yaml, …           links to the above
//! ```
//! The base is a C library and a shell, taken from the Debian that builds it (`debian`): the runner
//! resolves names, and functions may be scripts or dynamic programs (docs/decisions/0040).

use std::path::Path;

use anyhow::Result;

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
    ] {
        let program = binaries.join(program);
        entries.push(Entry::program(&format!("{HOME}/{name}"), program));
    }
    entries.push(link(format!("{HOME}/grpc-health-probe"), "server"));
    entries.push(text(&format!("{HOME}/config.yaml"), CONFIG));
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

/// Nothing is configured: the bundled functions answer by themselves. The file is for
/// operators, who mount their own over it.
const CONFIG: &str = "functions: []\n";
