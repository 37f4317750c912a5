//! Gives services their pod as owner: a service then goes with its pod, also if nobody is there to delete it.
//!
//! Nobody waits for that. A start that did would wait for its turn at the API server once more, behind all
//! other starts, while its pod is up. So a start only hands it over here, to a task that lives as long as
//! the runner. If the start fails, service and pod are removed, and there is nothing left to patch. A
//! service that never gets its owner is collected by a sweep once its pod is gone.

use std::{
    future::Future,
    sync::{Arc, Once},
};

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::pod::objects::Objects;

/// Patches at once: few, because others wait for the answers to their requests.
const AT_ONCE: usize = 2;

/// Services that may wait for their owner: more than a runner starts at once. Where patches hang, the rest
/// is left to sweeps.
const WAITING: usize = 4096;

/// A service and its pod have the same name.
#[derive(Debug)]
struct Owner {
    name: String,
    uid: Option<String>,
}

/// Where starts hand over. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ServiceOwners(mpsc::Sender<Owner>);

impl ServiceOwners {
    /// The place to hand over, and the task that does the work. The task ends when nobody can hand over
    /// any more.
    pub(crate) fn new(objects: Arc<Objects>) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let work = async move {
            stream::poll_fn(|context| receiver.poll_recv(context))
                .for_each_concurrent(AT_ONCE, |owner| give(&objects, owner))
                .await;
        };
        (Self(sender), work)
    }

    /// A pod has been created, and owns its service from now on.
    pub(super) fn hand_over(&self, pod: &Pod) {
        let (name, uid) = (pod.name_any(), pod.uid());
        if let Err(error) = self.0.try_send(Owner { name, uid }) {
            tracing::debug!("a service does not get its owner: {error}");
        }
    }
}

async fn give(objects: &Objects, Owner { name, uid }: Owner) {
    static DENIED: Once = Once::new();
    let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid });
    let patch = json!({ "metadata": { "ownerReferences": [owner] } });
    let patch = Patch::Merge(&patch);
    let parameters = PatchParams::default();
    let patched = objects.services.patch(&name, &parameters, &patch);
    match objects.gate.once(patched).await {
        Err(error) if error.is_denied() => DENIED.call_once(|| {
            tracing::warn!(
                "services cannot be patched, so those of pods that somebody else deletes go \
                 with the next scan; to change that, allow \"patch\" of services"
            );
        }),
        Err(error) => {
            tracing::debug!(name, "cannot give a service its owner: {}", error.message);
        }
        Ok(_) => {}
    }
}
