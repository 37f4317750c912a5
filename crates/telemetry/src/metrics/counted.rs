//! What was counted so far, as plain data: what there is to push.

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
