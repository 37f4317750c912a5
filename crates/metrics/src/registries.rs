//! What registries answer, by host, and what the cache of images' metadata saves.

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;

use crate::{
    bounded::{Bounded, OTHER},
    instruments::{Counter, Histogram, Label as _, Split, label, metric},
    snapshot::{Kind, Metric},
};

/// How many hosts have series of their own: callers choose hosts, too.
const MOST: usize = 50;

/// How much of an error is kept, in characters.
const LONGEST: usize = 500;

label!(
    /// How a request ended.
    Outcome as "outcome" {
        Success = "success",
        /// 401 or 403; also the first request to a host that asks for a token.
        Unauthorized = "unauthorized",
        NotFound = "not_found",
        /// 429, or the host asked for a pause before.
        Throttled = "throttled",
        /// Any other answer.
        Refused = "refused",
        /// No answer: no connection, no name, no time.
        Unreachable = "unreachable",
    }
);

label!(
    /// How a question about an image was answered.
    Lookup as "outcome" {
        /// From what was known.
        Hit = "hit",
        /// By asking a registry.
        Miss = "miss",
        /// By somebody else's question, which was under way.
        Joined = "joined",
    }
);

pub static METADATA: Split<Lookup, Counter, 3> = Split::new([const { Counter::new() }; 3]);

static HOSTS: LazyLock<Bounded<String, Host>> = LazyLock::new(|| Bounded::new(MOST));

#[derive(Debug)]
struct Host {
    requests: Split<Outcome, Counter, 6>,
    took: Histogram,
    last: Mutex<Last>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            requests: Split::new([const { Counter::new() }; 6]),
            took: Histogram::of_durations(),
            last: Mutex::default(),
        }
    }
}

/// When a host last answered, and what was wrong since.
#[derive(Debug, Default, Clone)]
pub struct Last {
    pub answered: Option<SystemTime>,
    /// In words, if the last request had no useful answer.
    pub trouble: Option<(SystemTime, String)>,
}

/// A registry for people to look at.
#[derive(Debug, Clone)]
pub struct Shown {
    pub host: String,
    pub requests: u64,
    /// Of them without a useful answer: refused, throttled, unreachable.
    pub failures: u64,
    pub last: Last,
}

/// A request to a host has ended. A host gets its own series when it has answered.
pub fn requested(host: &str, outcome: Outcome, took: Duration, trouble: &str) {
    let of = HOSTS.get(host).unwrap_or_else(|| match outcome {
        Outcome::Unreachable => Arc::clone(HOSTS.other()),
        _ => HOSTS.admit(host.to_owned()),
    });
    of.requests.of(outcome).increment();
    of.took.took(took);
    let now = SystemTime::now();
    let mut last = of.last.lock();
    if outcome.is_failure() {
        last.trouble = Some((now, trouble.chars().take(LONGEST).collect()));
    } else {
        last.trouble = None;
    }
    if outcome != Outcome::Unreachable {
        last.answered = Some(now);
    }
}

impl Outcome {
    /// By the status of an answer.
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=399 => Self::Success,
            401 | 403 => Self::Unauthorized,
            404 => Self::NotFound,
            429 => Self::Throttled,
            _ => Self::Refused,
        }
    }

    /// Whether the registry failed, rather than the request being wrong.
    fn is_failure(self) -> bool {
        matches!(self, Self::Throttled | Self::Refused | Self::Unreachable)
    }
}

/// All hosts that were asked, the others last.
pub fn shown() -> Vec<Shown> {
    let mut all = HOSTS.all();
    all.push((OTHER.to_owned(), Arc::clone(HOSTS.other())));
    let show = |(host, of): (String, Arc<Host>)| {
        let count = |outcome| of.requests.of(outcome).get();
        let failures = [Outcome::Throttled, Outcome::Refused, Outcome::Unreachable];
        Shown {
            host,
            requests: of.requests.all().iter().map(Counter::get).sum(),
            failures: failures.into_iter().map(count).sum(),
            last: of.last.lock().clone(),
        }
    };
    let shown = all.into_iter().map(show);
    shown.filter(|host| host.requests > 0).collect()
}

pub(crate) fn snapshot() -> Vec<Metric> {
    let mut requests = Metric::new(
        "function_runner.registry.requests",
        "{request}",
        Kind::Counter,
        "Requests to image registries and their token servers.",
    );
    let mut duration = Metric::new(
        "function_runner.registry.request.duration",
        "s",
        Kind::Histogram,
        "Duration of requests to image registries and their token servers.",
    );
    let mut all = HOSTS.all();
    all.push((OTHER.to_owned(), Arc::clone(HOSTS.other())));
    for (host, of) in &all {
        if of.took.count() == 0 {
            continue;
        }
        duration.add(&[("host", host)], of.took.value());
        for (outcome, counter) in Outcome::VALUES.iter().zip(of.requests.all()) {
            let attributes = [("host", host.as_str()), ("outcome", outcome)];
            requests.add(&attributes, counter.get().into());
        }
    }
    vec![
        requests,
        duration,
        metric(
            "function_runner.metadata_cache.lookups",
            "{lookup}",
            &METADATA,
            "Questions about images, answered from the cache (hit), by a registry (miss), or \
             together with another question (joined).",
        ),
    ]
}
