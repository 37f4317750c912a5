//! Counts starts, and keeps them for the status page.

use std::time::Duration;

use metrics::pods::{self, StartFailure};

use crate::{
    pod::watching::StartPhase,
    pool::{Failure, Outlook},
    status::starts,
};

/// A start has ended, after these phases; `is_late`: because its time was up.
pub(super) fn ended(
    function: &str,
    spent: &[(StartPhase, Duration)],
    failure: Option<&Failure>,
    is_late: bool,
) {
    let named = spent.iter().map(|(phase, time)| (phase.name(), *time));
    starts::keep(function, named, failure.map(|failure| &*failure.reason));
    if let Some(failure) = failure {
        let phase = spent.last().map(|(phase, _)| *phase);
        let reason = reason(phase, failure.outlook, is_late);
        return pods::START_FAILURES.of(reason).increment();
    }
    pods::STARTS.took(spent.iter().map(|(_, time)| *time).sum());
    for (phase, time) in spent {
        pods::START_PHASES.of(counted_as(*phase)).took(*time);
    }
}

/// Why a start failed, by where it was and whether it would fail again.
fn reason(phase: Option<StartPhase>, outlook: Outlook, is_late: bool) -> StartFailure {
    match (phase, outlook) {
        _ if is_late => StartFailure::Timeout,
        (None | Some(StartPhase::Metadata), _) => StartFailure::Image,
        (Some(StartPhase::Create), _) => StartFailure::Create,
        (_, Outlook::Lasting | Outlook::Denied) => StartFailure::Lasting,
        (_, Outlook::Passing) => StartFailure::Passing,
        (_, Outlook::Taken) => StartFailure::Taken,
    }
}

fn counted_as(phase: StartPhase) -> pods::StartPhase {
    match phase {
        StartPhase::Metadata => pods::StartPhase::Metadata,
        StartPhase::Create => pods::StartPhase::Create,
        StartPhase::Schedule => pods::StartPhase::Schedule,
        StartPhase::Sandbox => pods::StartPhase::Sandbox,
        StartPhase::Init => pods::StartPhase::Init,
        StartPhase::Container => pods::StartPhase::Container,
        StartPhase::Wrapper => pods::StartPhase::Wrapper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_after_where_the_start_was() {
        use Outlook::{Lasting, Passing, Taken};
        for (phase, outlook, is_late, expected) in [
            (
                Some(StartPhase::Metadata),
                Lasting,
                false,
                StartFailure::Image,
            ),
            (
                Some(StartPhase::Create),
                Passing,
                false,
                StartFailure::Create,
            ),
            (
                Some(StartPhase::Container),
                Lasting,
                false,
                StartFailure::Lasting,
            ),
            (
                Some(StartPhase::Schedule),
                Taken,
                false,
                StartFailure::Taken,
            ),
            (
                Some(StartPhase::Schedule),
                Passing,
                true,
                StartFailure::Timeout,
            ),
        ] {
            assert_eq!(reason(phase, outlook, is_late), expected);
        }
    }
}
