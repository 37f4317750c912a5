//! Pushes what is counted elsewhere, at intervals and once at the end.

mod message;

use std::{
    future::pending,
    time::{Duration, SystemTime},
};

use message::message;
use metrics::Metric;
use opentelemetry::KeyValue;
use tokio::time::{MissedTickBehavior, interval};

use crate::{outage::Collector, send::Payload};

/// Where metrics come from.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Everything that was counted so far.
    pub snapshot: fn() -> Vec<Metric>,
    /// Since when.
    pub since: SystemTime,
}

/// Where metrics go, and how often.
#[derive(Debug)]
pub(crate) struct Push {
    pub(crate) collectors: Vec<Collector>,
    pub(crate) to_console: bool,
    pub(crate) every: Duration,
    pub(crate) resource: Vec<KeyValue>,
    pub(crate) counts: Counts,
}

impl Push {
    /// Never ends.
    pub(crate) async fn keep(&self) {
        let mut ticks = interval(self.every);
        // A collector that is slow gets what there is by then, not what was missed.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Nothing was counted yet.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            self.once().await;
        }
    }

    /// What does not arrive is not lost: the next one has it, too.
    pub(crate) async fn once(&self) {
        let metrics = (self.counts.snapshot)();
        let message = message(
            &metrics,
            &self.resource,
            self.counts.since,
            SystemTime::now(),
        );
        if self.to_console {
            for metric in &metrics {
                println!("{metric:?}");
            }
        }
        for collector in &self.collectors {
            let _ = collector.send(Payload::Metrics(message.clone())).await;
        }
    }
}

/// The task that pushes, if there is anything to do.
pub(crate) async fn keep(push: Option<std::sync::Arc<Push>>) {
    match push {
        Some(push) => push.keep().await,
        None => pending().await,
    }
}
