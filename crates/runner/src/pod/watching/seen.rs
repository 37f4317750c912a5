//! What is kept of a pod or a service that the watches have seen: the fields that the
//! runner reads, and nothing else. The bulk of an object, its spec and managedFields, is
//! dropped at once, so that a thousand pods of other runners need little memory.

use std::net::IpAddr;

use k8s_openapi::{
    api::core::v1::{ContainerStatus, Pod, PodStatus, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::api::{DeleteParams, Preconditions};

use super::compact::Compact;
use super::phase::StartPhase;
use super::progress::{Progress, has_address, last_words, progress};
use super::text::Text;
use crate::pod::marks::{
    IMAGE_DIGEST, IMAGE_LABEL, IMAGE_REFERENCE, INCARNATION, OWNER, RECLAIM_AFTER,
    SETTINGS_VERSION, TEMPLATE_VERSION, WITHOUT_LEASE,
};

/// Exit codes by which the kubelet reports SIGKILL and SIGTERM.
const KILLED: i32 = 128 + 9;
const TERMINATED: i32 = 128 + 15;

/// What every object of a function has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: Text,
    pub(crate) uid: Option<Compact>,
    /// Another one with each change.
    pub(crate) version: Option<Compact>,
    /// Unix seconds, by the API server's clock.
    pub(crate) created: u64,
    /// Its deletion was asked for.
    pub(crate) is_leaving: bool,
    /// The runner that it belongs to.
    pub(crate) owner: Option<Text>,
}

impl Identity {
    fn of(metadata: &ObjectMeta) -> Self {
        let created = metadata.creation_timestamp.as_ref();
        Self {
            name: metadata.name.as_deref().unwrap_or_default().into(),
            uid: metadata.uid.as_deref().map(Into::into),
            version: metadata.resource_version.as_deref().map(Into::into),
            created: created.map_or(0, |time| u64::try_from(time.0.as_second()).unwrap_or(0)),
            is_leaving: metadata.deletion_timestamp.is_some(),
            owner: annotation(metadata, OWNER),
        }
    }

    /// Whether it is not another runner's.
    pub(crate) fn belongs_to(&self, me: &str) -> bool {
        self.owner.as_deref().is_none_or(|owner| owner == me)
    }

    /// Deletes it only if it still is as it was seen.
    pub(crate) fn unchanged(&self) -> DeleteParams {
        let (uid, version) = (self.uid.as_ref(), self.version.as_ref());
        deletion(
            uid.map(ToString::to_string),
            version.map(ToString::to_string),
        )
    }

    /// Deletes it and no other object that has taken its name since.
    pub(crate) fn itself(&self) -> DeleteParams {
        deletion(self.uid.as_ref().map(ToString::to_string), None)
    }
}

/// A deletion that is refused unless these hold.
pub(crate) fn deletion(uid: Option<String>, version: Option<String>) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid,
        resource_version: version,
    })
}

/// A pod of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenPod {
    pub(crate) identity: Identity,
    /// By which its service selects it.
    pub(crate) label: Option<Text>,
    pub(crate) template_version: Option<Text>,
    /// What else it was made of, beside the template.
    pub(crate) settings_version: Option<Text>,
    /// Unix seconds; `None` where there is none, or it cannot be read.
    pub(crate) reclaim_after: Option<u64>,
    pub(crate) image_reference: Option<Text>,
    pub(crate) image_digest: Option<Text>,
    /// Which life of its owner made it.
    pub(crate) incarnation: Option<Text>,
    /// Its owner could not have a lease when it made it.
    pub(crate) is_without_lease: bool,
    pub(crate) progress: Progress,
    pub(crate) has_address: bool,
    /// The last part of its start that is over.
    pub(crate) passed: Option<StartPhase>,
    /// The container whose last log lines say what went wrong, and whether they are
    /// those of the run before.
    pub(crate) last_words: Option<(Text, bool)>,
    /// It ended for a reason that the cluster has, such as an eviction, or somebody has killed a
    /// container of it: not by its own fault.
    pub(crate) was_ended: bool,
    /// How often its containers have been started again, and why the last ones had ended.
    pub(crate) restarts: i32,
    pub(crate) ended_before: Option<Box<str>>,
    /// Where it runs, once it was decided.
    pub(crate) node: Option<Text>,
}

impl SeenPod {
    /// Whether it was made of this version of the template.
    pub(crate) fn is_made_of(&self, template: &str) -> bool {
        self.template_version.as_deref() == Some(template)
    }
}

impl From<&Pod> for SeenPod {
    fn from(pod: &Pod) -> Self {
        let (metadata, status) = (&pod.metadata, pod.status.as_ref());
        let identity = Identity::of(metadata);
        let labels = metadata.labels.as_ref();
        let label = labels.and_then(|labels| labels.get(IMAGE_LABEL));
        // Our own have their name there.
        let label = label.map(|label| match &identity.name {
            name if **name == **label => name.clone(),
            _ => Text::shared(label),
        });
        let spec = pod.spec.as_ref();
        Self {
            identity,
            label,
            template_version: annotation(metadata, TEMPLATE_VERSION),
            settings_version: annotation(metadata, SETTINGS_VERSION),
            reclaim_after: raw(metadata, RECLAIM_AFTER).and_then(|text| text.parse().ok()),
            image_reference: annotation(metadata, IMAGE_REFERENCE),
            image_digest: annotation(metadata, IMAGE_DIGEST),
            incarnation: annotation(metadata, INCARNATION),
            is_without_lease: raw(metadata, WITHOUT_LEASE).is_some(),
            progress: progress(pod),
            has_address: status.is_some_and(has_address),
            passed: status.and_then(StartPhase::passed),
            last_words: last_words(pod).map(|(name, previous)| (Text::shared(name), previous)),
            was_ended: status.is_some_and(|status| status.reason.is_some() || was_killed(status)),
            restarts: containers(pod).map(|status| status.restart_count).sum(),
            ended_before: ended_before(pod),
            node: spec.and_then(|spec| spec.node_name.as_deref().map(Text::shared)),
        }
    }
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let statuses = pod.status.as_ref();
    statuses
        .into_iter()
        .flat_map(|status| status.container_statuses.iter().flatten())
}

/// Whether a container was ended by a signal that it does not send itself. A container that ran
/// out of memory has another reason.
fn was_killed(status: &PodStatus) -> bool {
    let containers = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    let mut ended = containers.flatten().filter_map(|container| {
        let state = container.state.as_ref()?;
        state.terminated.as_ref()
    });
    ended.any(|ended| {
        let is_signal = matches!(ended.exit_code, KILLED | TERMINATED);
        is_signal && ended.reason.as_deref() == Some("Error")
    })
}

/// How the containers ended that were started again, in the kubelet's words.
fn ended_before(pod: &Pod) -> Option<Box<str>> {
    let ended = containers(pod).filter_map(|status| {
        let ended = status.last_state.as_ref()?.terminated.as_ref()?;
        let reason = ended.reason.as_deref().unwrap_or("ended");
        let (name, code) = (&status.name, ended.exit_code);
        Some(format!(
            "container {name:?}: {reason}, exit code {code}; it was started again"
        ))
    });
    let ended: Vec<String> = ended.collect();
    (!ended.is_empty()).then(|| ended.join(", ").into())
}

/// The service in front of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenService {
    pub(crate) identity: Identity,
    /// What its name stands for in the cluster's DNS. `None` where the name stands
    /// for its pods themselves.
    pub(crate) address: Option<IpAddr>,
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

/// What many objects say.
fn annotation(metadata: &ObjectMeta, key: &str) -> Option<Text> {
    raw(metadata, key).map(Text::shared)
}

fn raw<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
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
        assert_eq!((name.len(), size_of::<SeenPod>() <= 352), (63, true));
        assert!(size < 1_200, "{size} bytes with the names of its fields");
    }

    #[test]
    fn a_container_that_somebody_killed_is_not_to_blame_for_its_end() {
        let was_ended = |reason: &str, code: i32| {
            let ended = json!({ "terminated": { "reason": reason, "exitCode": code } });
            let pod = json!({ "status": { "phase": "Pending", "containerStatuses": [{
                "name": "function", "image": "", "imageID": "", "ready": false,
                "restartCount": 0, "state": ended,
            }]}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            SeenPod::from(&pod).was_ended
        };
        assert!(was_ended("Error", 137));
        assert!(was_ended("Error", 143));
        assert!(!was_ended("OOMKilled", 137), "it needs more memory");
        assert!(!was_ended("Error", 1), "it would end again");
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
