//! Counts starts, and keeps them for the status page.

use std::time::Duration;

use metrics::pods::{self, StartFailure, StartPhase};

use crate::{
    pod::watching::Phase,
    pool::{Failure, Outlook},
    status::starts,
};

/// A start has ended, after these phases; `is_late`: because its time was up.
pub(super) fn ended(
    function: &str,
    spent: &[(Phase, Duration)],
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
        pods::START_PHASES.of(label(*phase)).took(*time);
    }
}

/// Why a start failed, by where it was and whether it would fail again.
fn reason(phase: Option<Phase>, outlook: Outlook, is_late: bool) -> StartFailure {
    match (phase, outlook) {
        _ if is_late => StartFailure::Timeout,
        (None | Some(Phase::Metadata), _) => StartFailure::Image,
        (Some(Phase::Create), _) => StartFailure::Create,
        (_, Outlook::Lasting | Outlook::Denied) => StartFailure::Lasting,
        (_, Outlook::Passing) => StartFailure::Passing,
        (_, Outlook::Taken) => StartFailure::Taken,
    }
}

fn label(phase: Phase) -> StartPhase {
    match phase {
        Phase::Metadata => StartPhase::Metadata,
        Phase::Create => StartPhase::Create,
        Phase::Schedule => StartPhase::Schedule,
        Phase::Sandbox => StartPhase::Sandbox,
        Phase::Init => StartPhase::Init,
        Phase::Container => StartPhase::Container,
        Phase::Wrapper => StartPhase::Wrapper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_after_where_the_start_was() {
        use Outlook::{Lasting, Passing, Taken};
        for (phase, outlook, is_late, expected) in [
            (Some(Phase::Metadata), Lasting, false, StartFailure::Image),
            (Some(Phase::Create), Passing, false, StartFailure::Create),
            (
                Some(Phase::Container),
                Lasting,
                false,
                StartFailure::Lasting,
            ),
            (Some(Phase::Schedule), Taken, false, StartFailure::Taken),
            (Some(Phase::Schedule), Passing, true, StartFailure::Timeout),
        ] {
            assert_eq!(reason(phase, outlook, is_late), expected);
        }
    }
}
