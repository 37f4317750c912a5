//! What a request wants: its image and its tag, by kpt's rule.
//!
//! ```text
//! no tag          the image as it is
//! otherwise the image's own tag and digest count for nothing, and the tag is
//!   a version     taken literally: nothing is listed
//!   a constraint  the highest version that satisfies it, wherever versions are listed
//!   a word        taken literally, if an image can have that tag
//! ```
//! Pure: no registry is asked here. `tags` finds out which versions there are.

use registry::{InvalidReference, Reference};
use service::EvaluateError;
use versions::{Constraint, Version};

use crate::images;

/// Which image runs.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// This reference.
    Exactly(String),
    /// The best of this repository.
    Matching {
        /// Without tag and digest, in the caller's spelling.
        repository: String,
        constraint: Constraint,
    },
}

/// What `image`, a full reference, and `tag` stand for.
pub(crate) fn wanted(image: &str, tag: &str) -> Result<Wanted, EvaluateError> {
    images::parse(image)?;
    if tag.is_empty() {
        return Ok(Wanted::Exactly(image.to_owned()));
    }
    let repository = repository(image);
    // A version is a constraint, too, but one that needs no list.
    if tag.parse::<Version>().is_err()
        && let Ok(constraint) = tag.parse()
    {
        let repository = repository.to_owned();
        return Ok(Wanted::Matching {
            repository,
            constraint,
        });
    }
    let literal = format!("{repository}:{tag}");
    match literal.parse::<Reference>() {
        // What looks like a digest behind the colon is not one.
        Ok(reference) if reference.tag() == Some(tag) => Ok(Wanted::Exactly(literal)),
        Ok(_) | Err(_) => Err(EvaluateError::InvalidTag {
            image: repository.to_owned(),
            tag: tag.to_owned(),
            reason: format!(
                "it is neither a version nor a version constraint, and no image can have it as tag: \
                 {}",
                InvalidReference::Tag
            ),
        }),
    }
}

/// A valid reference without its tag and its digest.
fn repository(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or(image);
    match name.rsplit_once(':') {
        // A colon before a slash belongs to a port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference, or repository and constraint with a space between, or the error.
    fn shown(image: &str, tag: &str) -> String {
        match wanted(image, tag) {
            Ok(Wanted::Exactly(reference)) => reference,
            Ok(Wanted::Matching {
                repository,
                constraint,
            }) => format!("{repository} matching {constraint}"),
            Err(error) => error.to_string(),
        }
    }

    const DIGEST: &str = "@sha256:b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d";

    #[test]
    fn without_a_tag_the_image_is_taken_as_it_is() {
        for image in ["a/b", "a/b:v1", "h:5000/a/b:v1", &format!("a/b:v1{DIGEST}")] {
            assert_eq!(shown(image, ""), image);
        }
    }

    #[test]
    fn a_tag_replaces_the_images_own_tag_and_digest() {
        for image in [
            "a/b",
            "a/b:v9",
            &format!("a/b{DIGEST}"),
            &format!("a/b:v9{DIGEST}"),
        ] {
            assert_eq!(shown(image, "v0.4.1"), "a/b:v0.4.1", "{image}");
            assert_eq!(shown(image, "~0.4"), "a/b matching ~0.4", "{image}");
        }
        assert_eq!(shown("h:5000/b", "v1"), "h:5000/b:v1");
        assert_eq!(shown("h:5000/b:v9", ">=1"), "h:5000/b matching >=1");
    }

    #[test]
    fn versions_and_words_are_taken_literally_and_constraints_are_not() {
        for tag in [
            "v0.4",
            "0.4.1",
            "1",
            "v1.0.0-rc1",
            "latest",
            "_x",
            "main-abc",
        ] {
            assert_eq!(shown("a/b", tag), format!("a/b:{tag}"));
        }
        for tag in [
            ">=v0.4.0 <v0.5",
            "x",
            "*",
            "1.x",
            "=1",
            "1 || 2",
            "1.0 - 2.0",
        ] {
            assert_eq!(shown("a/b", tag), format!("a/b matching {tag}"));
        }
    }

    #[test]
    fn what_no_image_can_have_is_refused_by_name() {
        let long = "x".repeat(129);
        // The last but two is a version, though none that a tag could be.
        for tag in [
            " ",
            "a b",
            "-x",
            ".x",
            "1.0.0+meta",
            "v1@sha256:0",
            "a/b",
            &long,
        ] {
            let error = wanted("a/b:v1", tag).unwrap_err();
            assert!(matches!(error, EvaluateError::InvalidTag { .. }), "{tag}");
            let told = error.to_string();
            let begin =
                format!("invalid tag {tag:?} for function \"a/b\": it is neither a version");
            assert!(told.starts_with(&begin), "{told}");
        }
        for (image, tag) in [("a/B", "v1"), ("a/b:", ">=1"), ("", "v1")] {
            let error = wanted(image, tag).unwrap_err();
            assert!(
                matches!(error, EvaluateError::InvalidImage { .. }),
                "{image}"
            );
        }
    }
}
