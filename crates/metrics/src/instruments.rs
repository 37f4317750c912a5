//! The values themselves: counters, gauges and histograms that can be statics.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use crate::snapshot::{Kind, Metric, Value};

/// Upper bounds for durations, in nanoseconds: from a tenth of a millisecond, a small
/// list in a bundled function, to five minutes, the longest call by default.
const DURATIONS: [u64; BUCKETS] = {
    const MICROS: [u64; BUCKETS] = [
        100,
        250,
        500,
        1_000,
        2_500,
        5_000,
        10_000,
        25_000,
        50_000,
        100_000,
        250_000,
        500_000,
        1_000_000,
        2_500_000,
        5_000_000,
        10_000_000,
        30_000_000,
        60_000_000,
        120_000_000,
        300_000_000,
    ];
    let mut bounds = MICROS;
    let mut at = 0;
    while at < BUCKETS {
        bounds[at] *= 1_000;
        at += 1;
    }
    bounds
};

/// Upper bounds for sizes, in bytes, each twice the one before: 256 bytes to 128 MiB.
const SIZES: [u64; BUCKETS] = {
    let mut bounds = [0; BUCKETS];
    let mut at = 0;
    while at < BUCKETS {
        bounds[at] = 256 << at;
        at += 1;
    }
    bounds
};

const BUCKETS: usize = 20;

/// Counts what happened.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What there is at this moment.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub const fn new() -> Self {
        Self(AtomicI64::new(0))
    }

    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }

    pub fn set(&self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often which value was seen, by buckets.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64; BUCKETS],
    /// How many of the bounds' unit are one of the metric's.
    scale: f64,
    counts: [AtomicU64; BUCKETS + 1],
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) const fn of_durations() -> Self {
        Self::new(&DURATIONS, 1e9)
    }

    pub(crate) const fn of_sizes() -> Self {
        Self::new(&SIZES, 1.0)
    }

    const fn new(bounds: &'static [u64; BUCKETS], scale: f64) -> Self {
        Self {
            bounds,
            scale,
            counts: [const { AtomicU64::new(0) }; BUCKETS + 1],
            sum: AtomicU64::new(0),
        }
    }

    pub fn took(&self, time: Duration) {
        self.observe(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub fn observe(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        let counts = self.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "sums are shown, not counted with"
    )]
    pub fn value(&self) -> Value {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Value::Histogram {
            bounds: self.bounds.iter().map(|b| *b as f64 / self.scale).collect(),
            counts: self.counts.iter().map(load).collect(),
            sum: self.sum.load(Ordering::Relaxed) as f64 / self.scale,
        }
    }
}

/// An attribute whose values are known in advance.
pub trait Label: Copy + 'static {
    /// The attribute's name.
    const NAME: &'static str;
    /// All its values, in the order of their indices.
    const VALUES: &'static [&'static str];

    fn index(self) -> usize;
}

/// Declares an enum that is such an attribute.
macro_rules! label {
    ($(#[$doc:meta])* $type:ident as $name:literal { $($(#[$value_doc:meta])* $variant:ident = $value:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(unreachable_pub, reason = "where a test declares one")]
        pub enum $type { $($(#[$value_doc])* $variant,)+ }

        impl $crate::Label for $type {
            const NAME: &'static str = $name;
            const VALUES: &'static [&'static str] = &[$($value,)+];

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use label;

/// One instrument per value of an attribute.
#[derive(Debug)]
pub struct Split<L, T, const N: usize> {
    each: [T; N],
    label: std::marker::PhantomData<fn(L)>,
}

impl<L: Label, T, const N: usize> Split<L, T, N> {
    pub const fn new(each: [T; N]) -> Self {
        assert!(N == L::VALUES.len(), "one instrument for each value");
        Self {
            each,
            label: std::marker::PhantomData,
        }
    }

    pub fn of(&self, label: L) -> &T {
        &self.each[label.index()]
    }

    /// All of them, in the order of the values.
    pub fn all(&self) -> &[T; N] {
        &self.each
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, &T)> {
        L::VALUES.iter().copied().zip(&self.each)
    }
}

/// Shows itself as points of a metric.
pub(crate) trait Points {
    const KIND: Kind;

    fn points(&self, metric: &mut Metric);
}

impl Points for Counter {
    const KIND: Kind = Kind::Counter;

    fn points(&self, metric: &mut Metric) {
        metric.add(&[], self.get().into());
    }
}

impl Points for Gauge {
    const KIND: Kind = Kind::UpDownCounter;

    fn points(&self, metric: &mut Metric) {
        metric.add(&[], self.get().into());
    }
}

impl Points for Histogram {
    const KIND: Kind = Kind::Histogram;

    fn points(&self, metric: &mut Metric) {
        metric.add(&[], self.value());
    }
}

impl<L: Label, T: Points, const N: usize> Points for Split<L, T, N> {
    const KIND: Kind = T::KIND;

    fn points(&self, metric: &mut Metric) {
        for (value, each) in self.each() {
            let from = metric.points.len();
            each.points(metric);
            for point in &mut metric.points[from..] {
                point.attributes.push((L::NAME, value.into()));
            }
        }
    }
}

/// An instrument as a metric.
pub(crate) fn metric<T: Points>(
    name: &'static str,
    unit: &'static str,
    of: &T,
    description: &'static str,
) -> Metric {
    let mut metric = Metric::new(name, unit, T::KIND, description);
    of.points(&mut metric);
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    label!(
        /// For tests.
        Side as "side" { Left = "left", Right = "right", }
    );

    #[test]
    fn a_value_on_a_bound_belongs_to_the_bucket_that_ends_there() {
        let histogram = Histogram::of_durations();
        for micros in [0, 100, 101, 300_000_000, 300_000_001] {
            histogram.took(Duration::from_micros(micros));
        }
        let Value::Histogram {
            bounds,
            counts,
            sum,
        } = histogram.value()
        else {
            panic!("no histogram");
        };
        assert_eq!((bounds[0], bounds[19]), (0.0001, 300.0));
        assert_eq!((counts[0], counts[1], counts[19], counts[20]), (2, 1, 1, 1));
        assert!((sum - 600.000_202).abs() < 1e-9, "{sum}");
        assert_eq!(histogram.count(), 5);
    }

    #[test]
    fn each_value_of_a_label_is_a_point_of_its_own() {
        let split: Split<Side, Counter, 2> = Split::new([const { Counter::new() }; 2]);
        split.of(Side::Right).add(3);
        let metric = metric("x", "{x}", &split, "X.");
        let points = metric.points.iter();
        let shown = points.map(|point| (point.attributes[0].1.as_ref(), point.value.clone()));
        let shown: Vec<_> = shown.collect();
        assert_eq!(
            shown,
            [("left", Value::Integer(0)), ("right", Value::Integer(3))]
        );
        assert_eq!(split.of(Side::Left).get(), 0);
    }
}
