//! Which release of which bundled function an image reference stands for.
//!
//! Pure: a reference and the operator's [`Rules`] in, a release or the reason for
//! none out. A reference is answered only by a release whose behaviour is
//! reproduced:
//!
//! - `vX.Y.Z`: that release;
//! - `vX.Y`: the highest release of that line in the reference's registry, never
//!   an older one;
//! - `latest`, or no tag: the newest that is reproduced, as Porch's own exec
//!   configuration does;
//! - `unstable`: the same, where nothing else could answer;
//! - a digest: the release that it is known to be.
//!
//! A moving tag that is not answered may still be one of the [`candidates`]; only its
//! registry knows.

use std::fmt;

use crate::{
    catalog::{Bundled, Chosen, FUNCTIONS},
    release::{Release, parts},
};

/// Where the catalog's images are, and were.
const CURRENT: &str = "ghcr.io/kptdev/krm-functions-catalog/";
const FORMER: &str = "gcr.io/kpt-fn/";

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Prefixes of mirrors of the catalog, each up to the function's name.
    pub mirrors: Vec<String>,
    /// Whether `latest` is answered.
    pub latest: bool,
    /// Whether `unstable` is answered.
    pub unstable: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            mirrors: Vec::new(),
            latest: true,
            unstable: false,
        }
    }
}

/// Why a reference is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// It is not an image of the catalog, or one of a function that is not bundled.
    NotBundled,
    /// It is a release that is not reproduced.
    NotReproduced { version: String },
    /// No release is known by this tag or digest.
    UnknownVersion,
    /// The operator does not want this moving tag answered.
    NotAllowed,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBundled => f.write_str("not a bundled function of the catalog"),
            Self::NotReproduced { version } => {
                write!(f, "release {version} is not among those that are bundled")
            }
            Self::UnknownVersion => f.write_str("no bundled release is known by this version"),
            Self::NotAllowed => f.write_str("this moving tag is left to other runtimes"),
        }
    }
}

/// The release that `image` stands for.
pub fn resolve(image: &str, rules: &Rules) -> Result<Chosen, Unanswered> {
    let named = Named::read(image, rules).ok_or(Unanswered::NotBundled)?;
    let function = named.function;
    match (named.digest, named.tag) {
        (Some(digest), _) => {
            // A digest is the same bytes wherever they are.
            let has = |release: &&Release| release.digests.contains(&digest);
            reproduced(function, function.releases.iter().find(has))
        }
        (None, "latest") if rules.latest => newest(function),
        (None, "unstable") if rules.unstable => newest(function),
        (None, "latest" | "unstable") => Err(Unanswered::NotAllowed),
        (None, tag) => {
            let line = parts(tag).ok_or(Unanswered::UnknownVersion)?;
            // Tables are sorted: the first is the highest.
            match line.len() {
                2 | 3 => reproduced(function, named.releases(&line).next()),
                _ => Err(Unanswered::UnknownVersion),
            }
        }
    }
}

/// The releases of a repository, an image without tag and digest, that are reproduced.
pub fn releases<'a>(repository: &'a str, rules: &'a Rules) -> impl Iterator<Item = Chosen> + 'a {
    let (prefix, name) = split_prefix(repository, rules).unwrap_or_default();
    let functions = FUNCTIONS
        .iter()
        .filter(move |function| function.name == name);
    functions
        .flat_map(Bundled::reproduced)
        .filter(move |chosen| chosen.release.is_on_former_registry || prefix != FORMER)
}

/// The releases that a moving tag may stand for although the table does not answer it,
/// newest first, each with the image of its own tag. A registry knows which of them it
/// is: the tags of one release have one digest.
pub fn candidates(image: &str, rules: &Rules) -> Vec<(Chosen, String)> {
    let Some(named) = Named::read(image, rules) else {
        return Vec::new();
    };
    let line = match (named.digest, named.tag) {
        (None, "unstable") if rules.latest => Some(Vec::new()),
        (None, tag) => parts(tag).filter(|line| line.len() == 2),
        _ => None,
    };
    let Some(line) = line.filter(|_| resolve(image, rules).is_err()) else {
        return Vec::new();
    };
    let Named {
        prefix, function, ..
    } = named;
    let reproduced = named
        .releases(&line)
        .filter(|release| release.is_reproduced());
    let tagged = reproduced.map(|release| {
        let tag = format!("{prefix}{}:{}", function.name, release.version);
        (function.chosen(release), tag)
    });
    tagged.collect()
}

/// What an image of the catalog says about the function.
struct Named<'a> {
    prefix: &'a str,
    function: &'static Bundled,
    tag: &'a str,
    digest: Option<&'a str>,
}

impl<'a> Named<'a> {
    fn read(image: &'a str, rules: &'a Rules) -> Option<Self> {
        let (prefix, rest) = split_prefix(image, rules)?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (rest, None),
        };
        let (name, tag) = rest.split_once(':').unwrap_or((rest, "latest"));
        let function = FUNCTIONS.iter().find(|function| function.name == name)?;
        Some(Self {
            prefix,
            function,
            tag,
            digest,
        })
    }

    /// The releases in its registry whose numbers begin so, newest first.
    fn releases(&self, line: &[u32]) -> impl Iterator<Item = &'static Release> {
        let is_former = self.prefix == FORMER;
        self.function.releases.iter().filter(move |release| {
            let number = release.number();
            number.is_some_and(|number| number.starts_with(line))
                && (release.is_on_former_registry || !is_former)
        })
    }
}

fn newest(function: &'static Bundled) -> Result<Chosen, Unanswered> {
    function.newest().ok_or(Unanswered::UnknownVersion)
}

fn reproduced(
    function: &'static Bundled,
    release: Option<&'static Release>,
) -> Result<Chosen, Unanswered> {
    let release = release.ok_or(Unanswered::UnknownVersion)?;
    if !release.is_reproduced() {
        let version = release.version.to_owned();
        return Err(Unanswered::NotReproduced { version });
    }
    Ok(function.chosen(release))
}

fn split_prefix<'a>(image: &'a str, rules: &'a Rules) -> Option<(&'a str, &'a str)> {
    let mirrors = rules.mirrors.iter().map(String::as_str);
    let mut prefixes = [CURRENT, FORMER].into_iter().chain(mirrors);
    prefixes.find_map(|prefix| Some((prefix, image.strip_prefix(prefix)?)))
}

/// The references of releases in the catalog's registries, for a configuration to
/// begin with.
pub fn images(chosen: Chosen) -> Vec<String> {
    let (name, release) = (chosen.function.name, chosen.release);
    let mut images = vec![format!("{CURRENT}{name}:{}", release.version)];
    if release.is_on_former_registry {
        images.push(format!("{FORMER}{name}:{}", release.version));
    }
    let digests = release.digests.iter();
    images.extend(digests.map(|digest| format!("{CURRENT}{name}@{digest}")));
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(image: &str) -> String {
        resolved_by(image, &Rules::default())
    }

    fn resolved_by(image: &str, rules: &Rules) -> String {
        match resolve(image, rules) {
            Ok(chosen) => chosen.to_string(),
            Err(reason) => format!("{reason:?}"),
        }
    }

    #[test]
    fn a_release_tag_is_that_release_or_none() {
        for (image, expected) in [
            ("gcr.io/kpt-fn/apply-setters:v0.2.0", "apply-setters@v0.2.0"),
            (
                "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5",
                "set-namespace@v0.4.5",
            ),
            ("gcr.io/kpt-fn/apply-setters:v9.9.9", "UnknownVersion"),
            ("gcr.io/kpt-fn/apply-setters:0.2.0", "UnknownVersion"),
            ("gcr.io/kpt-fn/apply-setters:v0", "UnknownVersion"),
            ("gcr.io/kpt-fn/apply-setters:v+0.2", "UnknownVersion"),
            ("gcr.io/kpt-fn/apply-setters:", "UnknownVersion"),
            ("gcr.io/kpt-fn/kubeval:v0.1", "NotBundled"),
            ("gcr.io/kpt-fn-contrib/apply-setters:v0.2.0", "NotBundled"),
            (
                "ghcr.io/kptdev/krm-functions-catalog/wasm/set-labels:v0.2.4",
                "NotBundled",
            ),
        ] {
            assert_eq!(resolved(image), expected, "{image}");
        }
    }

    #[test]
    fn a_line_is_its_highest_release_in_the_registry() {
        let former = resolved("gcr.io/kpt-fn/apply-setters:v0.2");
        assert_eq!(former, "apply-setters@v0.2.2");
        let current = resolved("ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2");
        assert_eq!(current, "apply-setters@v0.2.5");
    }

    #[test]
    fn the_releases_of_a_repository_are_answered_by_their_tags() {
        let rules = Rules::default();
        for repository in [
            "gcr.io/kpt-fn/set-namespace",
            &format!("{CURRENT}set-namespace"),
        ] {
            let versions: Vec<_> = releases(repository, &rules)
                .map(|chosen| chosen.release.version)
                .collect();
            assert!(versions.contains(&"v0.4.1"), "{versions:?}");
            for version in versions {
                let image = format!("{repository}:{version}");
                assert_eq!(resolved(&image), format!("set-namespace@{version}"));
            }
        }
        for other in [
            "a/set-namespace",
            "gcr.io/kpt-fn/",
            "gcr.io/kpt-fn/unknown",
            "",
        ] {
            assert_eq!(releases(other, &rules).count(), 0, "{other}");
        }
    }

    #[test]
    fn an_older_release_does_not_answer_for_one_that_is_not_reproduced() {
        // Nobody knows what set-image v0.1.4 does.
        let told = resolved("gcr.io/kpt-fn/set-image:v0.1");
        assert!(told.starts_with("NotReproduced"), "{told}");
    }

    #[test]
    fn latest_and_unstable_are_the_newest_where_they_are_allowed() {
        let latest = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:latest";
        let bare = "ghcr.io/kptdev/krm-functions-catalog/set-namespace";
        let unstable = "gcr.io/kpt-fn/set-namespace:unstable";
        assert_eq!(resolved(latest), "set-namespace@v0.4.6");
        assert_eq!(resolved(bare), "set-namespace@v0.4.6");
        assert_eq!(resolved(unstable), "NotAllowed");
        let alone = Rules {
            unstable: true,
            ..Rules::default()
        };
        assert_eq!(resolved_by(unstable, &alone), "set-namespace@v0.4.6");
        let never = Rules {
            latest: false,
            ..Rules::default()
        };
        assert_eq!(resolved_by(latest, &never), "NotAllowed");
        assert_eq!(resolved_by(bare, &never), "NotAllowed");
    }

    #[test]
    fn a_known_digest_is_its_release() {
        let digest = "sha256:b13f1cb460e04461290c6a43dbd9c76c8e0d7eced95d5c7a0e8a80ea2253204d";
        for image in [
            format!("ghcr.io/kptdev/krm-functions-catalog/apply-setters@{digest}"),
            format!("gcr.io/kpt-fn/apply-setters:v0.1@{digest}"),
        ] {
            assert_eq!(resolved(&image), "apply-setters@v0.2.2");
        }
        let unknown = format!("gcr.io/kpt-fn/set-labels@{digest}");
        assert_eq!(resolved(&unknown), "UnknownVersion");
    }

    #[test]
    fn a_moving_tag_without_an_answer_has_candidates() {
        let tags = |image: &str, rules: &Rules| {
            let candidates = candidates(image, rules).into_iter();
            candidates.map(|(_, tag)| tag).collect::<Vec<_>>()
        };
        let rules = Rules::default();
        let line = tags("gcr.io/kpt-fn/set-image:v0.1", &rules);
        assert!(line.contains(&"gcr.io/kpt-fn/set-image:v0.1.2".to_owned()));
        let unstable = tags("gcr.io/kpt-fn/set-namespace:unstable", &rules);
        assert_eq!(unstable[0], "gcr.io/kpt-fn/set-namespace:v0.4.5");
        let never = Rules {
            latest: false,
            ..Rules::default()
        };
        assert!(tags("gcr.io/kpt-fn/set-namespace:unstable", &never).is_empty());
        // Answered, or never one of them.
        for image in [
            "gcr.io/kpt-fn/set-namespace:v0.4",
            "gcr.io/kpt-fn/set-namespace:latest",
            "gcr.io/kpt-fn/set-image:v0.1.4",
            "gcr.io/kpt-fn/kubeval:v0.1",
            "example.com/set-namespace:unstable",
        ] {
            assert!(tags(image, &rules).is_empty(), "{image}");
        }
    }

    #[test]
    fn mirrors_hold_what_the_current_registry_holds() {
        let rules = Rules {
            mirrors: vec!["mirror.example/fn/".into()],
            ..Rules::default()
        };
        let image = "mirror.example/fn/apply-setters:v0.2";
        assert_eq!(resolved_by(image, &rules), "apply-setters@v0.2.5");
        assert_eq!(resolved(image), "NotBundled");
    }
}
