//! The node's two registries as a client sees them: names, credentials, and pushing an image.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command::run;
use crate::image::Layout;
use crate::layout::{ca_certificate, state};

/// Who may use the private registry.
pub const USER: &str = "test-user";
pub const PASSWORD: &str = "test-password";

/// A registry of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// Plain HTTP, open to all; also stands in for docker.io, ghcr.io and gcr.io.
    Open,
    /// TLS with the test authority's certificate, and a password for everything.
    Private,
}

impl Registry {
    pub const ALL: [Self; 2] = [Self::Open, Self::Private];

    /// Clients speak plain HTTP to `*.local` without being told; `.test` is nobody's either, and
    /// gets no such favour.
    #[must_use]
    pub fn host(self) -> &'static str {
        match self {
            Self::Open => "registry.local",
            Self::Private => "registry.test",
        }
    }

    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Open => 5000,
            Self::Private => 5443,
        }
    }

    /// Host and port, as image references begin.
    #[must_use]
    pub fn address(self) -> String {
        format!("{}:{}", self.host(), self.port())
    }

    #[must_use]
    pub fn url(self) -> String {
        let scheme = if self.authority().is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address())
    }

    /// The certificate to trust, where there is TLS.
    #[must_use]
    pub fn authority(self) -> Option<PathBuf> {
        (self == Self::Private).then(ca_certificate)
    }

    /// Uploads an image under `repository:tag` and returns its full reference. What arrives has the
    /// digest of the layout, byte for byte.
    pub fn push(self, layout: &Layout, repository: &str, tag: &str) -> Result<String> {
        let reference = format!("{}/{repository}:{tag}", self.address());
        let mut copy = Command::new("skopeo");
        copy.args([
            "--insecure-policy",
            "copy",
            "--quiet",
            "--all",
            "--preserve-digests",
        ]);
        match self {
            Self::Open => copy.arg("--dest-tls-verify=false"),
            Self::Private => {
                copy.arg(format!("--dest-creds={USER}:{PASSWORD}"));
                copy.arg(format!(
                    "--dest-cert-dir={}",
                    trusted(&ca_certificate()).display()
                ))
            }
        };
        copy.arg(format!("oci:{}", layout.directory().display()));
        copy.arg(format!("docker://{reference}"));
        run(&mut copy)?;
        Ok(reference)
    }
}

/// skopeo takes every `*.crt` of a directory for an authority, and the node's other certificates
/// are of no use to it; the directory of the authority's own copy holds nothing else.
fn trusted(certificate: &Path) -> PathBuf {
    let directory = state("registry-authority");
    let copy = directory.join("ca.crt");
    if !copy.exists() {
        let _ = std::fs::create_dir_all(&directory);
        let _ = std::fs::copy(certificate, copy);
    }
    directory
}
