//! The images every node starts with: what a pod needs at least, a shell, and the real functions.
//!
//! The functions are packed once and kept beside their binaries; a start only uploads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use crate::binaries::Binaries;
use crate::command::call;
use crate::image::{Entry, ImageSpec, Layout};
use crate::layout::state;
use crate::parts::Part;
use crate::registry::Registry;

/// Debian's static build: it runs in an image that holds nothing else.
pub const BUSYBOX: &str = "/bin/busybox";

/// Ends the names of cached layouts: raise it when their content changes.
const LAYOUT: &str = "oci-1";

/// The sandbox image: it only has to stay.
#[must_use]
pub(crate) fn pause_reference() -> String {
    format!("{}/pause:test", Registry::Open.address())
}

/// A shell and the usual small tools.
#[must_use]
pub fn busybox_reference() -> String {
    format!("{}/busybox:test", Registry::Open.address())
}

/// The catalog's path below ghcr.io, which the open registry mirrors.
const CATALOG: &str = "kptdev/krm-functions-catalog";

/// A real function of the catalog, at the version that go.mod pins.
#[must_use]
pub fn function_reference(name: &str) -> Option<String> {
    let (_, version) = functions()
        .into_iter()
        .find(|(function, _)| *function == name)?;
    Some(format!(
        "{}/{CATALOG}/{name}:{version}",
        Registry::Open.address()
    ))
}

/// The program of a real function, of the running node.
pub fn function_program(name: &str) -> Result<PathBuf> {
    let known = functions().iter().any(|(function, _)| *function == name);
    ensure!(known, "no function is named {name}");
    Ok(Binaries::recorded()?.program(name))
}

/// An image with a shell and the tools that `links` names.
#[must_use]
pub fn with_shell(links: &[&str]) -> ImageSpec {
    let mut entries = vec![Entry::program("bin/busybox", BUSYBOX)];
    for applet in links {
        let (path, target) = (format!("bin/{applet}"), "busybox".to_owned());
        entries.push(Entry::Link { path, target });
    }
    ImageSpec {
        entries,
        env: vec!["PATH=/bin".to_owned()],
        ..ImageSpec::default()
    }
}

fn functions() -> Vec<(&'static str, &'static str)> {
    let parts = [Part::Functions, Part::ApplySetters];
    parts
        .iter()
        .flat_map(|part| part.programs())
        .map(|program| (program.name, program.version))
        .collect()
}

/// Uploads every image to the open registry. The registry is up; nothing else need be.
pub(crate) fn push(binaries: &Binaries) -> Result<()> {
    let mut images = vec![
        ("pause".to_owned(), "test", state("images/pause"), pause()),
        (
            "busybox".to_owned(),
            "test",
            state("images/busybox"),
            busybox()?,
        ),
    ];
    for (name, version) in functions() {
        let binary = binaries.program(name);
        let layout = binary.with_extension(LAYOUT);
        images.push((
            format!("{CATALOG}/{name}"),
            version,
            layout,
            function(&binary),
        ));
    }
    thread::scope(|scope| {
        let uploads: Vec<_> = images
            .iter()
            .map(|(repository, tag, layout, spec)| {
                scope.spawn(move || Registry::Open.push(&packed(layout, spec)?, repository, tag))
            })
            .collect();
        for upload in uploads {
            upload.join().map_err(|_| anyhow!("an upload panicked"))??;
        }
        Ok(())
    })
}

/// The layout in that directory, packed first if it is not there. A half-written one is never
/// taken for whole.
fn packed(directory: &Path, spec: &ImageSpec) -> Result<Layout> {
    if !directory.exists() {
        let partial = directory.with_extension("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        Layout::write(&partial, spec)?;
        fs::rename(&partial, directory).context("could not keep a packed image")?;
    }
    Ok(Layout::existing(directory))
}

fn pause() -> ImageSpec {
    ImageSpec {
        entries: vec![Entry::program("busybox", BUSYBOX)],
        entrypoint: ["/busybox", "sleep", "2147483647"]
            .map(str::to_owned)
            .to_vec(),
        ..ImageSpec::default()
    }
}

fn busybox() -> Result<ImageSpec> {
    let applets = call(BUSYBOX, &["--list"])?;
    let mut entries = vec![
        Entry::Directory {
            path: "tmp".to_owned(),
            mode: 0o1777,
        },
        Entry::program("bin/busybox", BUSYBOX),
    ];
    entries.extend(
        applets
            .lines()
            .filter(|applet| *applet != "busybox")
            .map(|applet| Entry::Link {
                path: format!("bin/{applet}"),
                target: "busybox".to_owned(),
            }),
    );
    Ok(ImageSpec {
        entries,
        cmd: vec!["sh".to_owned()],
        env: vec!["PATH=/bin".to_owned()],
        ..ImageSpec::default()
    })
}

/// As the catalog builds them: the binary is the entrypoint, and no user is named.
fn function(binary: &Path) -> ImageSpec {
    ImageSpec {
        entries: vec![Entry::program("usr/local/bin/function", binary)],
        entrypoint: vec!["/usr/local/bin/function".to_owned()],
        ..ImageSpec::default()
    }
}
