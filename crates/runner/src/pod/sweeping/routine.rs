//! What the pod runtime does by itself: adoption and warm-up, then everything
//! that happens at intervals. One task, which ends with the runtime.

use std::{future::pending, pin::pin, sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{FusedFuture as _, join_all},
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use super::sweep::{Sweeper, TURN_OF_OTHERS};
use crate::{
    pod::{
        cluster::api::jittered,
        functions::{Functions, LOOK_INTERVAL, News},
    },
    tags::{Looked, TagSource},
};

/// How long the first sweep waits for the template and for objects: an API server that
/// answers at all answers sooner.
const TEMPLATE: Duration = Duration::from_secs(5);

/// How long a registry may take to list tags for a warm-up, and after which time it is
/// asked again.
const TAGS: Duration = Duration::from_secs(30);

/// How long callers wait for pods to be adopted. A pod that needs longer is adopted later,
/// and another one may have been started by then.
const ADOPTION: Duration = Duration::from_secs(5);

/// What happens by itself: adoption and warm-up, then everything at intervals.
pub(crate) struct Routine {
    pub(crate) sweeper: Sweeper,
    pub(crate) functions: Arc<Functions>,
    pub(crate) warm_up: bool,
    pub(crate) scan_interval: Duration,
    /// The sources of tags.
    pub(crate) tags: Box<dyn TagSource>,
    /// Another sweep is due.
    pub(crate) review: Notify,
}

impl Routine {
    pub(crate) async fn run(self, has_adopted: watch::Sender<bool>, ready: watch::Sender<bool>) {
        let mut listed = self.functions.look();
        if !self.warm_up {
            listed.clear();
        }
        let sweeper = &self.sweeper;
        sweeper.owners.begin().await;
        // Whether a pod can be adopted depends on the template.
        let template = sweeper.templates.get(Instant::now() + TEMPLATE);
        let _ = futures::join!(
            sweeper.objects.watch.synced(),
            sweeper.objects.service_watch.synced(),
            template,
            self.functions.until_objects_are_known(TEMPLATE),
        );
        listed.extend(self.functions.news().warm_up);
        let adoption = pin!(sweeper.sweep());
        let mut adoption = adoption.fuse();
        if timeout(ADOPTION, &mut adoption).await.is_err() {
            tracing::info!("some pods are slow to be adopted; calls no longer wait for that");
        }
        has_adopted.send_replace(true);
        let warmed = async {
            if !listed.is_empty() {
                join_all(listed.iter().map(|function| self.warm(function))).await;
            }
            ready.send_replace(true);
        };
        futures::join!(
            warmed,
            sweeper.owners.keep(),
            async {
                if !adoption.is_terminated() {
                    adoption.await;
                }
                self.sweep_at_intervals().await;
            },
            self.look_at_intervals(),
            self.resolve_ranges(),
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
        // Runners that were started together do not go on in step.
        scans.reset_after(jittered(self.scan_interval));
        let mut templates = self.sweeper.templates.clone();
        let mut is_left_to_others = true;
        loop {
            let turn_of_others = async {
                if is_left_to_others {
                    sleep(TURN_OF_OTHERS).await;
                } else {
                    pending::<()>().await;
                }
            };
            // Cancel-safe: what is not heard now is heard next.
            tokio::select! {
                _ = scans.tick() => {}
                // What failed with the old one may succeed now.
                () = templates.changed() => self.sweeper.pool.changed(None),
                () = self.sweeper.owners.departure() => {}
                // Pods may be outdated now.
                () = self.review.notified() => {}
                () = turn_of_others => {}
            }
            is_left_to_others = self.sweeper.sweep().await;
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
            self.hear_news();
        }
    }

    /// Finds out which tags warm-ups stand for that are ranges.
    async fn resolve_ranges(&self) {
        loop {
            let mut pause = LOOK_INTERVAL;
            for range in self.functions.ranges() {
                let deadline = Instant::now() + TAGS;
                let (repository, constraint) = (&range.repository, &range.constraint);
                match self.tags.look(repository, constraint, deadline).await {
                    Ok(Looked {
                        best: Some(tag), ..
                    }) => self.functions.resolve(&range, &tag),
                    // Nobody waits for it: the error of the next call says why.
                    _ => pause = jittered(TAGS),
                }
            }
            sleep(pause).await;
        }
    }

    /// What objects have changed: settings hold at once, also for functions that nobody
    /// calls, and what is new is warmed up.
    fn hear_news(&self) {
        let News {
            warm_up,
            is_changed,
        } = self.functions.news();
        let pool = &self.sweeper.pool;
        if is_changed {
            self.review.notify_one();
            let pods = self.sweeper.roster.all();
            for function in pods.iter().map(|(_, entry)| &entry.function) {
                pool.settled(function, self.functions.settings(function));
            }
        }
        for function in warm_up {
            pool.warm(&function, self.functions.settings(&function));
        }
    }
}
