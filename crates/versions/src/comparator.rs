//! One part of a constraint: an operator and a version, which may leave out its
//! last numbers or have wildcards in their place.

use std::fmt;

use crate::version::{Version, compare_prereleases};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// How many of a version's numbers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// `*`
    Any,
    /// `1`, `1.x`
    Major,
    /// `1.2`, `1.2.x`
    Minor,
    /// `1.2.3`
    Patch,
}

#[derive(Debug, Clone)]
pub(crate) struct Comparator {
    pub(crate) operator: Operator,
    /// What is not given is 0.
    pub(crate) version: Version,
    pub(crate) precision: Precision,
    /// As it was spelled, without spaces.
    pub(crate) text: String,
}

/// Why a version does not satisfy a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// It is a prerelease, and the constraint names none.
    Prerelease,
    /// This part of the constraint is not satisfied.
    Unsatisfied(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prerelease => f.write_str("is a prerelease, and the constraint names none"),
            Self::Unsatisfied(part) => write!(f, "does not satisfy {part}"),
        }
    }
}

impl Comparator {
    /// Whether this part alone is satisfied; prereleases are the group's concern.
    pub(crate) fn is_satisfied(&self, version: &Version) -> bool {
        let wanted = &self.version;
        let same_major = version.major == wanted.major;
        let same_minor = same_major && version.minor == wanted.minor;
        match self.operator {
            Operator::Equal => match self.precision {
                Precision::Patch => version == wanted,
                _ => self.is_close(version),
            },
            Operator::NotEqual => match self.precision {
                Precision::Major => !same_major,
                Precision::Minor => {
                    !same_minor
                        || compare_prereleases(&version.prerelease, &wanted.prerelease).is_ne()
                }
                Precision::Any | Precision::Patch => version != wanted,
            },
            // `>1.2` means: above all of 1.2.
            Operator::Greater => match self.precision {
                Precision::Major => version.major > wanted.major,
                Precision::Minor => (version.major, version.minor) > (wanted.major, wanted.minor),
                Precision::Any | Precision::Patch => version > wanted,
            },
            Operator::GreaterOrEqual => version >= wanted,
            Operator::Less => version < wanted,
            // `<=1.2` includes all of 1.2.
            Operator::LessOrEqual => match self.precision {
                Precision::Patch => version <= wanted,
                Precision::Major => version.major <= wanted.major,
                Precision::Any | Precision::Minor => {
                    (version.major, version.minor) <= (wanted.major, wanted.minor)
                }
            },
            Operator::Tilde => self.is_close(version),
            Operator::Caret => version >= wanted && self.keeps_its_promises(version),
        }
    }

    /// Not before what is wanted, and of the same minor version (or major, if that
    /// is all that is given). `~0.0.0` and `~*` want nothing in particular.
    fn is_close(&self, version: &Version) -> bool {
        let Self {
            version: wanted,
            precision,
            ..
        } = self;
        let is_zero = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0);
        let wants_all = is_zero && matches!(precision, Precision::Any | Precision::Patch);
        let same_major = version.major == wanted.major;
        let same_minor = version.minor == wanted.minor || *precision == Precision::Major;
        version >= wanted && (wants_all || same_major && same_minor)
    }

    /// The first number that is not 0 stays: what comes before a change that
    /// breaks users.
    fn keeps_its_promises(&self, version: &Version) -> bool {
        let Self {
            version: wanted,
            precision,
            ..
        } = self;
        let numbers = |version: &Version| [version.major, version.minor, version.patch];
        let kept = match (wanted.major, wanted.minor) {
            (1.., _) => 1,
            (0, _) if *precision == Precision::Major => 1,
            (0, 1..) => 2,
            (0, 0) if *precision == Precision::Minor => 2,
            (0, 0) => 3,
        };
        numbers(version)[..kept] == numbers(wanted)[..kept]
    }
}
