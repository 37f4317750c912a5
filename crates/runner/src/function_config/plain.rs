//! What is configured, as plain data: the same for a file's entry and for an object.

use std::time::Duration;

use process::Profile;
use versions::{Constraint, Version};

use super::overrides::Overrides;

/// The source of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// A file that the operator has named.
    File,
    /// The `FunctionConfig` of this name.
    Object(String),
}

/// Images that a program stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    pub(crate) origin: Origin,
    pub(crate) wanted: Wanted,
    /// Full references.
    pub(crate) images: Vec<String>,
    /// What a file may reach and use; objects have no words for it.
    pub(crate) profile: Profile,
}

/// What is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A file; where there is none, a bundled function.
    File { path: String, otherwise: Bundled },
    /// A bundled function, or nothing.
    Bundled(Bundled),
}

/// A bundled function as users name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bundled {
    /// `NAME`, or `NAME@VERSION`.
    Named(String),
    /// What the catalog's image of this name and tag would be.
    Tagged { name: String, tag: String },
}

impl Wanted {
    /// Under which name its calls are counted and complaints are made.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File { path, .. } => path.clone(),
            Self::Bundled(Bundled::Named(name)) => name.clone(),
            Self::Bundled(Bundled::Tagged { name, tag }) => format!("{name}:{tag}"),
        }
    }
}

/// What holds for the pods of some images. What is left out falls back to the flags.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PodSettings {
    pub(crate) ttl: Option<Duration>,
    pub(crate) max_waitlist_length: Option<usize>,
    pub(crate) max_pods: Option<usize>,
    pub(crate) retry_lost_calls: Option<bool>,
    pub(crate) overrides: Overrides,
}

/// Images by repository and tag, and what holds for their pods: an object's share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodRule {
    /// Without tag, `prefix/name`.
    pub(crate) repositories: Vec<String>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) settings: PodSettings,
    /// The repository and the tag of which there should be pods before anybody asks.
    pub(crate) warm_up: Option<(String, Tag)>,
    /// How many pods of the warm-up are kept, however long nobody calls them.
    pub(crate) min_pods: usize,
}

impl PodRule {
    pub(crate) fn is_about(&self, image: &Split<'_>) -> bool {
        let is_repository = |known: &String| known == image.repository;
        self.repositories.iter().any(is_repository)
            && self.tags.iter().any(|tag| tag.takes(image.tag))
    }
}

/// A tag as objects name it: also a constraint that only it satisfies.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) text: String,
    /// `None`: it is compared as it is.
    constraint: Option<Constraint>,
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Tag {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            constraint: text.parse().ok(),
        }
    }

    /// Whether an image's tag is meant.
    pub(crate) fn takes(&self, tag: Option<&str>) -> bool {
        if self.text == "*" {
            return true;
        }
        let Some(tag) = tag else {
            // What registries and runtimes take for a missing one.
            return self.text == "latest";
        };
        let satisfies = |constraint: &Constraint| {
            let version = tag.parse::<Version>();
            version.is_ok_and(|version| constraint.check(&version).is_ok())
        };
        self.text == tag || self.constraint.as_ref().is_some_and(satisfies)
    }

    /// The constraint, if several tags may satisfy it; `None`: it is one tag.
    pub(crate) fn range(&self) -> Option<&Constraint> {
        let is_version = self.text.parse::<Version>().is_ok();
        self.constraint.as_ref().filter(|_| !is_version)
    }
}

/// A reference in its parts, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) repository: &'a str,
    /// The last element of the repository.
    pub(crate) name: &'a str,
    /// `None`: there is none, or there is a digest, which no tag is about.
    pub(crate) tag: Option<&'a str>,
}

impl<'a> Split<'a> {
    pub(crate) fn of(image: &'a str) -> Self {
        let (name, digest) = match image.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (image, None),
        };
        let last = name.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match name[last..].split_once(':') {
            Some((base, tag)) => (&name[..last + base.len()], Some(tag)),
            None => (name, None),
        };
        Self {
            repository,
            name: &repository[last..],
            tag: tag.filter(|_| digest.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_split_as_they_are_written() {
        for (image, repository, name, tag) in [
            ("a/b/fn:v1", "a/b/fn", "fn", Some("v1")),
            ("localhost:5000/fn", "localhost:5000/fn", "fn", None),
            ("fn:v1", "fn", "fn", Some("v1")),
            ("a/fn:v1@sha256:00", "a/fn", "fn", None),
            ("a/fn@sha256:00", "a/fn", "fn", None),
            ("", "", "", None),
            ("a/:v1", "a/", "", Some("v1")),
        ] {
            let split = Split {
                repository,
                name,
                tag,
            };
            assert_eq!(Split::of(image), split, "{image}");
        }
    }

    #[test]
    fn a_tag_takes_itself_and_what_satisfies_it_as_a_constraint() {
        for (text, tag, takes) in [
            ("v0.4.1", Some("v0.4.1"), true),
            ("v0.4.1", Some("0.4.1"), true),
            ("v0.4.1", Some("v0.4.2"), false),
            (">=v0.4.0 <v0.5", Some("v0.4.9"), true),
            (">=v0.4.0 <v0.5", Some("v0.5.0"), false),
            ("stable", Some("stable"), true),
            ("stable", Some("v1.0.0"), false),
            ("*", Some("anything"), true),
            ("*", None, true),
            ("latest", None, true),
            ("v0.4.1", None, false),
        ] {
            assert_eq!(Tag::new(text).takes(tag), takes, "{text} {tag:?}");
        }
    }
}
