//! Pods: how many there are, how they start, and how they are lost; the watches of the
//! cluster, and the Kubernetes Lease by which other runners know that this one is alive.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::{
    instruments::{Counter, Gauge, Histogram, Label as _, Split, label, metric},
    snapshot::{Kind, Metric},
};

label!(
    /// As the pool sees a pod.
    Phase as "phase" {
        Starting = "starting",
        Ready = "ready",
        Retiring = "retiring",
        Draining = "draining",
        Lost = "lost",
    }
);

label!(
    /// The parts of a pod's start, in their order.
    StartPhase as "phase" {
        Metadata = "metadata",
        Create = "create",
        Schedule = "schedule",
        Sandbox = "sandbox",
        Init = "init",
        Container = "container",
        Wrapper = "wrapper",
    }
);

label!(
    /// Why a start came to nothing.
    StartFailure as "reason" {
        /// Nothing is known about the image: no such image, no access, no registry.
        Image = "image",
        /// The cluster did not take the objects.
        Create = "create",
        /// It stays so until somebody changes something.
        Lasting = "lasting",
        /// The next attempt may succeed.
        Passing = "passing",
        /// Somebody has deleted the pod, or its node has evicted it.
        Taken = "taken",
        /// It was not up by --pod-start-timeout.
        Timeout = "timeout",
    }
);

label!(
    /// Why a pod was removed or given up.
    Removal as "reason" {
        /// Nobody used it for its time to live.
        Idle = "idle",
        /// Room was needed for another function's.
        Room = "room",
        /// A newer pod took its place.
        Replaced = "replaced",
        /// It failed, or its start did.
        Failed = "failed",
        /// Somebody has deleted it, or its node has evicted it.
        Taken = "taken",
    }
);

label!(
    /// Why a call was sent again.
    Retry as "reason" {
        /// The pod died under it.
        Lost = "lost",
        /// The pod never saw it.
        Unsent = "unsent",
    }
);

label!(
    /// What is followed of the cluster.
    Watched as "kind" { Pods = "pods", Services = "services", FunctionConfigs = "functionconfigs", Templates = "templates", }
);

label!(
    /// How a renewal ended.
    Outcome as "outcome" { Success = "success", Failure = "failure", }
);

pub static PODS: Split<Phase, Gauge, 5> = Split::new([const { Gauge::new() }; 5]);
pub static STARTS: Histogram = Histogram::of_durations();
pub static START_PHASES: Split<StartPhase, Histogram, 7> =
    Split::new([const { Histogram::of_durations() }; 7]);
pub static START_FAILURES: Split<StartFailure, Counter, 6> =
    Split::new([const { Counter::new() }; 6]);
pub static REMOVALS: Split<Removal, Counter, 5> = Split::new([const { Counter::new() }; 5]);
pub static RETRIES: Split<Retry, Counter, 2> = Split::new([const { Counter::new() }; 2]);
pub static WATCHES: Split<Watched, Watch, 4> = Split::new([const { Watch::new() }; 4]);
pub static LEASE: Lease = Lease::new();

/// One watch: whether the API server answers it, and since when nothing was heard.
#[derive(Debug)]
pub struct Watch {
    is_connected: Gauge,
    heard: Moment,
    pub interruptions: Counter,
}

impl Watch {
    const fn new() -> Self {
        Self {
            is_connected: Gauge::new(),
            heard: Moment::new(),
            interruptions: Counter::new(),
        }
    }

    /// Something came, or nothing did because nothing happened.
    pub fn heard(&self) {
        self.is_connected.set(1);
        self.heard.is_now();
    }

    /// It broke, and is begun anew.
    pub fn interrupted(&self) {
        self.is_connected.set(0);
        self.interruptions.increment();
    }

    pub fn is_connected(&self) -> bool {
        self.is_connected.get() > 0
    }

    /// For how long nothing was heard; `None` if nothing ever was.
    pub fn age(&self) -> Option<Duration> {
        self.heard.age()
    }
}

/// The Lease by which other runners know that this one lives.
#[derive(Debug)]
pub struct Lease {
    pub renewals: Split<Outcome, Counter, 2>,
    renewed: Moment,
    /// Runners that live, this one included.
    pub holders: Gauge,
}

impl Lease {
    const fn new() -> Self {
        Self {
            renewals: Split::new([const { Counter::new() }; 2]),
            renewed: Moment::new(),
            holders: Gauge::new(),
        }
    }

    pub fn renewed(&self, is_done: bool) {
        if is_done {
            self.renewed.is_now();
            self.renewals.of(Outcome::Success).increment();
        } else {
            self.renewals.of(Outcome::Failure).increment();
        }
    }

    pub fn age(&self) -> Option<Duration> {
        self.renewed.age()
    }
}

/// A moment that can be static: milliseconds since the beginning, and one; 0: never.
#[derive(Debug)]
struct Moment(AtomicU64);

impl Moment {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn is_now(&self) {
        let now = u64::try_from(crate::uptime().as_millis()).unwrap_or(u64::MAX - 1);
        self.0.store(now + 1, Ordering::Relaxed);
    }

    fn age(&self) -> Option<Duration> {
        let millis = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        Some(crate::uptime().saturating_sub(Duration::from_millis(millis)))
    }
}

pub(crate) fn snapshot() -> Vec<Metric> {
    let mut connected = Metric::new(
        "function_runner.watch.connected",
        "{watch}",
        Kind::Gauge,
        "Whether the API server answers the watch of a kind of objects (1) or not (0).",
    );
    let mut age = Metric::new(
        "function_runner.watch.age",
        "s",
        Kind::Gauge,
        "Time since the watch of a kind of objects has last been heard of.",
    );
    let mut interruptions = Metric::new(
        "function_runner.watch.interruptions",
        "{interruption}",
        Kind::Counter,
        "How often a watch broke and was begun anew.",
    );
    for (name, watch) in Watched::VALUES.iter().zip(WATCHES.all()) {
        // What is not watched has no series.
        if watch.age().is_none() && watch.interruptions.get() == 0 {
            continue;
        }
        let kind = [("kind", *name)];
        connected.add(&kind, watch.is_connected.get().into());
        interruptions.add(&kind, watch.interruptions.get().into());
        if let Some(since) = watch.age() {
            age.add(&kind, since.into());
        }
    }
    let mut lease_age = Metric::new(
        "function_runner.lease.age",
        "s",
        Kind::Gauge,
        "Time since this runner's Lease was last renewed.",
    );
    if let Some(since) = LEASE.age() {
        lease_age.add(&[], since.into());
    }
    vec![
        metric(
            "function_runner.pods",
            "{pod}",
            &PODS,
            "Pods of this runner, by phase.",
        ),
        metric(
            "function_runner.pod.start.duration",
            "s",
            &STARTS,
            "Time from the decision to start a pod until it can be used.",
        ),
        metric(
            "function_runner.pod.start.phase.duration",
            "s",
            &START_PHASES,
            "The same by parts of the start: what took the time.",
        ),
        metric(
            "function_runner.pod.start.failures",
            "{start}",
            &START_FAILURES,
            "Starts of pods that came to nothing.",
        ),
        metric(
            "function_runner.pod.removals",
            "{pod}",
            &REMOVALS,
            "Pods that were removed or given up; taken ones were evicted or deleted by others.",
        ),
        metric(
            "function_runner.call.retries",
            "{call}",
            &RETRIES,
            "Calls that were sent again, because their pod was lost or never saw them.",
        ),
        connected,
        age,
        interruptions,
        metric(
            "function_runner.lease.renewals",
            "{renewal}",
            &LEASE.renewals,
            "Renewals of this runner's Lease, by which others know that it lives.",
        ),
        metric(
            "function_runner.lease.holders",
            "{runner}",
            &LEASE.holders,
            "Runners with a live Lease in the pods' namespace.",
        ),
        lease_age,
    ]
}
