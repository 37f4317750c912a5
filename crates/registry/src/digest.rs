//! Digests: the names of an image's parts, against which their content is checked.

use std::{fmt, str::FromStr};

use ring::digest;

/// A content's digest, such as `sha256:…`, of an algorithm that can be checked.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    /// Lower-case.
    hex: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

/// Not a digest, or of an unknown algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a digest of sha256, sha384 or sha512")]
pub struct InvalidDigest;

impl Digest {
    /// The digest by which registries know `content` that is not asked for by one.
    pub fn of(content: &[u8]) -> Self {
        Algorithm::Sha256.digest(content)
    }

    /// The content's digest by the same algorithm: equal if this is its digest.
    pub(crate) fn computed_like_this(&self, content: &[u8]) -> Self {
        self.algorithm.digest(content)
    }
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    fn implementation(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn digest(self, content: &[u8]) -> Digest {
        let digest = digest::digest(self.implementation(), content);
        let bytes = digest.as_ref().iter();
        let hex = bytes.map(|byte| format!("{byte:02x}")).collect();
        Digest {
            algorithm: self,
            hex,
        }
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let (name, hex) = text.split_once(':').ok_or(InvalidDigest)?;
        let algorithm = [Algorithm::Sha256, Algorithm::Sha384, Algorithm::Sha512]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(InvalidDigest)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if hex.len() != 2 * algorithm.implementation().output_len() || !hex.bytes().all(is_digit) {
            return Err(InvalidDigest);
        }
        Ok(Self {
            algorithm,
            hex: hex.to_owned(),
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_its_content_and_of_no_other() {
        // The digest of nothing, as everybody knows it.
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let digest: Digest = nothing.parse().unwrap();
        assert_eq!(Digest::of(b""), digest);
        assert_eq!(digest.to_string(), nothing);
        assert_ne!(digest.computed_like_this(b"x"), digest);
        let longer: Digest = format!("sha512:{}", "0".repeat(128)).parse().unwrap();
        let computed = longer.computed_like_this(b"");
        assert!(computed.to_string().starts_with("sha512:cf83e1357eef"));
    }
}
