//! Public keys that may sign images.

use std::fmt;

use rustls_pki_types::{
    SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer,
    pem::{self, PemObject as _},
};
use webpki::{RawPublicKeyEntity, ring};

use super::Signature;
use crate::digest::Digest;

/// What cosign signs with, by kind of key. The first is what `cosign generate-key-pair`
/// makes. With a key of P-384 cosign hashed with SHA-256 once, and hashes with SHA-384
/// now (2.6). Ed25519 is the plain one: ring cannot verify Ed25519ph, which cosign uses
/// by now for such keys.
static ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 5] = [
    ring::ECDSA_P256_SHA256,
    ring::ECDSA_P384_SHA256,
    ring::ECDSA_P384_SHA384,
    ring::RSA_PKCS1_2048_8192_SHA256,
    ring::ED25519,
];

/// A key, as a PEM block `PUBLIC KEY` has it.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    der: SubjectPublicKeyInfoDer<'static>,
    fingerprint: Digest,
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidKey {
    #[error("it has no PEM block \"PUBLIC KEY\", which is what cosign.pub holds")]
    Missing,
    #[error("its PEM is broken: {0}")]
    Pem(pem::Error),
    #[error("it is not a public key of ECDSA P-256 or P-384, RSA from 2048 bits, or Ed25519")]
    Kind,
}

impl PublicKey {
    /// The first key of a text.
    pub fn from_pem(text: &str) -> Result<Self, InvalidKey> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes());
        let der = der.map_err(|error| match error {
            pem::Error::NoItemsFound => InvalidKey::Missing,
            error => InvalidKey::Pem(error),
        })?;
        let fingerprint = Digest::of(der.as_ref());
        let key = Self { der, fingerprint };
        // A key of another kind is found out now, and not at the first image.
        let is_usable = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            !matches!(
                key.verify(*algorithm, b"", b""),
                Err(
                    webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_)
                        | webpki::Error::BadDer
                )
            )
        };
        if ALGORITHMS.iter().any(is_usable) {
            Ok(key)
        } else {
            Err(InvalidKey::Kind)
        }
    }

    /// Names the key among others: the digest of its DER, as `openssl pkey -pubin
    /// -outform DER | sha256sum` shows it.
    pub fn fingerprint(&self) -> &Digest {
        &self.fingerprint
    }

    /// Whether the payload is signed by this key, whatever it says.
    pub(super) fn has_signed(&self, signature: &Signature) -> bool {
        let Signature { payload, signature } = signature;
        let mut algorithms = ALGORITHMS.iter();
        algorithms.any(|algorithm| self.verify(*algorithm, payload, signature).is_ok())
    }

    fn verify(
        &self,
        algorithm: &dyn SignatureVerificationAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), webpki::Error> {
        let key = RawPublicKeyEntity::try_from(&self.der)?;
        key.verify_signature(algorithm, message, signature)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint)
    }
}
