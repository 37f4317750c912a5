//! Takes over pods of runners that are gone.

use std::{future::ready, time::Duration};

use futures::TryFutureExt as _;
use kube::api::Patch;
use serde_json::json;
use tokio::time::timeout;
use tonic::transport::Channel;

use super::{COMING, REACH, SHOWN, Sweeper};
use crate::pod::{
    calling::{Connection, Origin},
    marks::OWNER,
    owning::Usage,
    watching::{Progress, SeenPod},
};

/// Why a pod that is ours cannot be used.
enum Hindrance {
    Unreachable,
    NotShown,
}

impl Sweeper {
    /// Takes a pod over. If there are enough of its function, the pool has it
    /// deleted.
    pub(super) async fn adopt(&self, pod: &SeenPod, name: &str, function: &str) {
        let roster = &self.roster;
        let Some(usage) = roster.claim(name, function) else {
            return;
        };
        if !matches!(pod.progress, Progress::Waiting(_)) {
            let channel = self.reach(name, REACH);
            return self.make_ours(pod, function, usage, channel).await;
        }
        let Ok(channel) = self.reach(name, COMING).await else {
            tracing::info!(name, "not adopting a pod yet: it is still starting");
            return roster.forget(name);
        };
        self.make_ours(pod, function, usage, ready(Ok(channel)))
            .await;
    }

    async fn reach(&self, name: &str, patience: Duration) -> Result<Channel, ()> {
        let reached = timeout(patience, self.wrappers.reach(name)).await;
        reached.map_err(drop)?.map_err(drop)
    }

    /// The same for a pod that is up. Our name is written first: where two runners think that it
    /// is their turn, only the one that has the pod dials it.
    pub(super) async fn make_ours(
        &self,
        pod: &SeenPod,
        function: &str,
        usage: Usage,
        channel: impl Future<Output = Result<Channel, ()>>,
    ) {
        let (roster, name): (_, &str) = (&self.roster, &pod.identity.name);
        if let Err(trouble) = self.take_over(pod, name).await {
            tracing::info!(name, "not adopting a pod for now: {trouble}");
            return roster.forget(name);
        }
        // Until the watch has seen the change, the pod looks like another runner's.
        let is_ours =
            |pod: Option<&SeenPod>| pod.is_none_or(|pod| pod.identity.belongs_to(&self.us.owner));
        let is_seen = timeout(SHOWN, self.objects.watch.until(name, is_ours));
        let is_seen = is_seen.map_err(|_| Hindrance::NotShown);
        let channel = channel.map_err(|()| Hindrance::Unreachable);
        let channel = match futures::try_join!(is_seen, channel) {
            Ok((_, channel)) => channel,
            Err(Hindrance::Unreachable) => {
                tracing::info!(name, "deleting a pod: it cannot be adopted");
                roster.leave_to_sweeps(name);
                return self.remove_own(name).await;
            }
            // It is ours and well, and only the watch is behind.
            Err(Hindrance::NotShown) => {
                tracing::info!(
                    name,
                    "not adopting a pod yet: the watch does not show the change"
                );
                return roster.forget(name);
            }
        };
        tracing::info!(name, function, "adopted a pod");
        let digest = pod.image_digest.as_deref();
        let connection = Connection {
            name: name.into(),
            channel,
            usage,
            origin: Origin {
                digest: digest.and_then(|text| text.parse().ok()),
                start: None,
            },
        };
        let settings = self.functions.settings(function);
        self.pool.adopt(function, settings, connection);
    }

    /// Writes our name over its owner's. Of several runners only one succeeds: the
    /// owner has to be the one that was seen. Whatever else changes meanwhile, as
    /// a young pod's status does all the time, is no hindrance.
    async fn take_over(&self, pod: &SeenPod, name: &str) -> Result<(), String> {
        let path = format!("/metadata/annotations/{}", OWNER.replace('/', "~1"));
        let patch = json!([
            { "op": "test", "path": path, "value": pod.identity.owner },
            { "op": "replace", "path": path, "value": self.us.owner },
        ]);
        let patch = serde_json::from_value(patch).map_err(|error| error.to_string())?;
        self.patch(name, &Patch::Json(patch)).await
    }
}
