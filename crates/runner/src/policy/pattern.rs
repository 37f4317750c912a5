//! Patterns of images: `REGISTRY/PATH[:TAG][@DIGEST]`. In registry, path and tag `*`
//! stands for any text without a slash, and in the first two `**` for any text. Without
//! a tag every tag is meant, and every digest; `**` alone is every image.

use std::str::FromStr;

use registry::{Digest, Reference};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Of registry and path.
    name: Glob,
    tag: Option<Glob>,
    digest: Option<Digest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidPattern {
    #[error("it is empty")]
    Empty,
    #[error("its registry is missing: write docker.io/library/NAME for an image of Docker Hub")]
    Registry,
    #[error("its digest must be sha256, sha384 or sha512, a colon, and all its digits")]
    Digest,
    #[error("its tag is empty")]
    Tag,
}

/// What the tag of a reference proves. Beside a digest it is a comment that nobody
/// checks: it must not allow anything, but may deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tags {
    Believed,
    OnlyWithoutDigest,
}

impl Pattern {
    pub(super) fn matches_repository(&self, image: &Reference) -> bool {
        let name = format!("{}/{}", image.domain(), image.path());
        self.name.matches(&name)
    }

    /// Whether tag and digest do not matter.
    pub(super) fn is_of_repositories(&self) -> bool {
        self.tag.is_none() && self.digest.is_none()
    }

    /// `digest` is what the image stands for, as far as that is known.
    pub(super) fn matches(&self, image: &Reference, digest: Option<&Digest>, tags: Tags) -> bool {
        let tag = match (image.tag(), image.digest(), tags) {
            (_, Some(_), Tags::OnlyWithoutDigest) => None,
            (None, None, _) => Some("latest"),
            (tag, _, _) => tag,
        };
        let has_tag = |glob: &Glob| tag.is_some_and(|tag| glob.matches(tag));
        self.matches_repository(image)
            && self.tag.as_ref().is_none_or(has_tag)
            && self.digest.as_ref().is_none_or(|own| digest == Some(own))
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        if text.is_empty() {
            return Err(InvalidPattern::Empty);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => {
                let digest = digest.parse().map_err(|_| InvalidPattern::Digest)?;
                (rest, Some(digest))
            }
            None => (text, None),
        };
        // A colon before the last slash belongs to a registry's port.
        let (name, tag) = match rest.rsplit_once(':') {
            Some((_, "")) => return Err(InvalidPattern::Tag),
            Some((name, tag)) if !tag.contains('/') => (name, Some(Glob::new(tag))),
            _ => (rest, None),
        };
        let registry = name.split('/').next().unwrap_or_default();
        let is_registry =
            name.contains('/') && (registry.contains(['.', ':', '*']) || registry == "localhost");
        if !is_registry && name != "**" {
            return Err(InvalidPattern::Registry);
        }
        Ok(Self {
            name: Glob::new(name),
            tag,
            digest,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Glob(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Any text without a slash.
    Part,
    /// Any text.
    All,
}

impl Glob {
    fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = if let Some(after) = rest.strip_prefix("**") {
                (Piece::All, after)
            } else if let Some(after) = rest.strip_prefix('*') {
                (Piece::Part, after)
            } else {
                let (text, after) = rest.split_at(rest.find('*').unwrap_or(rest.len()));
                (Piece::Text(text.to_owned()), after)
            };
            pieces.push(piece);
            rest = after;
        }
        Self(pieces)
    }

    /// In one pass per piece, whatever the text: all ends that the pieces so far could
    /// have are kept, and nothing is tried twice.
    fn matches(&self, text: &str) -> bool {
        let mut ends = vec![0];
        for piece in &self.0 {
            ends = match piece {
                Piece::Text(part) => {
                    let ends = ends
                        .into_iter()
                        .filter(|end| text[*end..].starts_with(part));
                    ends.map(|end| end + part.len()).collect()
                }
                Piece::All => (ends.first().copied().unwrap_or(text.len())..=text.len()).collect(),
                Piece::Part => up_to_slashes(&ends, text),
            };
            if ends.is_empty() {
                return false;
            }
            ends.retain(|end| text.is_char_boundary(*end));
        }
        ends.last() == Some(&text.len())
    }
}

/// Every place from each of `ends` to the next slash, in order, each once.
fn up_to_slashes(ends: &[usize], text: &str) -> Vec<usize> {
    let mut reached: Vec<usize> = Vec::new();
    for end in ends {
        let stop = text[*end..].find('/').map_or(text.len(), |at| *end + at);
        let from = reached.last().map_or(*end, |last| (*end).max(last + 1));
        reached.extend(from..=stop);
    }
    reached
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn matches(pattern: &str, image: &str) -> bool {
        let image: Reference = image.parse().unwrap();
        let digest = image.digest().cloned();
        let pattern: Pattern = pattern.parse().unwrap();
        pattern.matches(&image, digest.as_ref(), Tags::Believed)
    }

    #[test]
    fn images_are_matched_by_registry_path_tag_and_digest() {
        let by_digest = format!("a.io/x/fn@{DIGEST}");
        for (pattern, image, expected) in [
            ("a.io/x/fn", "a.io/x/fn:v1", true),
            ("a.io/x/fn", "a.io/x/fn", true),
            ("a.io/x/fn", &by_digest, true),
            ("a.io/x/fn", "a.io/x/fn2:v1", false),
            ("a.io/x/*", "a.io/x/fn:v1", true),
            ("a.io/x/*", "a.io/x/y/fn:v1", false),
            ("a.io/*", "a.io/fn", true),
            ("a.io/**", "a.io/x/y/fn:v1", true),
            ("a.io/**/fn", "a.io/x/y/fn:v1", true),
            ("a.io/**", "b.io/x", false),
            ("a.io/**", "a.io.evil.com/x", false),
            ("*.a.io/**", "b.a.io/x", true),
            ("*/x/fn", "a.io/x/fn", true),
            ("a.io:5000/x", "a.io:5000/x:v1", true),
            ("a.io:5000/x", "a.io/x:v1", false),
            ("a.io/x:v1", "a.io/x:v1", true),
            ("a.io/x:v1", "a.io/x:v10", false),
            ("a.io/x:v1.*", "a.io/x:v1.2", true),
            ("a.io/x:latest", "a.io/x", true),
            ("docker.io/library/*", "ubuntu", true),
            ("**", "anything.io/at/all:v1", true),
            ("**:v1", "anything.io/at/all:v1", true),
            (&by_digest, &by_digest, true),
            (&by_digest, "a.io/x/fn:v1", false),
        ] {
            assert_eq!(matches(pattern, image), expected, "{pattern} {image}");
        }
    }

    #[test]
    fn a_tag_beside_a_digest_is_not_believed_where_it_would_allow() {
        let image: Reference = format!("a.io/x:v1@{DIGEST}").parse().unwrap();
        let digest = image.digest();
        let pattern: Pattern = "a.io/x:v1".parse().unwrap();
        assert!(pattern.matches(&image, digest, Tags::Believed));
        assert!(!pattern.matches(&image, digest, Tags::OnlyWithoutDigest));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (pattern, why) in [
            ("", InvalidPattern::Empty),
            ("ubuntu", InvalidPattern::Registry),
            ("team/fn", InvalidPattern::Registry),
            ("*", InvalidPattern::Registry),
            ("a.io/x@sha256:1", InvalidPattern::Digest),
            ("a.io/x:", InvalidPattern::Tag),
        ] {
            assert_eq!(pattern.parse::<Pattern>(), Err(why), "{pattern}");
        }
    }

    proptest! {
        /// The plain meaning, by trying everything.
        #[test]
        fn stars_mean_what_they_say(pattern in "[ab/*]{0,8}", text in "[ab/]{0,10}") {
            fn slow(pieces: &[Piece], text: &str) -> bool {
                let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
                let splits = (0..=text.len()).map(|at| text.split_at(at));
                match piece {
                    Piece::Text(part) => text.strip_prefix(part.as_str()).is_some_and(|text| slow(rest, text)),
                    Piece::All => splits.into_iter().any(|(_, after)| slow(rest, after)),
                    Piece::Part => splits
                        .filter(|(before, _)| !before.contains('/'))
                        .any(|(_, after)| slow(rest, after)),
                }
            }
            let glob = Glob::new(&pattern);
            prop_assert_eq!(glob.matches(&text), slow(&glob.0, &text));
        }
    }
}
