//! The wrapper server's image, where the image policy requires its signature: pods then
//! use the digest that was verified, whatever name their template has for it.

use k8s_openapi::api::core::v1::Pod;
use registry::Reference;
use tokio::time::Instant;

use super::{
    PodLauncher,
    explain::{not_admitted, unknown_image},
};
use crate::{function_config::overrides::wrapper_container, pool::Failure};

impl PodLauncher {
    /// Verifies the image of the pod's wrapper, and pins it.
    pub(super) async fn pin_wrapper(
        &self,
        pod: &mut Pod,
        deadline: Instant,
    ) -> Result<(), Failure> {
        if !self.images.guard.verifies_wrapper() {
            return Ok(());
        }
        let container = pod.spec.as_mut().and_then(wrapper_container);
        let image = container.and_then(|container| container.image.as_mut());
        let Some(image) = image else {
            return Err(Failure::denied(
                "the image policy wants the wrapper server verified, but the pod template has no \
                 init container that brings it",
            ));
        };
        let reference: Reference = image.parse().map_err(|why| {
            Failure::lasting(format!(
                "the wrapper server's image {image:?} is not valid: {why}"
            ))
        })?;
        let found = self.images.metadata.get(&reference, deadline).await;
        let found = found.map_err(|error| unknown_image(&error))?;
        let digest = &found.digest;
        let admitted = self
            .images
            .guard
            .admit_wrapper(&reference, digest, deadline)
            .await;
        admitted.map_err(not_admitted)?;
        *image = reference.pinned(digest).to_string();
        Ok(())
    }
}
