//! Collects services that have no pod.

use std::collections::HashSet;

use parking_lot::MutexGuard;

use super::{Look, Memory, Sweeper};
use crate::pod::{sweeping::judge::is_orphan, watching::SeenService};

impl Memory {
    /// Services that could not be deleted, which is reported once for each of them.
    pub(super) fn stuck(&self) -> MutexGuard<'_, HashSet<String>> {
        self.stuck.lock()
    }
}

impl Sweeper {
    /// Removes a service whose pod is gone or never came.
    pub(super) async fn collect(&self, service: &SeenService, look: &Look<'_>) {
        let name: &str = &service.identity.name;
        let is_needed = || self.objects.watch.get(name).is_some() || self.roster.knows(name);
        if !is_orphan(service, |owner| look.life(owner), &look.around)
            || is_needed()
            || !look.is_my_turn(&service.identity, &self.us.owner)
        {
            return;
        }
        // The watch of pods may be behind that of services.
        match self
            .objects
            .gate
            .once(self.objects.pods.get_opt(name))
            .await
        {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return,
        }
        let is_new = !self.memory.stuck().contains(name);
        if is_new {
            tracing::info!(name, "deleting a service: it has no pod");
        }
        match self.objects.remove_orphan(service).await {
            Ok(()) => {
                self.memory.stuck().remove(name);
            }
            Err(error) if is_new => {
                let reason = error.message;
                tracing::warn!(
                    name,
                    "cannot delete a service that has no pod, every scan tries again: {reason}"
                );
                self.memory.stuck().insert(name.to_owned());
            }
            Err(error) => tracing::debug!(name, "cannot delete a service: {}", error.message),
        }
    }
}
