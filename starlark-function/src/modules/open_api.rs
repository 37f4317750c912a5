//! `ctx.open_api`: the schemas of Kubernetes, as far as they are here.
//!
//! The original has all of them, megabytes of text. Here is only which kinds
//! there are, and that each is an object; a script that asks for more gets an
//! error that says so.

use crate::lang::{Fallible, Object, Value};

/// Where in the schemas a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Schemas {
    Root,
    Definitions,
    Definition,
}

pub(crate) fn open_api() -> Value {
    Value::object(Schemas::Root)
}

impl Object for Schemas {
    fn type_name(&self) -> &'static str {
        "dict"
    }

    fn show(&self) -> String {
        "{...}".into()
    }

    fn lookup(&self, key: &Value) -> Option<Fallible<Option<Value>>> {
        let name = String::from_utf8_lossy(key.as_text().unwrap_or(b"")).into_owned();
        Some(match (self, name.as_str()) {
            (Self::Root, "definitions") => Ok(Some(Value::object(Self::Definitions))),
            (Self::Definitions, name) if is_kind(name) => Ok(Some(Value::object(Self::Definition))),
            (Self::Definition, "type") => Ok(Some(Value::text("object"))),
            (_, name) => Err(format!(
                "ctx.open_api: the bundled starlark knows only which kinds Kubernetes has, not \
                 {name:?}; run the catalog's image in a pod"
            )),
        })
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// Whether a definition is a kind of Kubernetes' own.
fn is_kind(name: &str) -> bool {
    let package = name.strip_prefix("io.k8s.api.");
    let Some((package, kind)) = package.and_then(|name| name.rsplit_once('.')) else {
        return false;
    };
    let known = KINDS.iter().filter(|(group, _)| *group == package);
    let mut kinds = known.flat_map(|(_, kinds)| kinds.split(' '));
    kinds.any(|known| known == kind)
}

const KINDS: &[(&str, &str)] = &[
    (
        "core.v1",
        "ConfigMap Container Endpoints Event LimitRange Namespace Node PersistentVolume \
         PersistentVolumeClaim Pod PodSpec PodTemplate PodTemplateSpec ReplicationController \
         ResourceQuota Secret Service ServiceAccount ServiceSpec Volume",
    ),
    (
        "apps.v1",
        "ControllerRevision DaemonSet Deployment DeploymentSpec ReplicaSet StatefulSet",
    ),
    ("batch.v1", "CronJob Job JobSpec"),
    ("autoscaling.v1", "HorizontalPodAutoscaler"),
    ("networking.v1", "Ingress IngressClass NetworkPolicy"),
    ("policy.v1", "PodDisruptionBudget"),
    ("rbac.v1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
    ("storage.v1", "StorageClass VolumeAttachment"),
    ("scheduling.v1", "PriorityClass"),
];
