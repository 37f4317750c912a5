//! A version: three numbers, a prerelease, and metadata that does not count.

use std::{cmp::Ordering, fmt, str::FromStr};

/// A version, with the text that it was read from. Missing numbers are 0 and a
/// leading `v` is optional: `v0.4` is 0.4.0.
///
/// Equality and order are those of precedence: metadata and spelling do not count.
#[derive(Debug, Clone)]
pub struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) prerelease: String,
    metadata: String,
    original: String,
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version")]
pub struct InvalidVersion(pub String);

impl Version {
    /// The text that it was read from.
    pub(crate) fn original(&self) -> &str {
        &self.original
    }

    /// Whether all three numbers were spelled out. A tag such as `v0.4` usually
    /// moves, and only counts as 0.4.0.
    pub(crate) fn is_complete(&self) -> bool {
        let numbers = self.original.split(['-', '+']).next().unwrap_or_default();
        numbers.matches('.').count() == 2
    }

    pub(crate) fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        parse(text).ok_or_else(|| InvalidVersion(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Version> {
    let rest = text.strip_prefix('v').unwrap_or(text);
    let (rest, metadata) = split_off(rest, '+');
    let (numbers, prerelease) = split_off(rest, '-');
    let mut segments = numbers.split('.').map(number);
    let major = segments.next()??;
    let mut next = || segments.next().unwrap_or(Some(0));
    let (minor, patch) = (next()?, next()?);
    let is_good = segments.next().is_none()
        && prerelease.is_none_or(|text| text.split('.').all(is_prerelease_part))
        && metadata.is_none_or(|text| text.split('.').all(is_identifier));
    is_good.then(|| Version {
        major,
        minor,
        patch,
        prerelease: prerelease.unwrap_or_default().to_owned(),
        metadata: metadata.unwrap_or_default().to_owned(),
        original: text.to_owned(),
    })
}

fn split_off(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Leading zeros are allowed here, though not in the numbers of a prerelease.
fn number(text: &str) -> Option<u64> {
    is_number(text).then(|| text.parse().ok())?
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn is_prerelease_part(text: &str) -> bool {
    is_identifier(text) && !(is_number(text) && text.len() > 1 && text.starts_with('0'))
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        let by_release = || match (self.is_prerelease(), other.is_prerelease()) {
            (true, true) => compare_prereleases(&self.prerelease, &other.prerelease),
            (mine, theirs) => theirs.cmp(&mine),
        };
        numbers(self).cmp(&numbers(other)).then_with(by_release)
    }
}

/// By parts; what has more of them is later.
pub(crate) fn compare_prereleases(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (one.split('.'), other.split('.'));
    loop {
        let ordering = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (one, other) => compare_parts(one.unwrap_or_default(), other.unwrap_or_default()),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

/// Nothing is before numbers, numbers are before words. A number that does not
/// fit counts as a word, as in Go.
fn compare_parts(one: &str, other: &str) -> Ordering {
    if one.is_empty() || other.is_empty() {
        return other.is_empty().cmp(&one.is_empty());
    }
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

/// Without the leading `v`, with all three numbers.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (mark, text) in [('-', &self.prerelease), ('+', &self.metadata)] {
            if !text.is_empty() {
                write!(f, "{mark}{text}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_loosely_and_remember_their_spelling() {
        for (text, shown, is_complete) in [
            ("v0.4", "0.4.0", false),
            ("1", "1.0.0", false),
            ("v0.4.1", "0.4.1", true),
            ("01.002.3", "1.2.3", true),
            ("1-rc.1", "1.0.0-rc.1", false),
            ("1.2.3-a-b.7+c.d", "1.2.3-a-b.7+c.d", true),
        ] {
            let version: Version = text.parse().unwrap();
            assert_eq!(version.to_string(), shown);
            assert_eq!(version.original(), text);
            assert_eq!(version.is_complete(), is_complete, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_version_is_refused() {
        for text in [
            "",
            "v",
            "latest",
            "V1",
            "1.",
            ".1",
            "1.2.3.4",
            "1.x",
            "1-",
            "1+",
            "1-01",
            "1-a..b",
            "1 ",
            "-1",
            "1-ä",
            "18446744073709551616",
            "sha256-0123",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn order_is_that_of_precedence() {
        let ascending = [
            "0.4.0-1",
            "0.4.0-2",
            "0.4.0-10",
            "0.4.0-alpha",
            "0.4.0-alpha.1",
            "0.4.0-beta",
            "v0.4",
            "0.4.1",
            "0.10",
            "1",
        ];
        let versions: Vec<Version> = ascending.iter().map(|text| text.parse().unwrap()).collect();
        assert!(versions.is_sorted_by(|one, other| one < other));
        let same: [Version; 2] = ["v0.4.0+a", "0.4"].map(|text| text.parse().unwrap());
        assert_eq!(same[0], same[1]);
    }
}
