//! Image references, read as Docker reads them.
//!
//! ```text
//! registry.example.com:5000/team/function:v1@sha256:…
//! └──────── domain ───────┘ └── path ───┘ └┘ └ digest
//!                                        tag
//! ```
//! A first part without dot, colon or capital is not a domain: the image is
//! Docker Hub's then, below `library/` if its path has one part only.

use std::{fmt, str::FromStr};

use crate::digest::Digest;

/// A valid reference, with Docker's defaults filled in except for the tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a text is not a valid reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    #[error("it is empty")]
    Empty,
    #[error("its registry is not a valid host name with an optional port")]
    Domain,
    #[error(
        "its repository may only consist of lower-case letters, digits and single separators \
         (., _, __ or dashes) between them"
    )]
    Path,
    #[error("its repository is longer than 255 characters")]
    TooLong,
    #[error("its tag must be 1 to 128 letters, digits, _, . or -, and not begin with . or -")]
    Tag,
    #[error("its digest must be sha256, sha384 or sha512, a colon, and all its digits, lower-case")]
    Digest,
    #[error("64 hexadecimal digits are an image's id, not a name")]
    Id,
}

const DEFAULT_DOMAIN: &str = "docker.io";
const LONGEST_PATH: usize = 255;
const LONGEST_TAG: usize = 128;

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        if text.is_empty() {
            return Err(InvalidReference::Empty);
        }
        if is_hex(text) && text.len() == 64 {
            return Err(InvalidReference::Id);
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => {
                let digest = digest.parse().map_err(|_| InvalidReference::Digest)?;
                (name, Some(digest))
            }
            None => (text, None),
        };
        let (domain, rest) = split_domain(name);
        // A colon before the last slash would belong to a domain.
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) if is_tag(tag) => (path, Some(tag.to_owned())),
            Some(_) => return Err(InvalidReference::Tag),
            None => (rest, None),
        };
        // Docker reads a domain that could be a part of a path as just that.
        if domain.is_some_and(|domain| !is_domain(domain) && !is_path_part(domain)) {
            return Err(InvalidReference::Domain);
        }
        if !path.split('/').all(is_path_part) {
            return Err(InvalidReference::Path);
        }
        let domain = match domain {
            None | Some("index.docker.io") => DEFAULT_DOMAIN,
            Some(domain) => domain,
        };
        let path = match (domain, path.contains('/')) {
            (DEFAULT_DOMAIN, false) => format!("library/{path}"),
            _ => path.to_owned(),
        };
        if path.len() > LONGEST_PATH {
            return Err(InvalidReference::TooLong);
        }
        Ok(Self {
            domain: domain.to_owned(),
            path,
            tag,
            digest,
        })
    }
}

impl Reference {
    /// The registry as references name it, such as `docker.io`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The host that answers for the registry, with its port if it is named.
    pub fn host(&self) -> &str {
        match self.domain.as_str() {
            DEFAULT_DOMAIN => "registry-1.docker.io",
            domain => domain,
        }
    }

    /// The repository within the registry.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The same without tag and digest.
    #[must_use]
    pub fn repository(&self) -> Self {
        Self {
            tag: None,
            digest: None,
            ..self.clone()
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Another tag of the same repository.
    #[must_use]
    pub(crate) fn with_tag(&self, tag: &str) -> Self {
        Self {
            tag: Some(tag.to_owned()),
            ..self.repository()
        }
    }

    /// The same repository's content of this digest, without a tag.
    #[must_use]
    pub fn pinned(&self, digest: &Digest) -> Self {
        Self {
            digest: Some(digest.clone()),
            ..self.repository()
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

fn split_domain(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':'])
                || first == "localhost"
                || first.contains(|c: char| c.is_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, name),
    }
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (domain, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let is_host = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(v6) => !v6.is_empty() && v6.bytes().all(|b| b.is_ascii_hexdigit() || b == b':'),
        None => host.split('.').all(is_domain_part),
    };
    is_host && port.is_none_or(is_port)
}

fn is_domain_part(part: &str) -> bool {
    let inner = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    inner && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
}

/// Runs of lower-case letters and digits, with a dot, one or two underscores or
/// any number of dashes between two runs.
fn is_path_part(part: &str) -> bool {
    let is_run = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separated = part
        .split(is_run)
        .filter(|gap| !gap.is_empty())
        .all(|gap| matches!(gap, "." | "_" | "__") || gap.bytes().all(|byte| byte == b'-'));
    separated && part.starts_with(is_run) && part.ends_with(is_run)
}

pub(crate) fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= LONGEST_TAG
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
