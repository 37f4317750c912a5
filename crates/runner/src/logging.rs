//! Logs to standard error, as text or JSON.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::config::LogConfig;

/// Our own crates; everything else is a library.
const OURS: &[&str] = &[
    "krm",
    "process",
    "registry",
    "runner",
    "service",
    "telemetry",
];

/// The level at which libraries are heard, too.
const LIBRARIES: u8 = 4;

/// This library logs every failed request as an error, without saying which one. We log
/// what failed, once while it is tried again.
const REQUESTS: &str = "kube_client";

pub(crate) fn init(config: LogConfig) {
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr);
    let registry = tracing_subscriber::registry().with(filter(config.level));
    if config.json {
        registry.with(layer.json().flatten_event(true)).init();
    } else {
        let colour = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry
            .with(layer.with_ansi(colour).with_target(false))
            .init();
    }
    service::log_panics();
}

/// Which parts log at which level.
fn filter(verbosity: u8) -> Targets {
    let level = service::log_level(verbosity);
    let (libraries, requests) = if verbosity >= LIBRARIES {
        (level, level)
    } else {
        (LevelFilter::ERROR, LevelFilter::OFF)
    };
    Targets::new()
        .with_default(libraries)
        .with_target(REQUESTS, requests)
        .with_targets(OURS.iter().map(|name| (*name, level)))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn libraries_are_heard_of_errors_or_on_request_and_failed_requests_are_told_by_us() {
        let usual = filter(2);
        assert!(usual.would_enable("runner::pod", &Level::INFO));
        assert!(usual.would_enable("hyper", &Level::ERROR));
        assert!(!usual.would_enable("hyper", &Level::WARN));
        assert!(!usual.would_enable("kube_client::client", &Level::ERROR));
        let all = filter(LIBRARIES);
        assert!(all.would_enable("kube_client::client", &Level::ERROR));
        assert!(all.would_enable("hyper", &Level::WARN));
    }
}
