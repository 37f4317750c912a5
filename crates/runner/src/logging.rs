//! Logs to standard error, as text or JSON.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::config::LogConfig;

/// Our own crates; everything else is a library.
const OURS: &[&str] = &["krm", "process", "registry", "runner", "service"];

/// The level from which on libraries are heard, too.
const LIBRARIES: u8 = 4;

pub(crate) fn init(config: LogConfig) {
    let level = service::log_level(config.level);
    let libraries = if config.level >= LIBRARIES {
        level
    } else {
        LevelFilter::ERROR
    };
    let filter = Targets::new()
        .with_default(libraries)
        .with_targets(OURS.iter().map(|name| (*name, level)));
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr);
    let registry = tracing_subscriber::registry().with(filter);
    if config.json {
        registry.with(layer.json().flatten_event(true)).init();
    } else {
        let colour = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry
            .with(layer.with_ansi(colour).with_target(false))
            .init();
    }
}
