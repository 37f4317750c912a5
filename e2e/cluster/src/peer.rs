//! Porch's own function runner, which ours succeeds and is measured against.
//!
//! No node needs it, and it takes minutes to build; so it is built by those who ask for it, before
//! they go inside the node, from where there is no way to its sources.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::binaries::{Binaries, Missing};
use crate::image::{Entry, ImageSpec};
use crate::parts::Part;
use crate::seed::with_shell;

/// Its programs.
#[derive(Debug, Clone)]
pub struct Peer {
    pub server: PathBuf,
    pub wrapper: PathBuf,
    pub probe: PathBuf,
}

impl Peer {
    /// Its programs, built if they are not there and that is allowed.
    pub fn obtain(missing: Missing) -> Result<Self> {
        let binaries = Binaries::obtain(&[Part::Peer], missing)?;
        Ok(Self {
            server: binaries.program("server"),
            wrapper: binaries.program("wrapper-server"),
            probe: binaries.program("grpc-health-probe"),
        })
    }

    /// Its programs, for those who are inside the node already.
    pub fn built() -> Result<Self> {
        Self::obtain(Missing::Refuse).context("run `cluster peer` outside the node first")
    }

    /// Its wrapper's image, laid out as its own image file does it.
    #[must_use]
    pub fn wrapper_image(&self) -> ImageSpec {
        let mut image = with_shell(&["cp", "sh"]);
        for program in [&self.wrapper, &self.probe] {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let path = format!("home/nonroot/wrapper-server/{name}");
            image.entries.push(Entry::program(&path, program));
        }
        image.user = Some("10001:10001".to_owned());
        image
    }
}
