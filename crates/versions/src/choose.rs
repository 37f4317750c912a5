//! Which tag a constraint picks, and why not the others.

use std::cmp::Reverse;

use crate::{Constraint, Mismatch, Version};

/// What became of a list of tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Tags that satisfy the constraint, the best first.
    pub matching: Vec<String>,
    /// The others, in the order in which they came.
    pub passed: Vec<Passed>,
}

/// A tag that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    pub tag: String,
    pub why: Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skipped {
    /// A signature or attestation of some image: `sha256-…`.
    Signature,
    /// A build of a commit: `…-git-…`.
    Build,
    NotAVersion,
    /// One reason for each alternative of the constraint.
    Mismatch(Vec<Mismatch>),
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signature => f.write_str("belongs to a digest, not to a version"),
            Self::Build => f.write_str("is a build of a commit"),
            Self::NotAVersion => f.write_str("is not a version"),
            Self::Mismatch(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                f.write_str(&reasons.join(", "))
            }
        }
    }
}

impl Constraint {
    /// The highest version that satisfies the constraint comes first, in its
    /// original spelling. Of tags for one version the more complete one is better:
    /// `v0.4` counts as 0.4.0, but usually moves with later releases.
    pub fn choose<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> Choice {
        let mut passed = Vec::new();
        let mut matching = Vec::new();
        for tag in tags {
            match self.look_at(tag) {
                Ok(version) => matching.push(version),
                Err(why) => passed.push(Passed {
                    tag: tag.to_owned(),
                    why,
                }),
            }
        }
        matching.sort_by_key(|version| Reverse((version.clone(), version.is_complete())));
        let matching = matching.iter().map(|version| version.original().to_owned());
        Choice {
            matching: matching.collect(),
            passed,
        }
    }

    fn look_at(&self, tag: &str) -> Result<Version, Skipped> {
        if tag.starts_with("sha256-") {
            return Err(Skipped::Signature);
        }
        if tag.contains("-git-") {
            return Err(Skipped::Build);
        }
        let version: Version = tag.parse().map_err(|_| Skipped::NotAVersion)?;
        match self.check(&version) {
            Ok(()) => Ok(version),
            Err(reasons) => Err(Skipped::Mismatch(reasons)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_matching_version_wins_in_its_own_spelling() {
        let constraint: Constraint = ">=v0.4.0 <v0.5".parse().unwrap();
        let tags = [
            "latest",
            "sha256-1234.sig",
            "v0.3.9",
            "v0.4",
            "v0.4.0",
            "0.4.10",
            "v0.4.9",
            "v0.4.11-rc1",
            "v0.4.2-git-abc",
            "v0.5.0",
        ];
        let choice = constraint.choose(tags);
        assert_eq!(choice.matching, ["0.4.10", "v0.4.9", "v0.4.0", "v0.4"]);
        let passed = choice
            .passed
            .iter()
            .map(|passed| format!("{} {}", passed.tag, passed.why));
        assert_eq!(
            passed.collect::<Vec<_>>(),
            [
                "latest is not a version",
                "sha256-1234.sig belongs to a digest, not to a version",
                "v0.3.9 does not satisfy >=v0.4.0",
                "v0.4.11-rc1 is a prerelease, and the constraint names none",
                "v0.4.2-git-abc is a build of a commit",
                "v0.5.0 does not satisfy <v0.5",
            ]
        );
    }
}
