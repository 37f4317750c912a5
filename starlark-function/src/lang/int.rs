//! Whole numbers of any size.

use std::{cmp::Ordering, fmt, rc::Rc};

use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive as _, ToPrimitive as _};

use super::Fallible;

/// Bytes of the largest product: numbers are not charged for, and the time for
/// them grows faster than they do.
const MOST: usize = 1 << 20;

/// A whole number: `Large` only if it does not fit the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Int {
    Small(i64),
    Large(Rc<BigInt>),
}

impl From<i64> for Int {
    fn from(number: i64) -> Self {
        Self::Small(number)
    }
}

impl From<BigInt> for Int {
    fn from(number: BigInt) -> Self {
        match number.to_i64() {
            Some(small) => Self::Small(small),
            None => Self::Large(Rc::new(number)),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(number) => write!(f, "{number}"),
            Self::Large(number) => write!(f, "{number}"),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            _ => self.large().cmp(&other.large()),
        }
    }
}

impl Int {
    pub(crate) fn large(&self) -> BigInt {
        match self {
            Self::Small(number) => BigInt::from(*number),
            Self::Large(number) => (**number).clone(),
        }
    }

    pub(crate) fn small(&self) -> Option<i64> {
        match self {
            Self::Small(number) => Some(*number),
            Self::Large(_) => None,
        }
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Self::Small(number) => *number < 0,
            Self::Large(number) => number.sign() == Sign::Minus,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::Small(0)
    }

    /// The nearest floating-point number, which may be infinite.
    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Small(number) => *number as f64,
            Self::Large(number) => number.to_f64().unwrap_or(f64::INFINITY),
        }
    }

    pub(crate) fn finite_float(&self) -> Fallible<f64> {
        Some(self.float())
            .filter(|number| number.is_finite())
            .ok_or_else(|| "int too large to convert to float".into())
    }

    /// The number without its fraction, if it is finite.
    pub(crate) fn truncated(number: f64) -> Option<Self> {
        let number = number.trunc();
        if number.abs() < 9e18 {
            Some(Self::Small(number as i64))
        } else {
            BigInt::from_f64(number).map(Self::from)
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Small(_) => 8,
            Self::Large(number) => usize::try_from(number.bits() / 8).unwrap_or(usize::MAX),
        }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => match a.checked_add(*b) {
                Some(sum) => Self::Small(sum),
                None => Self::from(BigInt::from(*a) + BigInt::from(*b)),
            },
            _ => Self::from(self.large() + other.large()),
        }
    }

    pub(crate) fn negated(&self) -> Self {
        match self {
            Self::Small(number) if *number != i64::MIN => Self::Small(-number),
            _ => Self::from(-self.large()),
        }
    }

    pub(crate) fn subtract(&self, other: &Self) -> Self {
        self.add(&other.negated())
    }

    pub(crate) fn multiply(&self, other: &Self) -> Fallible<Self> {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Ok(Self::Small(product));
        }
        if self.bytes().saturating_add(other.bytes()) > MOST {
            return Err(format!(
                "the script needs a number of more than {MOST} bytes"
            ));
        }
        Ok(Self::from(self.large() * other.large()))
    }

    /// Quotient and remainder; the quotient is rounded down.
    pub(crate) fn divide(&self, other: &Self) -> (Self, Self) {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let (Some(quotient), Some(remainder)) = (a.checked_div(*b), a.checked_rem(*b))
        {
            return if remainder != 0 && (remainder < 0) != (*b < 0) {
                (Self::Small(quotient - 1), Self::Small(remainder + b))
            } else {
                (Self::Small(quotient), Self::Small(remainder))
            };
        }
        let (a, b) = (self.large(), other.large());
        let (mut quotient, mut remainder) = (&a / &b, &a % &b);
        let differ = (remainder.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
        if remainder.sign() != Sign::NoSign && differ {
            quotient -= 1;
            remainder += b;
        }
        (Self::from(quotient), Self::from(remainder))
    }

    pub(crate) fn bitwise(&self, other: &Self, operation: fn(BigInt, BigInt) -> BigInt) -> Self {
        Self::from(operation(self.large(), other.large()))
    }

    pub(crate) fn shifted_left(&self, by: usize) -> Self {
        Self::from(self.large() << by)
    }

    pub(crate) fn shifted_right(&self, by: usize) -> Self {
        Self::from(self.large() >> by)
    }

    pub(crate) fn inverted(&self) -> Self {
        self.negated().subtract(&Self::Small(1))
    }

    pub(crate) fn in_base(&self, base: u32) -> String {
        self.large().to_str_radix(base)
    }

    /// How it compares with a floating-point number, exactly.
    pub(crate) fn compare_float(&self, other: f64) -> Ordering {
        if other.is_nan() || other == f64::INFINITY {
            return Ordering::Less;
        }
        let Some(whole) = Self::truncated(other) else {
            return Ordering::Greater;
        };
        let by_fraction = 0.0_f64.partial_cmp(&other.fract());
        self.cmp(&whole)
            .then(by_fraction.unwrap_or(Ordering::Equal))
    }
}
