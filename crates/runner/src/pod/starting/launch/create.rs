//! Creates the objects of a function: its pod and the service in front of it.

use causes::in_full;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::PostParams;
use registry::{Image, Reference};
use tokio::time::Instant;

use super::{PodLauncher, ServiceOwners};
use crate::{
    pod::{
        cluster::api::{ApiError, Step},
        objects::Objects,
        starting::blueprint::{self, Blueprint},
        watching::SeenService,
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
        let templates = self.materials.templates.get(deadline).await;
        let templates = templates.map_err(Failure::lasting)?;
        let pull_secret = self.pull_secret_for(function, id, deadline).await?;
        let digest = image.digest.to_string();
        let overrides = self.materials.functions.overrides(function);
        let overrides_version = self.materials.functions.overrides_version(function);
        let ttl = self.materials.functions.settings(function).ttl;
        let now = self.objects.gate.headers.now_or_our_own();
        let blueprint = Blueprint {
            name,
            namespace: &self.objects.namespace,
            image: function,
            digest: &digest,
            // What the node pulls is what was looked at.
            pinned: &reference.pinned(&image.digest).to_string(),
            entrypoint: &image.command,
            max_message_size: self.materials.max_message_size,
            pull_secret,
            owner: &self.us.owner,
            incarnation: &self.us.incarnation,
            has_lease: self.owners.has_lease(),
            reclaim_after: now + ttl.as_secs(),
            overrides: &overrides,
            overrides_version: overrides_version.as_deref(),
        };
        let service = blueprint::service(&templates, &blueprint);
        let mut pod = blueprint::pod(&templates, &blueprint);
        self.pin_wrapper(&mut pod, deadline).await?;
        let tell = |step: Step<'_>| {
            let what = match step {
                Step::Queued => "its turn at the API server".into(),
                Step::Asked => "the API server".into(),
                Step::Failed(error) => format!("the API server, which fails: {}", error.message),
            };
            self.roster.waits_for(id, what);
        };
        post(&self.objects, &self.service_owners, &pod, &service, tell).await
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
        match &self.materials.pull_secret {
            Some(secret) if !is_public => {
                self.roster.waits_for(id, "the pull secret".into());
                let kept = secret.keep(deadline).await;
                kept.map_err(|error| Failure::passing(in_full(&error)))?;
                Ok(Some(secret.name()))
            }
            _ => Ok(None),
        }
    }
}

async fn post(
    objects: &Objects,
    service_owners: &ServiceOwners,
    pod: &Pod,
    service: &Service,
    tell: impl Fn(Step<'_>),
) -> Result<Option<SeenService>, Failure> {
    let (gate, parameters) = (&objects.gate, PostParams::default());
    let (service, pod) = futures::join!(
        gate.create(|| objects.services.create(&parameters, service), &tell),
        gate.create(|| objects.pods.create(&parameters, pod), &tell),
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
        Ok(pod) => service_owners.hand_over(&pod),
        Err(error) if error.says_it_exists() => {}
        Err(error) => return Err(refused("pod", error)),
    }
    Ok(service)
}

#[cfg(test)]
mod tests;
