//! What the pod runtime does by itself: adoption and warm-up, then everything
//! that happens at intervals. One task, which ends with the runtime.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    functions::{Functions, LOOK_INTERVAL},
    sweep::Sweeper,
};

/// What happens by itself: adoption and warm-up, then everything at intervals.
pub(super) struct Life {
    pub(super) sweeper: Sweeper,
    pub(super) functions: Arc<Functions>,
    pub(super) warm_up: bool,
    pub(super) scan_interval: Duration,
}

impl Life {
    pub(super) async fn run(self, has_adopted: watch::Sender<bool>, ready: watch::Sender<bool>) {
        let listed = self.functions.look();
        let sweeper = &self.sweeper;
        sweeper.owners.begin().await;
        futures::join!(sweeper.launcher.watch.synced(), sweeper.services.synced());
        sweeper.sweep().await;
        has_adopted.send_replace(true);
        let warmed = async {
            if self.warm_up {
                join_all(listed.iter().map(|function| self.warm(function))).await;
            }
            ready.send_replace(true);
        };
        futures::join!(
            warmed,
            sweeper.owners.keep(),
            self.sweep_at_intervals(),
            self.look_at_intervals(),
        );
    }

    /// Being given a pod means that there is one; it is given back at once.
    async fn warm(&self, function: &str) {
        let pool = &self.sweeper.pool;
        if let Err(error) = pool
            .acquire(function, self.functions.settings(function))
            .await
        {
            tracing::warn!(function, ?error, "cannot warm up");
        }
    }

    async fn sweep_at_intervals(&self) {
        let mut scans = interval(self.scan_interval);
        scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
        scans.reset();
        let mut templates = self.sweeper.launcher.templates.clone();
        loop {
            // Cancel-safe: a tick or a change that is not heard now is heard next.
            tokio::select! {
                _ = scans.tick() => {}
                () = templates.changed() => {}
            }
            self.sweeper.sweep().await;
        }
    }

    async fn look_at_intervals(&self) {
        loop {
            sleep(LOOK_INTERVAL).await;
            let functions = Arc::clone(&self.functions);
            // Files may be on a slow disk.
            let new = tokio::task::spawn_blocking(move || functions.look()).await;
            for function in new.unwrap_or_default() {
                if self.warm_up {
                    let settings = self.functions.settings(&function);
                    self.sweeper.pool.warm(&function, settings);
                }
            }
        }
    }
}
