//! The pods that were started last, and what their starts spent their time on.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{failures::unix, recent::Recent};

const KEPT: usize = 12;

static STARTS: Recent<StartView, KEPT> = Recent::new();

/// A pod's start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StartView {
    /// Unix seconds.
    pub(crate) at: u64,
    pub(crate) function: String,
    /// Milliseconds, in all.
    pub(crate) took_ms: u64,
    /// What its parts took, in milliseconds.
    pub(crate) phases: Vec<(String, u64)>,
    /// Why it came to nothing, if it did.
    pub(crate) failure: Option<String>,
}

/// A start has ended.
pub(crate) fn keep(
    function: &str,
    phases: impl Iterator<Item = (&'static str, Duration)>,
    failure: Option<&str>,
) {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let phases: Vec<_> = phases
        .map(|(name, time)| (name.to_owned(), millis(time)))
        .collect();
    STARTS.keep(StartView {
        at: unix(SystemTime::now()),
        function: function.to_owned(),
        took_ms: phases.iter().map(|(_, took)| took).sum(),
        phases,
        failure: failure.map(|reason| reason.chars().take(400).collect()),
    });
}

/// The newest first.
pub(super) fn all() -> Vec<StartView> {
    STARTS.all()
}
