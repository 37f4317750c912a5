//! Brings up pods on a real cluster, and removes them.
//!
//! ```text
//! image metadata ─► template ─► pull secret ─► service and pod ─► address ─► connection
//!                                              └ the service gets its pod as owner, beside
//! ```
//! Every step is bounded by the start timeout, and while it lasts the roster
//! knows what the pod waits for. Requests that may succeed later are repeated.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Once},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, LogParams, Patch, PatchParams, PostParams},
};
use registry::{Client, Image, Metadata, MetadataError, Reference};
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    api::{self, ApiError},
    blueprint::{self, Blueprint, WRAPPER_PORT},
    connect::{Connection, connect},
    current_template::CurrentTemplate,
    functions::Functions,
    judge::owner,
    names::pod_name,
    owners::Owners,
    progress::last_words,
    pull_secret::PullSecret,
    roster::Roster,
    unix_now,
    watch::{Watch, Watched as _},
};
use crate::pool::{Failure, Launcher, PodId};

/// How long a deletion is tried. What is left then, the next sweep collects.
const DELETION: Duration = Duration::from_secs(30);

/// How long a container's last words may take: the caller waits for the reason.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LAST_LINES: i64 = 10;

/// Functions of this registry are public, and pulled without the secret.
const DEFAULT_REGISTRY: &str = "gcr.io/kpt-fn/";

#[derive(Debug)]
pub struct PodLauncher {
    pub pods: Api<Pod>,
    pub services: Api<Service>,
    pub namespace: String,
    pub cluster_domain: String,
    pub start_timeout: Duration,
    pub max_message_size: usize,
    pub owner: String,
    pub owners: Arc<Owners>,
    pub watch: Watch<Pod>,
    pub roster: Arc<Roster>,
    pub metadata: Metadata<Client>,
    pub templates: CurrentTemplate,
    pub functions: Arc<Functions>,
    pub pull_secret: Option<PullSecret>,
    pub pull_secret_name: String,
}

impl Launcher for PodLauncher {
    type Connection = Connection;

    async fn start(&self, function: &str, pod: PodId) -> Result<Connection, Failure> {
        let deadline = Instant::now() + self.start_timeout;
        self.roster.begin(pod, function);
        match timeout_at(deadline, self.bring_up(function, pod, deadline)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let waits_for = self.roster.starting(function);
                let waits_for = waits_for.as_deref().unwrap_or("its start");
                let seconds = self.start_timeout.as_secs_f32();
                Err(Failure::passing(format!(
                    "no pod within {seconds} s (--pod-start-timeout): it waited for {waits_for}"
                )))
            }
        }
    }

    fn adopted(&self, pod: PodId, connection: &Connection) {
        self.roster.adopted(&connection.name, pod);
    }

    async fn delete(&self, pod: PodId) {
        let Some(name) = self.roster.leave(pod) else {
            return;
        };
        if self.is_ours(&name) {
            self.remove(&name).await;
        } else {
            self.roster.forget(&name);
        }
    }
}

impl PodLauncher {
    async fn bring_up(
        &self,
        function: &str,
        id: PodId,
        deadline: Instant,
    ) -> Result<Connection, Failure> {
        let reference: Reference = function
            .parse()
            .map_err(|error| Failure::lasting(format!("invalid image reference: {error}")))?;
        let image = self.metadata.get(&reference, deadline).await;
        let image = image.map_err(|error| unknown_image(&error))?;
        let name = pod_name(function, &image.digest.to_string(), &unique());
        self.roster.name(id, &name);
        self.create(function, &reference, &image, &name, id, deadline)
            .await?;
        self.roster.waits_for(id, "its containers".into());
        let tell = |what| self.roster.waits_for(id, what);
        if let Err(reason) = self.watch.addressed(&name, tell).await {
            return Err(self.failure(&name, reason).await);
        }
        self.roster
            .waits_for(id, "the wrapper server's answer".into());
        let address = self.address(&name);
        // Cancel-safe: whichever is first, the other is of no use any more.
        let channel = tokio::select! {
            channel = connect(&address) => channel,
            reason = self.watch.lost(&name) => return Err(self.failure(&name, reason).await),
        };
        let channel = channel.map_err(|error| Failure::passing(error.to_string()))?;
        let last_use = self.roster.ready(id);
        // From here on losses are reported to the pool; one before that is ours.
        if let Some(reason) = self.watch.loss(&name) {
            return Err(self.failure(&name, reason).await);
        }
        Ok(Connection {
            name,
            channel,
            last_use,
        })
    }

    /// Creates service and pod at once: neither needs the other to be there.
    async fn create(
        &self,
        function: &str,
        reference: &Reference,
        image: &Image,
        name: &str,
        id: PodId,
        deadline: Instant,
    ) -> Result<(), Failure> {
        self.roster.waits_for(id, "the runner's lease".into());
        self.owners.begun().await;
        self.roster.waits_for(id, "its template".into());
        let templates = self.templates.get(deadline).await;
        let templates = templates.map_err(Failure::lasting)?;
        let pull_secret = match &self.pull_secret {
            Some(secret) if !function.starts_with(DEFAULT_REGISTRY) => {
                self.roster.waits_for(id, "the pull secret".into());
                let kept = secret.keep(deadline).await;
                kept.map_err(|error| Failure::passing(in_full(&error)))?;
                Some(self.pull_secret_name.as_str())
            }
            _ => None,
        };
        let digest = image.digest.to_string();
        let resources = self.functions.resources(function);
        let ttl = self.functions.settings(function).ttl;
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
            reclaim_after: unix_now() + ttl.as_secs(),
            resources: resources.as_ref(),
        };
        let service = blueprint::service(&templates, &blueprint);
        let pod = blueprint::pod(&templates, &blueprint);
        self.roster.waits_for(id, "the API server".into());
        let tell = |error: &ApiError| {
            let what = format!("the API server, which fails: {}", error.message);
            self.roster.waits_for(id, what);
        };
        let parameters = PostParams::default();
        let (service, pod) = futures::join!(
            api::persist(|| self.services.create(&parameters, &service), tell),
            api::persist(|| self.pods.create(&parameters, &pod), tell),
        );
        let refused = |kind: &str, error: ApiError| {
            let message = error.message;
            Failure::lasting(format!(
                "the cluster refuses the function's {kind}: {message}"
            ))
        };
        // An answer may have been lost: what is there under this name is ours.
        let is_there = |error: &ApiError| error.code == Some(409);
        match service {
            Err(error) if !is_there(&error) => return Err(refused("service", error)),
            _ => {}
        }
        match pod {
            Ok(pod) => self.give_service_its_owner(&pod).await,
            Err(error) if is_there(&error) => {}
            Err(error) => return Err(refused("pod", error)),
        }
        Ok(())
    }

    /// The service goes with its pod then, also if nobody is there to delete it.
    async fn give_service_its_owner(&self, pod: &Pod) {
        static DENIED: Once = Once::new();
        let name = pod.name_any();
        let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.uid() });
        let patch = json!({ "metadata": { "ownerReferences": [owner] } });
        let patch = Patch::Merge(&patch);
        let parameters = PatchParams::default();
        let patched = api::once(self.services.patch(&name, &parameters, &patch)).await;
        match patched {
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

    /// Why a pod failed, with the last lines of the container at fault.
    async fn failure(&self, name: &str, reason: String) -> Failure {
        let log = match self.watch.get(name) {
            Some(pod) => self.last_words(&pod).await.unwrap_or_default(),
            None => String::new(),
        };
        // It was asked for like this: another attempt would end the same way.
        let is_gone = self.watch.get(name).is_none_or(|pod| pod.loss().is_none());
        Failure {
            reason: reason.into(),
            log: log.into(),
            is_lasting: !is_gone,
        }
    }

    async fn last_words(&self, pod: &Pod) -> Option<String> {
        static DENIED: Once = Once::new();
        let (container, previous) = last_words(pod)?;
        let parameters = LogParams {
            container: Some(container.to_owned()),
            previous,
            tail_lines: Some(LAST_LINES),
            ..LogParams::default()
        };
        let name = pod.name_any();
        let logs = api::once(self.pods.logs(&name, &parameters));
        match timeout(LAST_WORDS, logs).await.ok()? {
            Ok(log) => Some(log.trim_end().to_owned()),
            Err(error) => {
                if error.is_denied() {
                    DENIED.call_once(|| {
                        tracing::warn!(
                            "logs of pods cannot be read, so callers do not hear a failed pod's \
                             last words; to change that, allow \"get\" of pods/log"
                        );
                    });
                }
                None
            }
        }
    }

    /// Whether nobody else has taken the pod over. That happens to a runner that
    /// was cut off from the cluster for so long that it was taken for dead.
    pub fn is_ours(&self, name: &str) -> bool {
        let pod = self.watch.get(name);
        let owner = pod.as_ref().and_then(|pod| owner(&pod.metadata));
        owner.is_none_or(|owner| owner == self.owner)
    }

    /// Connects to a pod that is there already.
    pub async fn reach(&self, name: &str) -> Result<tonic::transport::Channel, String> {
        let address = self.address(name);
        // Cancel-safe: whichever is first, the other is of no use any more.
        tokio::select! {
            channel = connect(&address) => channel.map_err(|error| error.to_string()),
            reason = self.watch.lost(name) => Err(reason),
        }
    }

    /// Removes a pod and its service.
    pub async fn remove(&self, name: &str) {
        let parameters = DeleteParams::default();
        let quiet = |_: &ApiError| {};
        let deletion = async {
            futures::join!(
                api::persist(|| self.pods.delete(name, &parameters), quiet),
                api::persist(|| self.services.delete(name, &parameters), quiet),
            )
        };
        let Ok((pod, service)) = timeout(DELETION, deletion).await else {
            tracing::warn!(
                name,
                "a pod was not deleted in time; the next scan tries again"
            );
            return;
        };
        let outcomes = [("pod", pod.err()), ("service", service.err())];
        for (kind, error) in outcomes {
            if let Some(error) = error.filter(|error| error.code != Some(404)) {
                tracing::warn!(name, "cannot delete a {kind}: {}", error.message);
            }
        }
    }

    fn address(&self, name: &str) -> String {
        let Self {
            namespace,
            cluster_domain,
            ..
        } = self;
        format!("{name}.{namespace}.svc.{cluster_domain}:{WRAPPER_PORT}")
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

fn unknown_image(error: &MetadataError) -> Failure {
    let reason = in_full(error);
    match error {
        MetadataError::Fetch(fetch) if fetch.is_definite() => Failure::lasting(reason),
        _ => Failure::passing(reason),
    }
}

/// An error with its causes.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Tells pods of the same image apart: five letters and digits by chance.
pub(super) fn unique() -> String {
    const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut number = RandomState::new().hash_one(std::time::SystemTime::now());
    let mut text = String::new();
    for _ in 0..5 {
        let digit = number % DIGITS.len() as u64;
        text.push(char::from(DIGITS[usize::try_from(digit).unwrap_or(0)]));
        number /= DIGITS.len() as u64;
    }
    text
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
