//! Decides what a sweep does with a pod or service that the pool does not know: pure,
//! so that tests can show without a cluster whose pods may be touched, and when.

use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::pod::{
    owning::Life,
    watching::{Progress, SeenPod, SeenService},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    /// It is as good as one of our own: a pod of this function.
    Adopt {
        function: String,
    },
    Delete(&'static str),
}

/// What the judge has to know. Times are in Unix seconds by the API server's clock,
/// which also stamped the objects: this machine's clock may be minutes off. As long
/// as the API server's time is not known nothing is old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    pub(crate) now: Option<u64>,
    /// When this runner has begun.
    pub(crate) began: Option<u64>,
    /// Names this process among all that ever were this runner.
    pub(crate) incarnation: &'a str,
    pub(crate) template_version: Option<&'a str>,
    pub(crate) ttl: Duration,
    pub(crate) start_timeout: Duration,
}

impl Circumstances<'_> {
    /// Whether this time after a moment is certainly over.
    fn is_over(&self, moment: u64, time: Duration) -> bool {
        self.now.is_some_and(|now| now > moment + time.as_secs())
    }
}

/// Judges a pod that is not in the roster.
pub(crate) fn judge(
    pod: &SeenPod,
    life: impl Fn(&str) -> Life,
    around: &Circumstances<'_>,
) -> Verdict {
    let identity = &pod.identity;
    if identity.is_leaving {
        return Verdict::Keep;
    }
    let reclaim_after = pod.reclaim_after.unwrap_or(0);
    let has_had_its_time = around.is_over(identity.created, around.ttl)
        && around.is_over(reclaim_after, Duration::ZERO);
    // Of Porch's own runner, or of nobody. Porch's does not write down when it has
    // used a pod last, and may go on using an old one beside us for a while.
    let Some(owner) = identity.owner.as_deref() else {
        let have_been_here = |began| around.is_over(began, around.ttl);
        return if has_had_its_time && around.began.is_some_and(have_been_here) {
            Verdict::Delete("its time is over and it names no owner")
        } else {
            Verdict::Keep
        };
    };
    // An owner that could not have a lease may live without one, or with one that it may not renew.
    let life = match life(owner) {
        Life::Gone | Life::Dead if pod.is_without_lease => Life::Unknown,
        life => life,
    };
    match life {
        Life::Alive => return Verdict::Keep,
        Life::Unknown if has_had_its_time => {
            return Verdict::Delete("its time is over and its owner is not known");
        }
        Life::Unknown => return Verdict::Keep,
        Life::Me if pod.incarnation.as_deref() == Some(around.incarnation) => {
            return Verdict::Delete("it was given up and is still there");
        }
        Life::Me | Life::Dead | Life::Gone => {}
    }
    // What the function changes of the template is not looked at: such a pod is better than none. It
    // is adopted, and serves until the next sweep has replaced it as one of our own.
    let template = around.template_version;
    let is_current = template.is_some_and(|version| pod.is_made_of(version));
    let is_fresh = pod.reclaim_after.is_none() || !around.is_over(reclaim_after, Duration::ZERO);
    let is_starting = !around.is_over(identity.created, around.start_timeout);
    match (&pod.progress, &pod.image_reference) {
        (Progress::Leaving, _) => Verdict::Keep,
        (Progress::Failed(_), _) => Verdict::Delete("it has failed and its owner is gone"),
        (Progress::Waiting(_), _) if is_starting && !pod.has_address => Verdict::Keep,
        (Progress::Waiting(_), _) if !is_starting => {
            Verdict::Delete("its owner is gone and it did not come up in time")
        }
        (_, Some(function)) if is_current && is_fresh => Verdict::Adopt {
            function: function.to_string(),
        },
        // As long as no template is known nothing can be said against it.
        (_, Some(_)) if around.template_version.is_none() && is_fresh => Verdict::Keep,
        _ => Verdict::Delete("its owner is gone and it is of no use"),
    }
}

/// Which services go with which pods. Those of Porch's own runner are not named
/// after their pod but after its label, and a second pod may have the same.
#[derive(Debug)]
pub(crate) struct Services<'a>(HashMap<&'a str, usize>);

impl<'a> Services<'a> {
    /// Counts once how many pods share each label.
    pub(crate) fn of(pods: &'a [Arc<SeenPod>]) -> Self {
        let mut shared = HashMap::new();
        for label in pods.iter().filter_map(|pod| pod.label.as_deref()) {
            *shared.entry(label).or_default() += 1;
        }
        Self(shared)
    }

    /// The service that goes with a pod.
    pub(crate) fn name<'p>(&self, pod: &'p SeenPod) -> &'p str {
        let label = pod.label.as_deref();
        let is_its_own = |label: &&str| self.0.get(label).is_none_or(|count| *count <= 1);
        label.filter(is_its_own).unwrap_or(&pod.identity.name)
    }
}

/// Whether a service whose pod is not there may go.
pub(crate) fn is_orphan(
    service: &SeenService,
    life: impl Fn(&str) -> Life,
    around: &Circumstances<'_>,
) -> bool {
    let identity = &service.identity;
    if identity.is_leaving {
        return false;
    }
    // Its pod may be about to come.
    let is_older_than = |time| around.is_over(identity.created, time);
    match identity.owner.as_deref().map(life) {
        Some(Life::Alive) => false,
        Some(Life::Me | Life::Dead | Life::Gone) => is_older_than(around.start_timeout),
        Some(Life::Unknown) | None => is_older_than(around.ttl),
    }
}

#[cfg(test)]
mod tests;
