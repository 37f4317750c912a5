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

/// A valid reference, with Docker's defaults filled in except for the tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is no reference.
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
    #[error(
        "its digest must be an algorithm and a hexadecimal value, such as sha256:… with 64 digits"
    )]
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
            Some((name, digest)) if is_digest(digest) => (name, Some(digest.to_owned())),
            Some(_) => return Err(InvalidReference::Digest),
            None => (text, None),
        };
        let (domain, rest) = split_domain(name);
        // A colon before the last slash would belong to a domain.
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) if is_tag(tag) => (path, Some(tag.to_owned())),
            Some(_) => return Err(InvalidReference::Tag),
            None => (rest, None),
        };
        if domain.is_some_and(|domain| !is_domain(domain)) {
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

fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= LONGEST_TAG
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, value)) = digest.split_once(':') else {
        return false;
    };
    let lower_hex = || {
        value
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    match algorithm {
        "sha256" => value.len() == 64 && lower_hex(),
        "sha384" => value.len() == 96 && lower_hex(),
        "sha512" => value.len() == 128 && lower_hex(),
        _ => is_algorithm(algorithm) && value.len() >= 32 && is_hex(value),
    }
}

/// Letters and digits, with single separators between parts that begin with a letter.
fn is_algorithm(algorithm: &str) -> bool {
    algorithm.split(['-', '_', '+', '.']).all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn references_are_read_as_docker_reads_them() {
        let digest = format!("example.com/fn@sha256:{HEX}");
        let both = format!("example.com/fn:v1@sha256:{HEX}");
        for (text, canonical) in [
            ("set-labels", "docker.io/library/set-labels"),
            ("set-labels:v0.2", "docker.io/library/set-labels:v0.2"),
            ("team/fn", "docker.io/team/fn"),
            ("index.docker.io/fn:v1", "docker.io/library/fn:v1"),
            ("docker.io/fn", "docker.io/library/fn"),
            ("localhost/fn", "localhost/fn"),
            (
                "localhost:5000/fn:V1_Upper.2-x",
                "localhost:5000/fn:V1_Upper.2-x",
            ),
            (
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
                "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
            ),
            ("Registry/fn", "Registry/fn"),
            ("[::1]:5000/a/b", "[::1]:5000/a/b"),
            ("a.b/c__d/e--f.g_h", "a.b/c__d/e--f.g_h"),
            (&digest, &digest),
            (&both, &both),
        ] {
            let parsed: Reference = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(parsed.to_string(), canonical);
        }
    }

    #[test]
    fn what_is_no_reference_is_told_why() {
        use InvalidReference as Why;
        let long = "a/".repeat(200) + "b";
        let long_with_library = "a".repeat(250);
        let long_tag = format!("fn:{}", "t".repeat(129));
        for (text, why) in [
            ("", Why::Empty),
            (" ", Why::Path),
            (" fn", Why::Path),
            ("fn ", Why::Path),
            ("Fn", Why::Path),
            ("team/Fn", Why::Path),
            ("fn::v1", Why::Tag),
            ("fn:", Why::Tag),
            ("fn:.v1", Why::Tag),
            ("fn:-v1", Why::Tag),
            ("fn:v 1", Why::Tag),
            (&long_tag, Why::Tag),
            ("fn@", Why::Digest),
            ("fn@sha256:abc", Why::Digest),
            ("fn@v1", Why::Digest),
            ("/fn", Why::Path),
            ("fn/", Why::Path),
            ("a//b", Why::Path),
            ("a/b___c", Why::Path),
            ("a/.b", Why::Path),
            ("a/b..c", Why::Path),
            ("https://example.com/fn", Why::Domain),
            ("-example.com/fn", Why::Domain),
            ("example.com:/fn", Why::Domain),
            ("example.com:http/fn", Why::Domain),
            ("example..com/fn", Why::Domain),
            (&long, Why::TooLong),
            (&long_with_library, Why::TooLong),
            (HEX, Why::Id),
            ("fn\n", Why::Path),
            ("../fn", Why::Domain),
        ] {
            assert_eq!(text.parse::<Reference>(), Err(why), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_canonical_reference_reads_as_itself(
            text in "([a-z]{1,5}(\\.[a-z]{1,3})?(:[0-9]{1,5})?/)?[a-z0-9]{1,5}(/[a-z]{1,4}(__?[a-z0-9]{1,3})?){0,2}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,9})?"
        ) {
            let parsed: Reference = text.parse().unwrap();
            prop_assert_eq!(parsed.to_string().parse::<Reference>(), Ok(parsed));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,60}") {
            if let Ok(parsed) = text.parse::<Reference>() {
                prop_assert_eq!(parsed.to_string().parse::<Reference>(), Ok(parsed));
            }
        }
    }
}
