//! What is kept of a pod or a service that the watches have seen: what is read of
//! it, and nothing else. The bulk of an object, its spec and who manages which of
//! its fields, is dropped at the door, and so a thousand pods of others cost little.

use std::net::IpAddr;

use k8s_openapi::{
    api::core::v1::{ContainerStatus, Pod, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::api::{DeleteParams, Preconditions};

use super::{
    blueprint::{
        IMAGE_DIGEST, IMAGE_LABEL, IMAGE_REFERENCE, INCARNATION, OWNER, RECLAIM_AFTER,
        SETTINGS_VERSION, TEMPLATE_VERSION, WITHOUT_LEASE,
    },
    launch::Phase,
    progress::{Progress, has_address, last_words, progress},
};

/// What every object of a function has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub uid: Option<String>,
    /// Another one with each change.
    pub version: Option<String>,
    /// Unix seconds, by the API server's clock.
    pub created: u64,
    /// Its deletion was asked for.
    pub is_leaving: bool,
    /// The runner that it belongs to.
    pub owner: Option<String>,
}

impl Identity {
    fn of(metadata: &ObjectMeta) -> Self {
        let created = metadata.creation_timestamp.as_ref();
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            created: created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or(0)),
            is_leaving: metadata.deletion_timestamp.is_some(),
            owner: annotation(metadata, OWNER),
        }
    }

    /// Whether it is not another runner's.
    pub fn belongs_to(&self, me: &str) -> bool {
        self.owner.as_deref().is_none_or(|owner| owner == me)
    }

    /// Deletes it only if it still is as it was seen.
    pub fn unchanged(&self) -> DeleteParams {
        deletion(&self.uid, &self.version)
    }

    /// Deletes it and no other object that has taken its name since.
    pub fn itself(&self) -> DeleteParams {
        deletion(&self.uid, &None)
    }
}

/// A deletion that is refused unless these hold.
pub fn deletion(uid: &Option<String>, version: &Option<String>) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: uid.clone(),
        resource_version: version.clone(),
    })
}

/// A pod of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPod {
    pub identity: Identity,
    /// By which its service selects it.
    pub label: Option<String>,
    pub template_version: Option<String>,
    /// What else it was made of, beside the template.
    pub settings_version: Option<String>,
    /// Unix seconds; `None` where there is none, or it cannot be read.
    pub reclaim_after: Option<u64>,
    pub image_reference: Option<String>,
    pub image_digest: Option<String>,
    /// Which life of its owner made it.
    pub incarnation: Option<String>,
    /// Its owner could not have a lease when it made it.
    pub is_without_lease: bool,
    pub progress: Progress,
    pub has_address: bool,
    /// The last part of its start that is over.
    pub passed: Option<Phase>,
    /// The container whose last words tell what went wrong, and whether they are
    /// those of the run before.
    pub last_words: Option<(String, bool)>,
    /// It ended for a reason that the cluster has, such as an eviction.
    pub was_ended: bool,
    /// How often its containers have been started again, and why the last ones had ended.
    pub restarts: i32,
    pub ended_before: Option<String>,
    /// Where it runs, once it was decided.
    pub node: Option<String>,
}

impl From<&Pod> for SeenPod {
    fn from(pod: &Pod) -> Self {
        let (metadata, status) = (&pod.metadata, pod.status.as_ref());
        let labels = metadata.labels.as_ref();
        Self {
            identity: Identity::of(metadata),
            label: labels.and_then(|labels| labels.get(IMAGE_LABEL)).cloned(),
            template_version: annotation(metadata, TEMPLATE_VERSION),
            settings_version: annotation(metadata, SETTINGS_VERSION),
            reclaim_after: annotation(metadata, RECLAIM_AFTER).and_then(|text| text.parse().ok()),
            image_reference: annotation(metadata, IMAGE_REFERENCE),
            image_digest: annotation(metadata, IMAGE_DIGEST),
            incarnation: annotation(metadata, INCARNATION),
            is_without_lease: annotation(metadata, WITHOUT_LEASE).is_some(),
            progress: progress(pod),
            has_address: status.is_some_and(has_address),
            passed: status.and_then(Phase::passed),
            last_words: last_words(pod).map(|(name, previous)| (name.to_owned(), previous)),
            was_ended: status.is_some_and(|status| status.reason.is_some()),
            restarts: containers(pod).map(|status| status.restart_count).sum(),
            ended_before: ended_before(pod),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        }
    }
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let statuses = pod.status.as_ref();
    statuses
        .into_iter()
        .flat_map(|status| status.container_statuses.iter().flatten())
}

/// How the containers ended that were started again, in the kubelet's words.
fn ended_before(pod: &Pod) -> Option<String> {
    let ended = containers(pod).filter_map(|status| {
        let ended = status.last_state.as_ref()?.terminated.as_ref()?;
        let reason = ended.reason.as_deref().unwrap_or("ended");
        let (name, code) = (&status.name, ended.exit_code);
        Some(format!(
            "container {name:?}: {reason}, exit code {code}; it was started again"
        ))
    });
    let ended: Vec<String> = ended.collect();
    (!ended.is_empty()).then(|| ended.join(", "))
}

/// The service in front of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenService {
    pub identity: Identity,
    /// What its name stands for in the cluster's DNS. `None` where the name stands
    /// for its pods themselves.
    pub address: Option<IpAddr>,
}

impl From<&Service> for SeenService {
    fn from(service: &Service) -> Self {
        let spec = service.spec.as_ref();
        let address = spec.and_then(|spec| spec.cluster_ip.as_deref());
        Self {
            identity: Identity::of(&service.metadata),
            address: address.and_then(|address| address.parse().ok()),
        }
    }
}

fn annotation(metadata: &ObjectMeta, key: &str) -> Option<String> {
    metadata.annotations.as_ref()?.get(key).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_kept_without_its_bulk() {
        let environment: Vec<_> = (0..500)
            .map(|number| json!({ "name": format!("A_{number}"), "value": "x".repeat(80) }))
            .collect();
        let pod = json!({
            "metadata": {
                "name": "a".repeat(63), "uid": "u".repeat(36), "resourceVersion": "123456789",
                "labels": { IMAGE_LABEL: "a".repeat(63) },
                "annotations": { OWNER: "o".repeat(40), TEMPLATE_VERSION: "v".repeat(16),
                    IMAGE_REFERENCE: format!("ghcr.io/a/fn:{}", "t".repeat(100)),
                    IMAGE_DIGEST: format!("sha256:{}", "0".repeat(64)),
                    "somebody.else/s": "y".repeat(10_000) },
                "managedFields": [{ "manager": "kubelet", "fieldsV1": { "f:a": "z".repeat(5_000) } }],
            },
            "spec": { "containers": [{ "name": "function", "env": environment }] },
            "status": { "phase": "Running", "podIP": "10.0.0.1" },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let seen = SeenPod::from(&pod);
        assert_eq!(seen.progress, Progress::Addressed);
        let (name, size) = (&seen.identity.name, format!("{seen:?}").len());
        assert_eq!((name.len(), size_of::<SeenPod>() < 512), (63, true));
        assert!(size < 1_200, "{size} bytes with the names of its fields");
    }

    #[test]
    fn a_services_address_is_what_its_name_stands_for() {
        let address = |address: serde_json::Value| {
            let service = json!({ "spec": { "clusterIP": address } });
            let service: Service = serde_json::from_value(service).unwrap();
            SeenService::from(&service).address
        };
        assert_eq!(address(json!("10.0.0.7")), "10.0.0.7".parse().ok());
        assert_eq!(address(json!("fd00::7")), "fd00::7".parse().ok());
        for none in [json!("None"), json!(""), json!(null)] {
            assert_eq!(address(none), None);
        }
    }
}
