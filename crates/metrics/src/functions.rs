//! Calls by function, version, runtime and outcome.
//!
//! Callers choose the names of functions, so a function gets a series of its own only
//! with its first success, and at most [`MOST`] do. All others are counted as `other`.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use crate::{
    Code,
    bounded::{Bounded, OTHER},
    instruments::{Gauge, Histogram, Label as _, label},
    snapshot::{Kind, Metric},
    window::{Glance, Window},
};

/// How many functions, with their versions, have series of their own.
pub const MOST: usize = 200;

label!(
    /// What has run a function.
    Runtime as "runtime" {
        /// Part of the runner.
        Bundled = "bundled",
        /// A local executable.
        Exec = "exec",
        Pod = "pod",
        /// The call was refused before any runtime was found for it.
        Nobody = "none",
    }
);

const RUNTIMES: usize = 4;

impl Runtime {
    pub fn name(self) -> &'static str {
        Self::VALUES[self.index()]
    }
}

/// What is counted of one function.
#[derive(Debug, Default)]
pub struct Series {
    pub in_flight: Gauge,
    pub queued: Gauge,
    /// Most functions have one runtime.
    runtimes: [OnceLock<Box<PerRuntime>>; RUNTIMES],
    window: Window,
}

#[derive(Debug)]
struct PerRuntime {
    queue_wait: Histogram,
    /// By code, of which a function has few.
    took: [OnceLock<Box<Histogram>>; Code::COUNT],
}

/// How a call went.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub runtime: Runtime,
    pub code: Code,
    pub took: Duration,
    pub queue_wait: Duration,
}

static FUNCTIONS: LazyLock<Bounded<String, Series>> = LazyLock::new(|| Bounded::new(MOST));

/// The function's series, or the one of all others.
pub fn of(image: &str) -> Arc<Series> {
    let of = FUNCTIONS.get(image);
    of.unwrap_or_else(|| Arc::clone(FUNCTIONS.other()))
}

/// A call has ended; `image` is `None` if nobody found out what was meant.
pub fn ended(image: Option<&str>, ended: Ended) {
    count(&FUNCTIONS, image, ended, crate::uptime());
}

fn count(all: &Bounded<String, Series>, image: Option<&str>, ended: Ended, now: Duration) {
    let is_error = ended.code != Code::Ok;
    let series = image.map_or_else(
        || Arc::clone(all.other()),
        |image| match all.get(image) {
            Some(series) => series,
            None if is_error => Arc::clone(all.other()),
            None => all.admit(image.to_owned()),
        },
    );
    let of_runtime = series.runtimes[ended.runtime.index()].get_or_init(|| {
        Box::new(PerRuntime {
            queue_wait: Histogram::of_durations(),
            took: std::array::from_fn(|_| OnceLock::new()),
        })
    });
    of_runtime.queue_wait.took(ended.queue_wait);
    let took =
        of_runtime.took[ended.code.index()].get_or_init(|| Box::new(Histogram::of_durations()));
    took.took(ended.took);
    series.window.add(now, ended.took, is_error);
}

/// A function for people to look at.
#[derive(Debug, Clone)]
pub struct Shown {
    pub function: String,
    pub version: String,
    /// Those that have answered it.
    pub runtimes: Vec<&'static str>,
    pub in_flight: i64,
    pub queued: i64,
    /// Since the start.
    pub calls: u64,
    pub errors: u64,
    pub lately: Glance,
}

/// All functions that were called, the others last.
pub fn shown() -> Vec<Shown> {
    let now = crate::uptime();
    let show = |image: &str, series: &Series| {
        let (function, version) = split(image);
        let mut shown = Shown {
            function: function.to_owned(),
            version: version.to_owned(),
            runtimes: Vec::new(),
            in_flight: series.in_flight.get(),
            queued: series.queued.get(),
            calls: 0,
            errors: 0,
            lately: series.window.glance(now),
        };
        for (runtime, of) in series.by_runtime() {
            shown.runtimes.push(runtime);
            for (code, took) in of.by_code() {
                shown.calls += took.count();
                if code != Code::Ok.name() {
                    shown.errors += took.count();
                }
            }
        }
        shown
    };
    let all = FUNCTIONS.all();
    let mut shown: Vec<Shown> = all.iter().map(|(image, of)| show(image, of)).collect();
    let other = show(OTHER, FUNCTIONS.other());
    if other.calls > 0 || other.in_flight > 0 {
        shown.push(other);
    }
    shown
}

impl Series {
    fn by_runtime(&self) -> impl Iterator<Item = (&'static str, &PerRuntime)> {
        let all = Runtime::VALUES.iter().zip(&self.runtimes);
        all.filter_map(|(name, of)| Some((*name, &**of.get()?)))
    }
}

impl PerRuntime {
    fn by_code(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        let all = Code::VALUES.iter().zip(&self.took);
        all.filter_map(|(name, of)| Some((*name, &**of.get()?)))
    }
}

/// An image's name without its version, and the rest: no two images have both in common.
fn split(image: &str) -> (&str, &str) {
    let path = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[path..].find([':', '@']) {
        Some(at) => (
            &image[..path + at],
            image[path + at..].trim_start_matches(':'),
        ),
        None => (image, ""),
    }
}

pub(crate) fn snapshot() -> Vec<Metric> {
    metrics(&FUNCTIONS)
}

fn metrics(all: &Bounded<String, Series>) -> Vec<Metric> {
    let mut evaluations = Metric::new(
        "function_runner.evaluations",
        "{evaluation}",
        Kind::Counter,
        "Evaluations that have ended.",
    );
    let mut duration = Metric::new(
        "function_runner.evaluation.duration",
        "s",
        Kind::Histogram,
        "Time from a call's arrival to its answer.",
    );
    let mut queue_wait = Metric::new(
        "function_runner.queue.wait.duration",
        "s",
        Kind::Histogram,
        "Time that calls waited for a processor, for memory or for a pod.",
    );
    let mut in_flight = Metric::new(
        "function_runner.evaluations.in_flight",
        "{evaluation}",
        Kind::UpDownCounter,
        "Evaluations under way, those that wait included.",
    );
    let mut queued = Metric::new(
        "function_runner.evaluations.queued",
        "{evaluation}",
        Kind::UpDownCounter,
        "Evaluations that wait for a processor, for memory or for a pod.",
    );
    let mut named = all.all();
    named.push((OTHER.to_owned(), Arc::clone(all.other())));
    for (image, series) in &named {
        let (function, version) = split(image);
        let of_function = [("function", function), ("version", version)];
        in_flight.add(&of_function, series.in_flight.get().into());
        queued.add(&of_function, series.queued.get().into());
        for (runtime, of) in series.by_runtime() {
            let [function, version] = of_function;
            let of_runtime = [function, version, ("runtime", runtime)];
            queue_wait.add(&of_runtime, of.queue_wait.value());
            for (code, took) in of.by_code() {
                let of_code = [function, version, ("runtime", runtime), ("code", code)];
                evaluations.add(&of_code, took.count().into());
                duration.add(&of_code, took.value());
            }
        }
    }
    vec![evaluations, duration, queue_wait, in_flight, queued]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(all: &Bounded<String, Series>, image: &str, code: Code) {
        let ended = Ended {
            runtime: Runtime::Bundled,
            code,
            took: Duration::from_millis(3),
            queue_wait: Duration::ZERO,
        };
        count(all, Some(image), ended, Duration::from_secs(1));
    }

    fn evaluations(all: &Bounded<String, Series>) -> Vec<(String, i64)> {
        let metrics = metrics(all);
        let points = metrics[0].points.iter();
        let shown = points.map(|point| {
            let words: Vec<&str> = point.attributes.iter().map(|(_, v)| v.as_ref()).collect();
            let crate::Value::Integer(count) = point.value else {
                panic!("no count");
            };
            (words.join(" "), count)
        });
        shown.collect()
    }

    #[test]
    fn a_function_has_its_own_series_from_its_first_success_on() {
        let all = Bounded::new(MOST);
        call(&all, "ghcr.io/x/set:v1", Code::NotFound);
        call(&all, "ghcr.io/x/set:v1", Code::Ok);
        call(&all, "ghcr.io/x/set:v1", Code::Internal);
        let expected = [
            ("ghcr.io/x/set v1 bundled OK", 1),
            ("ghcr.io/x/set v1 bundled INTERNAL", 1),
            ("other  bundled NOT_FOUND", 1),
        ];
        let shown = evaluations(&all);
        let shown: Vec<_> = shown
            .iter()
            .map(|(name, count)| (&**name, *count))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_are_split_so_that_no_two_images_share_a_series() {
        for (image, function, version) in [
            ("host:5000/a/b:v1", "host:5000/a/b", "v1"),
            ("host:5000/a/b", "host:5000/a/b", ""),
            ("a/b@sha256:00", "a/b", "@sha256:00"),
            ("a/b:v1@sha256:00", "a/b", "v1@sha256:00"),
            ("b:v1", "b", "v1"),
        ] {
            assert_eq!(split(image), (function, version));
        }
    }

    #[test]
    fn of_a_million_names_200_are_kept() {
        let all = Bounded::new(MOST);
        for number in 0..1_000_000 {
            let code = if number % 2 == 0 {
                Code::Ok
            } else {
                Code::NotFound
            };
            call(&all, &format!("example.com/function-{number}:v1"), code);
        }
        assert_eq!(all.all().len(), MOST);
        let shown = evaluations(&all);
        assert_eq!(shown.len(), MOST + 2);
        let sum: i64 = shown.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, 1_000_000);
    }
}
