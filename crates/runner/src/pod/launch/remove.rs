//! Removes the objects of a function, and only those that are meant: what is known of
//! a pod may be old, and another runner may have adopted it a moment ago. So a
//! deletion names the version that was looked at. If the API server has another one,
//! that is looked at in turn; what keeps changing is left to the next sweep.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use tokio::time::timeout;

use super::PodLauncher;
use crate::pod::{
    api::{ApiError, Gate},
    seen::{SeenPod, SeenService},
    watch::Watch,
};

/// How long a deletion is tried. What is left then, the next sweep collects.
const DELETION: Duration = Duration::from_secs(10);

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

impl PodLauncher {
    /// Removes a pod of our own and its service, which has the same name. Not if
    /// another runner has taken it over: that happens to a runner that was cut off
    /// from the cluster for so long that it was taken for dead.
    pub async fn remove(&self, name: &str) {
        let is_ours = |pod: &SeenPod| pod.identity.belongs_to(&self.owner);
        self.removal().both(name, name, is_ours).await;
    }

    pub fn removal(&self) -> Removal<'_> {
        Removal {
            pods: &self.pods,
            services: &self.services,
            gate: &self.gate,
            watch: &self.watch,
            service_watch: &self.service_watch,
        }
    }
}

/// What it takes to remove something.
#[derive(Debug)]
pub struct Removal<'a> {
    pub(super) pods: &'a Api<Pod>,
    pub(super) services: &'a Api<Service>,
    pub(super) gate: &'a Gate,
    pub(super) watch: &'a Watch<Pod>,
    pub(super) service_watch: &'a Watch<Service>,
}

impl Removal<'_> {
    /// Removes a pod and its service as long as the pod is to go.
    pub async fn both(&self, name: &str, service: &str, is_to_go: impl Fn(&SeenPod) -> bool) {
        let removal = async {
            match self.pod(name, is_to_go).await? {
                Removed::Yes => self.service(service).await,
                // Whoever has the pod now needs its service.
                Removed::Kept => {
                    tracing::info!(name, "a pod stays: it has changed since it was looked at");
                    Ok(())
                }
            }
        };
        match timeout(DELETION, removal).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    name,
                    "cannot delete a pod or its service: {}",
                    error.message
                );
            }
            Err(_) => tracing::warn!(
                name,
                "a pod was not deleted in time; the next scan tries again"
            ),
        }
    }

    async fn pod(
        &self,
        name: &str,
        is_to_go: impl Fn(&SeenPod) -> bool,
    ) -> Result<Removed, ApiError> {
        let mut seen = self.watch.get(name);
        for _ in 0..LOOKS {
            let pod = match seen.take() {
                Some(pod) => SeenPod::clone(&pod),
                None => match self.gate.persist(|| self.pods.get(name)).await {
                    Ok(pod) => SeenPod::from(&pod),
                    Err(error) if error.says_it_is_gone() => return Ok(Removed::Yes),
                    Err(error) => return Err(error),
                },
            };
            if !is_to_go(&pod) {
                return Ok(Removed::Kept);
            }
            let parameters = pod.identity.unchanged();
            let deletion = self.gate.persist(|| self.pods.delete(name, &parameters));
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

    /// The service of a pod that is gone or going. Its name is its own, so only
    /// somebody else's service of the same name has to be told apart.
    pub async fn service(&self, name: &str) -> Result<(), ApiError> {
        let service = match self.service_watch.get(name) {
            Some(service) => SeenService::clone(&service),
            None => match self.gate.persist(|| self.services.get(name)).await {
                Ok(service) => SeenService::from(&service),
                Err(error) if error.says_it_is_gone() => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let parameters = service.identity.itself();
        let deletion = self
            .gate
            .persist(|| self.services.delete(name, &parameters));
        match deletion.await {
            Err(error) if !error.says_it_is_gone() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}
