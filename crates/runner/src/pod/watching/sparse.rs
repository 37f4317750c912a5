//! Objects as the watches read them. Only the fields that are kept of an object are made into values; the
//! rest of its text, most of all spec and managedFields, is passed over. A page of a list then needs little
//! more memory than what is kept of it, and no holes stay between the kept texts.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::{
    api::core::v1::{Pod, PodSpec, PodStatus, Service, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use kube::Resource;
use serde::{Deserialize, Deserializer};

use super::watch::Watched;

/// An object without the fields that nobody reads.
#[derive(Debug, Clone)]
pub(super) struct Sparse<K>(pub(super) K);

impl<'de, K: Watched> Deserialize<'de> for Sparse<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::Fields::deserialize(deserializer).map(|fields| Self(fields.into()))
    }
}

impl<K: Watched> Resource for Sparse<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// What is read of a pod.
#[derive(Debug, Deserialize)]
pub(crate) struct PodFields {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<PodSpecFields>,
    status: Option<PodStatus>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpecFields {
    node_name: Option<String>,
}

impl From<PodFields> for Pod {
    fn from(fields: PodFields) -> Self {
        Self {
            metadata: fields.metadata.into(),
            spec: fields.spec.map(|spec| PodSpec {
                node_name: spec.node_name,
                ..PodSpec::default()
            }),
            status: fields.status,
        }
    }
}

/// What is read of a service.
#[derive(Debug, Deserialize)]
pub(crate) struct ServiceFields {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<ServiceSpecFields>,
}

#[derive(Debug, Deserialize)]
struct ServiceSpecFields {
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<String>,
}

impl From<ServiceFields> for Service {
    fn from(fields: ServiceFields) -> Self {
        Self {
            metadata: fields.metadata.into(),
            spec: fields.spec.map(|spec| ServiceSpec {
                cluster_ip: spec.cluster_ip,
                ..ServiceSpec::default()
            }),
            status: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl From<Metadata> for ObjectMeta {
    fn from(read: Metadata) -> Self {
        Self {
            name: read.name,
            uid: read.uid,
            resource_version: read.resource_version,
            creation_timestamp: read.creation_timestamp,
            deletion_timestamp: read.deletion_timestamp,
            labels: read.labels,
            annotations: read.annotations,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn whole_and_sparse<K: Watched>(object: &Value) -> (K, K) {
        let Sparse(sparse) = serde_json::from_value(object.clone()).unwrap();
        (serde_json::from_value(object.clone()).unwrap(), sparse)
    }

    fn metadata() -> Value {
        json!({
            "name": "a", "uid": "6f1c2a34-0b9d-4e21-9c57-00a1b2c3d4e5", "resourceVersion": "7",
            "creationTimestamp": "2026-11-18T10:00:00Z", "deletionTimestamp": "2026-11-18T11:00:00Z",
            "labels": { crate::pod::marks::IMAGE_LABEL: "a" },
            "annotations": { crate::pod::marks::OWNER: "me", crate::pod::marks::RECLAIM_AFTER: "9" },
            "managedFields": [{ "manager": "kubelet", "fieldsV1": { "f:a": {} } }],
        })
    }

    #[test]
    fn what_is_kept_of_a_pod_is_the_same_whether_all_of_it_was_read_or_not() {
        for status in [
            json!(null),
            json!({ "phase": "Failed", "reason": "Evicted", "message": "low on disk" }),
            json!({ "phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [{
                "name": "function", "image": "", "imageID": "", "ready": true, "restartCount": 2,
                "lastState": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } },
            }]}),
        ] {
            let pod = json!({
                "metadata": metadata(), "status": status,
                "spec": { "nodeName": "n", "containers": [{ "name": "function" }] },
            });
            let (whole, sparse) = whole_and_sparse::<Pod>(&pod);
            assert_eq!(whole.seen(), sparse.seen());
            assert_eq!(sparse.metadata.managed_fields, None);
            assert!(sparse.spec.unwrap().containers.is_empty());
        }
    }

    #[test]
    fn what_is_kept_of_a_service_is_the_same_whether_all_of_it_was_read_or_not() {
        let spec = json!({ "clusterIP": "10.0.0.7", "ports": [{ "port": 9446 }] });
        let service = json!({ "metadata": metadata(), "spec": spec });
        let (whole, sparse) = whole_and_sparse::<Service>(&service);
        assert_eq!(whole.seen(), sparse.seen());
        assert_eq!(sparse.spec.unwrap().ports, None);
    }

    #[test]
    fn an_object_without_anything_is_read_too() {
        let (whole, sparse) = whole_and_sparse::<Pod>(&json!({}));
        assert_eq!(whole.seen(), sparse.seen());
        let (whole, sparse) = whole_and_sparse::<Service>(&json!({ "metadata": {} }));
        assert_eq!(whole.seen(), sparse.seen());
    }
}
