//! The pods and services of functions, and their removal. What this runner knows of a pod
//! may be out of date: another runner may have adopted the pod a moment ago. So a deletion
//! names the version of the pod that was looked at. If the API server has another version,
//! that one is looked at in turn; a pod that keeps changing is left to the next sweep.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use tokio::sync::Semaphore;

use crate::pod::{
    cluster::api::{ApiError, Gate},
    watching::{SeenPod, SeenService, Watch},
};

/// How long a request for a deletion is tried, from its first turn at the gate on. What is left then, the next sweep
/// collects.
const DELETION: Duration = Duration::from_secs(60);

/// Removals at once. There may be hundreds, when many idle pods are outdated, and nobody waits for them; a start that
/// somebody waits for is to have its turn at the gate soon all the same.
const REMOVALS_AT_ONCE: usize = 8;

/// Versions of a pod that are looked at: the one of the watch, and the newest.
const LOOKS: usize = 2;

/// What came of a pod that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Removed {
    /// It is on its way out, or was not there.
    Yes,
    /// It is no longer what was to be removed.
    Kept,
}

/// The pods and services of the namespace: seen by the watches, changed through the gate.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) namespace: String,
    pub(crate) pods: Api<Pod>,
    pub(crate) services: Api<Service>,
    pub(crate) gate: Gate,
    pub(crate) watch: Watch<Pod>,
    pub(crate) service_watch: Watch<Service>,
    pub(crate) removals: Removals,
}

/// The removals that are under way, and their bound.
#[derive(Debug)]
pub(crate) struct Removals(Semaphore);

impl Default for Removals {
    fn default() -> Self {
        Self(Semaphore::new(REMOVALS_AT_ONCE))
    }
}

impl Objects {
    /// Removes a pod of `owner` and its service, which has the same name. Not if another
    /// runner has taken it over: that happens to a runner that was cut off from the
    /// cluster for so long that it was taken for dead.
    pub(crate) async fn remove_of(&self, owner: &str, name: &str) {
        let is_theirs = |pod: &SeenPod| pod.identity.belongs_to(owner);
        self.remove(name, name, is_theirs).await;
    }

    /// Removes a pod and its service as long as the pod is to go.
    pub(crate) async fn remove(
        &self,
        name: &str,
        service: &str,
        is_to_go: impl Fn(&SeenPod) -> bool,
    ) {
        let _turn = self.removals.0.acquire().await;
        let removed = match self.remove_pod(name, is_to_go).await {
            Ok(Removed::Yes) => self.remove_service(service).await,
            // The pod's new owner needs its service.
            Ok(Removed::Kept) => {
                tracing::info!(name, "a pod stays: it has changed since it was looked at");
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            let reason = error.message;
            tracing::warn!(
                name,
                "cannot delete a pod or its service, the next scan tries again: {reason}"
            );
        }
    }

    async fn remove_pod(
        &self,
        name: &str,
        is_to_go: impl Fn(&SeenPod) -> bool,
    ) -> Result<Removed, ApiError> {
        let mut seen = self.watch.get(name);
        for _ in 0..LOOKS {
            let pod = match seen.take() {
                Some(pod) => SeenPod::clone(&pod),
                None => match self
                    .gate
                    .persist_for(DELETION, || self.pods.get(name))
                    .await
                {
                    Ok(pod) => SeenPod::from(&pod),
                    Err(error) if error.says_it_is_gone() => return Ok(Removed::Yes),
                    Err(error) => return Err(error),
                },
            };
            if !is_to_go(&pod) {
                return Ok(Removed::Kept);
            }
            let parameters = pod.identity.unchanged();
            let deletion = self
                .gate
                .persist_for(DELETION, || self.pods.delete(name, &parameters));
            match deletion.await {
                Err(error) if error.is_conflict() => {}
                Err(error) if !error.says_it_is_gone() => return Err(error),
                _ => return Ok(Removed::Yes),
            }
        }
        tracing::debug!(
            name,
            "a pod changes all the time; the next scan looks again"
        );
        Ok(Removed::Kept)
    }

    /// Removes a service that has no pod: one attempt, because the next sweep is another, and a sweep
    /// must not wait for a webhook that lets no service go.
    pub(crate) async fn remove_orphan(&self, service: &SeenService) -> Result<(), ApiError> {
        let identity = &service.identity;
        let parameters = identity.itself();
        let deletion = self.services.delete(&identity.name, &parameters);
        match self.gate.once(deletion).await {
            Err(error) if !error.says_it_is_gone() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    /// The service of a pod that is gone or going. Its name is its own, so only
    /// somebody else's service of the same name has to be recognised.
    async fn remove_service(&self, name: &str) -> Result<(), ApiError> {
        let service = match self.service_watch.get(name) {
            Some(service) => SeenService::clone(&service),
            None => match self
                .gate
                .persist_for(DELETION, || self.services.get(name))
                .await
            {
                Ok(service) => SeenService::from(&service),
                Err(error) if error.says_it_is_gone() => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let parameters = service.identity.itself();
        let deletion = self
            .gate
            .persist_for(DELETION, || self.services.delete(name, &parameters));
        match deletion.await {
            Err(error) if !error.says_it_is_gone() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
