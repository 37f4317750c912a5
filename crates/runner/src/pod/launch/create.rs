//! Creates the objects of a function: its pod and the service in front of it.

use std::sync::Once;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use registry::{Image, Reference};
use serde_json::json;
use tokio::time::Instant;

use super::PodLauncher;
use crate::{
    images::in_full,
    pod::{
        api::{ApiError, Step},
        blueprint::{self, Blueprint},
        seen::SeenService,
    },
    pool::{Failure, PodId},
};

/// Functions of these registries are public, and pulled without the secret: the
/// catalog's, up to Porch 1.5 and since.
const PUBLIC_REGISTRIES: [&str; 2] = ["gcr.io/kpt-fn/", "ghcr.io/kptdev/krm-functions-catalog/"];

impl PodLauncher {
    /// Creates service and pod at once: neither needs the other to be there. The
    /// service as the API server made it, if its answer came.
    pub(super) async fn create(
        &self,
        function: &str,
        reference: &Reference,
        image: &Image,
        name: &str,
        id: PodId,
        deadline: Instant,
    ) -> Result<Option<SeenService>, Failure> {
        self.roster.waits_for(id, "the runner's lease".into());
        self.owners.begun().await;
        self.roster.waits_for(id, "its template".into());
        let templates = self.templates.get(deadline).await;
        let templates = templates.map_err(Failure::lasting)?;
        let pull_secret = self.pull_secret_for(function, id, deadline).await?;
        let digest = image.digest.to_string();
        let overrides = self.functions.overrides(function);
        let overrides_version = self.functions.overrides_version(function);
        let ttl = self.functions.settings(function).ttl;
        let now = self.gate.headers.now_or_our_own();
        let blueprint = Blueprint {
            name,
            namespace: &self.namespace,
            image: function,
            digest: &digest,
            pinned: &pinned(reference, &digest),
            entrypoint: &image.command,
            max_message_size: self.max_message_size,
            pull_secret,
            owner: &self.owner,
            incarnation: &self.incarnation,
            has_lease: self.owners.has_lease(),
            reclaim_after: now + ttl.as_secs(),
            overrides: &overrides,
            overrides_version: overrides_version.as_deref(),
        };
        let service = blueprint::service(&templates, &blueprint);
        let mut pod = blueprint::pod(&templates, &blueprint);
        self.pin_wrapper(&mut pod, deadline).await?;
        self.post(id, &pod, &service).await
    }

    /// The name of the secret with which the node pulls the function, if it needs
    /// one; it is there then.
    async fn pull_secret_for(
        &self,
        function: &str,
        id: PodId,
        deadline: Instant,
    ) -> Result<Option<&str>, Failure> {
        let is_public = PUBLIC_REGISTRIES
            .iter()
            .any(|known| function.starts_with(known));
        match &self.pull_secret {
            Some(secret) if !is_public => {
                self.roster.waits_for(id, "the pull secret".into());
                let kept = self.gate.through(secret.keep(deadline)).await;
                kept.map_err(|error| Failure::passing(in_full(&error)))?;
                Ok(Some(&self.pull_secret_name))
            }
            _ => Ok(None),
        }
    }

    async fn post(
        &self,
        id: PodId,
        pod: &Pod,
        service: &Service,
    ) -> Result<Option<SeenService>, Failure> {
        let tell = |step: Step<'_>| {
            let what = match step {
                Step::Queued => "its turn at the API server".into(),
                Step::Asked => "the API server".into(),
                Step::Failed(error) => format!("the API server, which fails: {}", error.message),
            };
            self.roster.waits_for(id, what);
        };
        let parameters = PostParams::default();
        let (service, pod) = futures::join!(
            self.gate
                .create(|| self.services.create(&parameters, service), tell),
            self.gate
                .create(|| self.pods.create(&parameters, pod), tell),
        );
        let refused = |kind: &str, error: ApiError| {
            let message = error.message;
            Failure::lasting(format!(
                "the cluster refuses the function's {kind}: {message}"
            ))
        };
        // An answer may have been lost: what is there under this name is ours.
        let service = match service {
            Ok(service) => Some(SeenService::from(&service)),
            Err(error) if error.says_it_exists() => None,
            Err(error) => return Err(refused("service", error)),
        };
        match pod {
            Ok(pod) => self.give_service_its_owner(&pod).await,
            Err(error) if error.says_it_exists() => {}
            Err(error) => return Err(refused("pod", error)),
        }
        Ok(service)
    }

    /// The service goes with its pod then, also if nobody is there to delete it.
    async fn give_service_its_owner(&self, pod: &Pod) {
        static DENIED: Once = Once::new();
        let name = pod.name_any();
        let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.uid() });
        let patch = json!({ "metadata": { "ownerReferences": [owner] } });
        let patch = Patch::Merge(&patch);
        let parameters = PatchParams::default();
        let patched = self.services.patch(&name, &parameters, &patch);
        match self.gate.once(patched).await {
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
}

/// The image by its digest: what the node pulls is what was looked at.
fn pinned(reference: &Reference, digest: &str) -> String {
    let text = reference.to_string();
    let name = text.split('@').next().unwrap_or(&text);
    let name = match (name.rsplit_once(':'), reference.tag()) {
        (Some((name, _)), Some(_)) => name,
        _ => name,
    };
    format!("{name}@{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_pinned_to_the_digest_that_was_resolved() {
        for (image, name) in [
            ("ghcr.io/a/fn:v1", "ghcr.io/a/fn@sha256:1"),
            ("registry.local:5000/fn", "registry.local:5000/fn@sha256:1"),
            (
                "registry.local:5000/fn:V1",
                "registry.local:5000/fn@sha256:1",
            ),
            ("fn", "docker.io/library/fn@sha256:1"),
        ] {
            assert_eq!(pinned(&image.parse().unwrap(), "sha256:1"), name);
        }
    }
}
