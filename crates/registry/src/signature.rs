//! Signatures of images, as cosign makes them with the user's own key. Pure: documents,
//! keys and a digest in, the key that has signed it out.
//!
//! ```text
//! manifest ─► layer: payload (says which digest is signed) + annotation: signature of the payload
//! ```
//! A signature counts if its key is one of those asked for *and* its payload names the
//! digest: both, because signatures may be copied from one image to another.

mod key;
mod payload;
#[cfg(test)]
mod tests;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
pub use key::{InvalidKey, PublicKey};
use serde::Deserialize;

use crate::{
    digest::Digest,
    manifest::{self, InvalidDocument},
    reference::Reference,
};

/// What the layers of a signature are.
const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// A statement about an image, signed by somebody.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    pub(crate) payload: Bytes,
    pub(crate) signature: Vec<u8>,
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature of {} bytes", self.payload.len())
    }
}

/// Why no signature of an image counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    #[error("it is not signed")]
    Unsigned,
    #[error("none of its {0} signatures is by one of the keys")]
    OtherKeys(usize),
    #[error("it is signed as {signed}, which is another image")]
    OtherImage { signed: String },
    #[error("it is signed, but not as a container image: {0}")]
    Payload(payload::InvalidPayload),
}

/// The first of `keys` by which one of the signatures is of this digest.
pub fn signed_by<'k>(
    signatures: &[Signature],
    keys: &'k [PublicKey],
    digest: &Digest,
) -> Result<&'k PublicKey, Unverified> {
    let mut why = match signatures.len() {
        0 => Unverified::Unsigned,
        count => Unverified::OtherKeys(count),
    };
    for signature in signatures {
        let Some(key) = keys.iter().find(|key| key.has_signed(signature)) else {
            continue;
        };
        // Read only now: nobody else's words are worth a parser.
        match payload::signed_digest(&signature.payload) {
            Ok(signed) if signed == digest.to_string() => return Ok(key),
            Ok(signed) => why = Unverified::OtherImage { signed },
            Err(error) => why = Unverified::Payload(error),
        }
    }
    Err(why)
}

/// Where an image's signatures are: the tag that cosign gives them, and the one under
/// which a registry without the referrers API lists what refers to an image.
pub(crate) fn tags_of(digest: &Digest) -> (String, String) {
    let listed = digest.to_string().replace(':', "-");
    (format!("{listed}.sig"), listed)
}

/// The reference by which an image's signatures are asked for.
pub(crate) fn place(image: &Reference, digest: &Digest) -> Reference {
    image.with_tag(&tags_of(digest).0)
}

/// The digest whose signatures are there.
pub(crate) fn digest_of_place(place: &Reference) -> Option<Digest> {
    let name = place.tag()?.strip_suffix(".sig")?;
    name.replacen('-', ":", 1).parse().ok()
}

/// A layer that holds a signature: the payload's digest, and the signature over it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) payload: Digest,
    pub(crate) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct RawManifest {
    #[serde(default)]
    layers: Vec<RawLayer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLayer {
    #[serde(default)]
    media_type: String,
    digest: String,
    #[serde(default)]
    annotations: std::collections::HashMap<String, String>,
}

/// The signatures that a manifest names; layers of other kinds are left out.
pub(crate) fn layers(bytes: &[u8]) -> Result<Vec<Layer>, InvalidDocument> {
    let manifest: RawManifest = manifest::parse(bytes)?;
    let layer = |raw: RawLayer| {
        let signature = raw.annotations.get(ANNOTATION)?;
        Some(Layer {
            payload: raw.digest.parse().ok()?,
            signature: STANDARD.decode(signature).ok()?,
        })
    };
    let layers = manifest.layers.into_iter();
    let layers = layers.filter(|layer| layer.media_type == PAYLOAD_TYPE);
    Ok(layers.filter_map(layer).collect())
}

#[derive(Deserialize)]
struct RawIndex {
    #[serde(default)]
    manifests: Vec<RawReferrer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawReferrer {
    digest: String,
    artifact_type: Option<String>,
}

/// What refers to an image and may be a signature of it, by a list of referrers. One
/// without a type is looked into; other types are somebody else's.
pub(crate) fn referrers(bytes: &[u8]) -> Result<Vec<Digest>, InvalidDocument> {
    let index: RawIndex = manifest::parse(bytes)?;
    let is_signature = |referrer: &RawReferrer| {
        let kind = referrer.artifact_type.as_deref();
        kind.is_none_or(|kind| kind.is_empty() || kind.contains("cosign"))
    };
    let referrers = index.manifests.into_iter().filter(is_signature);
    Ok(referrers
        .filter_map(|referrer| referrer.digest.parse().ok())
        .collect())
}
