//! The pool as it is counted from outside: how many pods there are, and why they go.

use metrics::pods::{self, Removal};

use super::{
    plan::Event,
    state::{Outlook, Phase, State},
};

/// Why pods are deleted that this event makes the plan delete.
pub(super) fn removal(event: &Event) -> Removal {
    match event {
        Event::Scan { .. } => Removal::Idle,
        Event::Failed { failure, .. } if failure.outlook == Outlook::Taken => Removal::Taken,
        Event::Failed { .. } => Removal::Failed,
        // Another function's call, or its warm-up, needs the place.
        Event::Request { .. } | Event::Warm { .. } => Removal::Room,
        _ => Removal::Replaced,
    }
}

/// Whether it is an everyday event of a call, which changes no pod by itself.
pub(super) fn is_traffic(event: &Event) -> bool {
    matches!(
        event,
        Event::Request { .. } | Event::Released { .. } | Event::GaveUp { .. }
    )
}

/// Tells how many pods are in which phase.
pub(super) fn pods(state: &State) {
    let mut counts = [0; 5];
    for (_, phase, _) in state.overview() {
        counts[counted_as(phase) as usize] += 1;
    }
    for phase in [
        pods::Phase::Starting,
        pods::Phase::Ready,
        pods::Phase::Retiring,
        pods::Phase::Draining,
        pods::Phase::Lost,
    ] {
        pods::PODS.of(phase).set(counts[phase as usize]);
    }
}

fn counted_as(phase: Phase) -> pods::Phase {
    match phase {
        Phase::Starting => pods::Phase::Starting,
        Phase::Ready => pods::Phase::Ready,
        Phase::Retiring => pods::Phase::Retiring,
        Phase::Draining => pods::Phase::Draining,
        Phase::Lost => pods::Phase::Lost,
    }
}
