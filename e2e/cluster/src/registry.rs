//! The node's two registries as a client sees them: names, credentials, and pushing an image.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::image::{ImageSpec, Layout};
use crate::layout::{authority_directory, ca_certificate, state};

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
    pub(crate) fn url(self) -> String {
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

    /// Builds an image and uploads it under `repository:tag`.
    pub fn publish(self, repository: &str, tag: &str, spec: &ImageSpec) -> Result<Published> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!(
            "{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let directory = state("images").join(unique);
        let layout = Layout::write(&directory, spec)?;
        let published = self.push(&layout, repository, tag)?;
        fs::remove_dir_all(directory)?;
        Ok(published)
    }

    /// Uploads a packed image. What arrives has the digest of the layout, byte for byte.
    pub fn push(self, layout: &Layout, repository: &str, tag: &str) -> Result<Published> {
        let reference = format!("{}/{repository}:{tag}", self.address());
        let flags = match self {
            Self::Open => vec!["--dest-tls-verify=false".to_owned()],
            Self::Private => vec![
                format!("--dest-creds={USER}:{PASSWORD}"),
                format!("--dest-cert-dir={}", authority_directory().display()),
            ],
        };
        // Two uploads of one blob at a time disturb each other: "manifest blob unknown".
        let turn = File::create(state("push.lock"))?;
        turn.lock()?;
        images::push(layout, &reference, &flags)?;
        Ok(Published {
            reference,
            digest: layout.digest()?,
        })
    }
}

/// An image in a registry.
#[derive(Debug, Clone)]
pub struct Published {
    /// `host:port/repository:tag`
    pub reference: String,
    /// `sha256:…`, of the index where there is one.
    pub digest: String,
}

impl Published {
    /// The reference that always means this very image, on nodes that keep images too.
    #[must_use]
    pub fn pinned(&self) -> String {
        let reference = &self.reference;
        let name = reference
            .rsplit_once(':')
            .map_or(reference.as_str(), |(name, _)| name);
        format!("{name}@{}", self.digest)
    }
}
