//! Everything that the page shows, as plain data: made at one moment, shown as HTML, as
//! JSON, or in a terminal.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use metrics::{
    Counter, Label as _,
    budget::{self, Part},
    functions,
    pods::{self, Watched},
    registries,
};
use serde::{Deserialize, Serialize};

use super::{
    configuration::Configuration,
    failures::{self, FailureView, unix},
    starts::{self, StartView},
};

/// Where the parts come from that are not counted.
pub(crate) struct Sources {
    pub(crate) configuration: Configuration,
    /// `None` without the pod runtime.
    pub(crate) pods: Option<PodSource>,
}

/// Tells which pods there are.
pub(crate) type PodSource = Box<dyn Fn() -> Vec<PodView> + Send + Sync>;

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

/// The runner at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct View {
    pub(crate) version: String,
    /// Unix seconds.
    pub(crate) now: u64,
    pub(crate) uptime_seconds: u64,
    pub(crate) process: ProcessView,
    pub(crate) functions: Vec<FunctionView>,
    /// `None` without the pod runtime.
    pub(crate) pods: Option<Vec<PodView>>,
    pub(crate) starts: Vec<StartView>,
    pub(crate) failures: Vec<FailureView>,
    pub(crate) watches: Vec<WatchView>,
    pub(crate) lease_age_seconds: Option<u64>,
    pub(crate) registries: Vec<RegistryView>,
    pub(crate) configuration: Configuration,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProcessView {
    pub(crate) memory_bytes: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    pub(crate) budget_bytes: u64,
    pub(crate) budget_used_bytes: u64,
    pub(crate) requests_bytes: u64,
    pub(crate) requests_used_bytes: u64,
    pub(crate) ahead_processes: u64,
    pub(crate) ahead_hits: u64,
    pub(crate) ahead_misses: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FunctionView {
    pub(crate) function: String,
    pub(crate) version: String,
    pub(crate) runtimes: Vec<String>,
    pub(crate) in_flight: i64,
    pub(crate) queued: i64,
    /// Since the start.
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) lately: LatelyView,
}

/// The last five minutes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LatelyView {
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    /// Microseconds.
    pub(crate) p50: Option<u64>,
    pub(crate) p95: Option<u64>,
    pub(crate) p99: Option<u64>,
    /// Calls and errors in each 15 seconds, the oldest first.
    pub(crate) chart: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PodView {
    pub(crate) name: String,
    pub(crate) function: String,
    /// starting, ready or leaving.
    pub(crate) phase: String,
    /// What one that is not ready waits for.
    pub(crate) waits_for: Option<String>,
    pub(crate) age_seconds: Option<u64>,
    pub(crate) idle_seconds: u64,
    /// Calls that run in it.
    pub(crate) load: usize,
    pub(crate) node: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WatchView {
    pub(crate) kind: String,
    pub(crate) is_connected: bool,
    pub(crate) age_seconds: Option<u64>,
    pub(crate) interruptions: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RegistryView {
    pub(crate) host: String,
    pub(crate) requests: u64,
    pub(crate) failures: u64,
    /// Unix seconds.
    pub(crate) answered: Option<u64>,
    /// What is wrong, and since when.
    pub(crate) trouble: Option<(u64, String)>,
}

impl View {
    pub(crate) fn now(sources: &Sources) -> Self {
        let own = metrics::own();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            now: unix(SystemTime::now()),
            uptime_seconds: own.uptime.as_secs(),
            process: ProcessView::of(own),
            functions: functions::shown().into_iter().map(Into::into).collect(),
            pods: sources.pods.as_ref().map(|pods| sorted(pods())),
            starts: starts::all(),
            failures: failures::all(),
            watches: watches(),
            lease_age_seconds: pods::LEASE.age().map(|age| age.as_secs()),
            registries: registries::shown().into_iter().map(Into::into).collect(),
            configuration: sources.configuration.clone(),
        }
    }

    /// Calls under way, and those of them that wait.
    pub(crate) fn under_way(&self) -> (i64, i64) {
        let each = self.functions.iter();
        let (in_flight, queued) = each
            .map(|of| (of.in_flight, of.queued))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        (in_flight.iter().sum(), queued.iter().sum())
    }

    /// Calls and errors of the last five minutes.
    pub(crate) fn lately(&self) -> (u64, u64) {
        let of = |count: fn(&LatelyView) -> u64| {
            let each = self.functions.iter();
            each.map(|function| count(&function.lately)).sum()
        };
        (of(|lately| lately.calls), of(|lately| lately.errors))
    }

    /// Calls and errors since the start.
    pub(crate) fn ever(&self) -> (u64, u64) {
        let each = || self.functions.iter();
        (
            each().map(|of| of.calls).sum(),
            each().map(|of| of.errors).sum(),
        )
    }
}

fn sorted(mut pods: Vec<PodView>) -> Vec<PodView> {
    pods.sort_by(|one, other| (&one.function, &one.name).cmp(&(&other.function, &other.name)));
    pods
}

fn watches() -> Vec<WatchView> {
    let all = Watched::VALUES.iter().zip(pods::WATCHES.all());
    let known = all.filter(|(_, watch)| watch.age().is_some() || watch.interruptions.get() > 0);
    let show = |(kind, watch): (&&str, &pods::Watch)| WatchView {
        kind: (*kind).to_owned(),
        is_connected: watch.is_connected(),
        age_seconds: watch.age().map(|age| age.as_secs()),
        interruptions: watch.interruptions.get(),
    };
    known.map(show).collect()
}

impl ProcessView {
    fn of(own: metrics::Own) -> Self {
        let gauge = |value: i64| u64::try_from(value).unwrap_or(0);
        let ahead = |outcome| Counter::get(metrics::processes::AHEAD.of(outcome));
        Self {
            memory_bytes: own.memory,
            descriptors: own.descriptors,
            threads: own.threads,
            budget_bytes: gauge(budget::LIMIT.of(Part::Processes).get()),
            budget_used_bytes: gauge(budget::USED.of(Part::Processes).get()),
            requests_bytes: gauge(budget::LIMIT.of(Part::Requests).get()),
            requests_used_bytes: gauge(budget::USED.of(Part::Requests).get()),
            ahead_processes: gauge(metrics::processes::AHEAD_WAITING.get()),
            ahead_hits: ahead(metrics::processes::Ahead::Hit),
            ahead_misses: ahead(metrics::processes::Ahead::Miss),
        }
    }
}

impl From<functions::Shown> for FunctionView {
    fn from(shown: functions::Shown) -> Self {
        let micros = |time: Option<Duration>| {
            time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
        };
        let lately = shown.lately;
        Self {
            function: shown.function,
            version: shown.version,
            runtimes: shown.runtimes.into_iter().map(str::to_owned).collect(),
            in_flight: shown.in_flight,
            queued: shown.queued,
            calls: shown.calls,
            errors: shown.errors,
            lately: LatelyView {
                calls: lately.calls,
                errors: lately.errors,
                p50: micros(lately.p50),
                p95: micros(lately.p95),
                p99: micros(lately.p99),
                chart: lately.chart.to_vec(),
            },
        }
    }
}

impl From<registries::Shown> for RegistryView {
    fn from(shown: registries::Shown) -> Self {
        Self {
            host: shown.host,
            requests: shown.requests,
            failures: shown.failures,
            answered: shown.last.answered.map(unix),
            trouble: shown.last.trouble.map(|(at, words)| (unix(at), words)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A view with these words in every text that is not ours.
    pub(crate) fn hostile(bad: &str) -> View {
        serde_json::from_value(json!({
        "version": bad, "now": 100, "uptime_seconds": 9,
        "process": {
            "memory_bytes": 1, "descriptors": 1, "threads": 1, "budget_bytes": 1,
            "budget_used_bytes": 1, "requests_bytes": 1, "requests_used_bytes": 1,
            "ahead_processes": 0, "ahead_hits": 0, "ahead_misses": 0,
        },
        "functions": [{
            "function": format!("{bad}/{bad}"), "version": bad, "runtimes": [bad], "in_flight": 1,
            "queued": 1, "calls": 3, "errors": 1,
            "lately": { "calls": 3, "errors": 1, "p50": 1, "p95": 2, "p99": 3, "chart": [[3, 1]] },
        }],
        "pods": [{
            "name": bad, "function": bad, "phase": bad, "waits_for": bad, "age_seconds": 1,
            "idle_seconds": 1, "load": 1, "node": bad,
        }],
        "starts": [{
            "at": 1, "function": bad, "took_ms": 5, "phases": [[bad, 5]], "failure": bad,
        }],
        "failures": [{
            "at": 1, "image": bad, "runtime": bad, "pod": bad, "code": bad, "message": bad,
            "advice": bad, "trace_id": bad,
        }],
        "watches": [{ "kind": bad, "is_connected": false, "age_seconds": 1, "interruptions": 1 }],
        "lease_age_seconds": 1,
        "registries": [{
            "host": bad, "requests": 1, "failures": 1, "answered": 1, "trouble": [1, bad],
        }],
        "configuration": {
            "flags": [{ "flag": bad, "value": bad, "is_given": true }],
            "variables": [[bad, bad]], "ignored": [[bad, bad]],
        },
    }))
    .unwrap()
    }
}
