//! A constraint: groups of comparators, of which one group has to hold as a whole.

use std::{fmt, str::FromStr, sync::LazyLock};

use regex::{Captures, Regex};

use crate::{
    comparator::{Comparator, Mismatch, Operator, Precision},
    version::Version,
};

/// Which versions are wanted.
#[derive(Debug, Clone)]
pub struct Constraint {
    any_of: Vec<Group>,
    text: String,
}

/// All of these have to hold.
#[derive(Debug, Clone)]
struct Group {
    all_of: Vec<Comparator>,
    /// Whether prereleases count: one of the comparators names one.
    takes_prereleases: bool,
}

/// A text that is not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version constraint")]
pub struct InvalidConstraint(pub String);

impl Constraint {
    /// Whether the version is wanted; if not, why: one reason for each of the
    /// alternatives that `||` separates.
    pub fn check(&self, version: &Version) -> Result<(), Vec<Mismatch>> {
        let mut reasons = Vec::new();
        for group in &self.any_of {
            match group.mismatch(version) {
                None => return Ok(()),
                Some(reason) => reasons.push(reason),
            }
        }
        reasons.dedup();
        Err(reasons)
    }
}

impl Group {
    fn mismatch(&self, version: &Version) -> Option<Mismatch> {
        if version.is_prerelease() && !self.takes_prereleases {
            return Some(Mismatch::Prerelease);
        }
        let mut parts = self.all_of.iter();
        let unsatisfied = parts.find(|part| !part.is_satisfied(version))?;
        Some(Mismatch::Unsatisfied(unsatisfied.text.clone()))
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The grammar. White space is ASCII's, as in Go.
struct Grammar {
    /// `A - B`, wherever it stands.
    range: Regex,
    /// All that one side of `||` may be.
    group: Regex,
    comparator: Regex,
}

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
    // `|` is an oversight of the original's: it is accepted here and refused
    // when the number is read.
    let number = r"[0-9xX*|]+";
    let words = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*";
    let version = format!(r"v?{number}(?:\.{number})?(?:\.{number})?(?:-{words})?(?:\+{words})?");
    let space = r"[\t\n\f\r ]";
    let operator = r"(?:>=|=>|<=|=<|~>|!=|=|>|<|~|\^)?";
    let part = format!("{operator}{space}*{version}");
    let regex = |text: String| Regex::new(&text).expect("the grammar is fixed");
    Grammar {
        range: regex(format!(
            "{space}*({version}){space}+-{space}+({version}){space}*"
        )),
        group: regex(format!(
            "^{space}*{part}{space}*(?:(?:{space}+|,{space}*){part}{space}*)*$"
        )),
        comparator: regex(format!(
            r"({operator}){space}*(v?({number})(?:\.({number}))?(?:\.({number}))?(-{words})?(?:\+{words})?)"
        )),
    }
});

impl FromStr for Constraint {
    type Err = InvalidConstraint;

    fn from_str(text: &str) -> Result<Self, InvalidConstraint> {
        let invalid = || InvalidConstraint(text.to_owned());
        let groups = without_ranges(text);
        let groups: Option<Vec<Group>> = groups.split("||").map(group).collect();
        Ok(Self {
            any_of: groups.ok_or_else(invalid)?,
            text: text.to_owned(),
        })
    }
}

/// `A - B` becomes `>= A, <= B`. The white space before it goes, too, so that a
/// range has to come first, or after a comma or `||`.
fn without_ranges(text: &str) -> String {
    let mut rewritten = text.to_owned();
    for range in GRAMMAR.range.captures_iter(text) {
        let comparators = format!(">= {}, <= {} ", &range[1], &range[2]);
        rewritten = rewritten.replacen(&range[0], &comparators, 1);
    }
    rewritten
}

fn group(text: &str) -> Option<Group> {
    if !GRAMMAR.group.is_match(text) {
        return None;
    }
    let parts = GRAMMAR.comparator.captures_iter(text);
    let all_of: Vec<Comparator> = parts.map(|part| comparator(&part)).collect::<Option<_>>()?;
    let takes_prereleases = all_of.iter().any(|part| part.version.is_prerelease());
    Some(Group {
        all_of,
        takes_prereleases,
    })
}

fn comparator(part: &Captures<'_>) -> Option<Comparator> {
    let operator = match &part[1] {
        "" | "=" => Operator::Equal,
        "!=" => Operator::NotEqual,
        ">" => Operator::Greater,
        "<" => Operator::Less,
        ">=" | "=>" => Operator::GreaterOrEqual,
        "<=" | "=<" => Operator::LessOrEqual,
        "~" | "~>" => Operator::Tilde,
        _ => Operator::Caret,
    };
    let given = |number: usize| {
        let number = part.get(number)?.as_str();
        (!matches!(number, "x" | "X" | "*")).then_some(number)
    };
    let prerelease = part.get(6).map_or("", |prerelease| prerelease.as_str());
    // The first number that is not given makes those after it count for nothing.
    let (precision, text) = match (given(3), given(4), given(5)) {
        (None, _, _) => (Precision::Any, format!("0{prerelease}")),
        (Some(major), None, _) => (Precision::Major, format!("{major}{prerelease}")),
        (Some(major), Some(minor), None) => {
            (Precision::Minor, format!("{major}.{minor}{prerelease}"))
        }
        (Some(_), Some(_), Some(_)) => (Precision::Patch, part[2].to_owned()),
    };
    Some(Comparator {
        operator,
        version: text.parse().ok()?,
        precision,
        text: format!("{}{}", &part[1], &part[2]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(constraint: &str, version: &str) -> Vec<String> {
        let constraint: Constraint = constraint.parse().unwrap();
        let checked = constraint.check(&version.parse().unwrap());
        let reasons = checked.err().unwrap_or_default();
        reasons.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_mismatch_says_which_part_is_not_satisfied() {
        assert_eq!(reasons(">=v0.4.0 <v0.5", "v0.4.6"), [""; 0]);
        assert_eq!(
            reasons(">= v0.4.0 <v0.5", "0.3"),
            ["does not satisfy >=v0.4.0"]
        );
        assert_eq!(
            reasons("~1.2 || 3.x", "2.0"),
            ["does not satisfy ~1.2", "does not satisfy 3.x"]
        );
        assert_eq!(
            reasons("1.x || 2.x", "1.0.0-rc1"),
            ["is a prerelease, and the constraint names none"]
        );
    }

    #[test]
    fn what_is_not_a_constraint_is_refused_with_its_text() {
        for text in [
            "",
            "latest",
            "1.0 ||",
            ">",
            "1.2.3.4",
            "=1.0 - 2.0",
            "1|2",
            "xx",
            "1ä",
        ] {
            let error = text.parse::<Constraint>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{text:?} is not a version constraint")
            );
        }
    }
}
