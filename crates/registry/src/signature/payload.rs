//! What a signature says: "simple signing", the JSON that cosign signs.

use serde::Deserialize;

/// The statement that is meant; `type` exists so that no other statement passes for it.
const TYPE: &str = "cosign container image signature";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPayload {
    #[error("its payload cannot be read")]
    Form,
    #[error("its payload is of type {0:?}")]
    Type(String),
}

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// The digest of the image that is signed. Under which name it was signed does not
/// count, as it does not for cosign: a mirror has the same images.
pub(super) fn signed_digest(payload: &[u8]) -> Result<String, InvalidPayload> {
    let payload: Payload = serde_json::from_slice(payload).map_err(|_| InvalidPayload::Form)?;
    let Critical { image, kind } = payload.critical;
    if kind != TYPE {
        return Err(InvalidPayload::Type(kind.chars().take(100).collect()));
    }
    Ok(image.digest.chars().take(200).collect())
}
