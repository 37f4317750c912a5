//! All metrics at one moment, as plain data that can be shown, exposed or exported.

use std::borrow::Cow;

/// One instrument with all its points.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// As OpenTelemetry spells it: words and dots.
    pub name: &'static str,
    /// By UCUM: `s`, `By`, or a thing in braces.
    pub unit: &'static str,
    pub description: &'static str,
    pub kind: Kind,
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, from the start of the process.
    Counter,
    /// A number of things that come and go.
    UpDownCounter,
    /// A value at this moment.
    Gauge,
    /// Only grows, from the start of the process.
    Histogram,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub attributes: Vec<(&'static str, Cow<'static, str>)>,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Integer(i64),
    Float(f64),
    Histogram {
        /// Upper bounds, each belonging to its bucket.
        bounds: Vec<f64>,
        /// One per bound, and one for what is larger; not cumulative.
        counts: Vec<u64>,
        sum: f64,
    },
}

impl Metric {
    pub fn new(
        name: &'static str,
        unit: &'static str,
        kind: Kind,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            description,
            kind,
            points: Vec::new(),
        }
    }

    /// With one point more.
    #[must_use]
    pub fn with(mut self, attributes: &[(&'static str, &str)], value: Value) -> Self {
        self.add(attributes, value);
        self
    }

    pub fn add(&mut self, attributes: &[(&'static str, &str)], value: Value) {
        let own = |(name, value): &(&'static str, &str)| (*name, Cow::Owned((*value).to_owned()));
        self.points.push(Point {
            attributes: attributes.iter().map(own).collect(),
            value,
        });
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<std::time::Duration> for Value {
    fn from(time: std::time::Duration) -> Self {
        Self::Float(time.as_secs_f64())
    }
}
