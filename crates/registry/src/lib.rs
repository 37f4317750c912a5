//! Container images, without Kubernetes: how they are named ([`Reference`]), and
//! what registries know about them.
//!
//! ```text
//! Metadata, TagLists (one answer for many callers) ─► Client (one image's requests)
//!     ─► auth: credentials · challenge: what a registry wants to see
//!     ─► manifest, platform, digest: what its documents mean
//!     ─► signature: who has signed an image
//!     ─► transport: connections, TLS, plain HTTP
//! ```

mod auth;
mod challenge;
mod client;
mod digest;
mod jitter;
mod manifest;
mod metadata;
mod platform;
mod reference;
mod secret;
mod signature;
mod transport;
mod url;
mod warnings;

pub use auth::{CredentialsError, HelperError, Keychain, Origin};
pub use client::{AuthenticateError, Client, Exchange, FetchError, Image, Report, Timeouts};
pub use digest::{Digest, InvalidDigest};
pub use manifest::InvalidDocument;
pub use metadata::{Metadata, MetadataError, SignatureLists, Source, Statistics, TagLists, Tags};
pub use platform::Platform;
pub use reference::{InvalidReference, Reference};
pub use signature::{InvalidKey, PublicKey, Signature, Unverified, signed_by};
pub use transport::{ConnectError, TlsFailure, TlsPath, Transport, TrustError};
pub use url::{Endpoint, Scheme};

/// For the fuzz targets only.
#[doc(hidden)]
pub mod fuzz {
    pub use crate::{challenge::choose, manifest::understand};
}
