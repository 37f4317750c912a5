//! Which fields name objects of which kinds: kustomize's table, by which names
//! in references follow the objects that they name.

use crate::fieldspec::FieldSpec;

/// Objects of a kind, and the fields that refer to them.
pub(crate) struct References {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) fields: Vec<FieldSpec>,
}

/// Where pods are described: version, kind, and the path to the pod's spec.
const PODS: [(&str, &str, &str); 8] = [
    ("v1", "Pod", "spec"),
    ("", "PodTemplate", "template/spec"),
    ("", "Deployment", "spec/template/spec"),
    ("", "ReplicaSet", "spec/template/spec"),
    ("", "DaemonSet", "spec/template/spec"),
    ("", "StatefulSet", "spec/template/spec"),
    ("", "Job", "spec/template/spec"),
    ("", "CronJob", "spec/jobTemplate/spec/template/spec"),
];

/// Where accounts, claims and priorities are named: not in all kinds of pods.
const SOME_PODS: [(&str, &str); 7] = [
    ("Pod", "spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
];

fn field(group: &str, version: &str, kind: &str, path: &str) -> FieldSpec {
    FieldSpec::new(group, version, kind, path, false)
}

fn in_pods(paths: &[&str]) -> Vec<FieldSpec> {
    let of_pod = |(version, kind, spec): &(&str, &str, &str)| {
        let fields = paths
            .iter()
            .map(|path| field("", version, kind, &format!("{spec}/{path}")));
        fields.collect::<Vec<_>>()
    };
    PODS.iter().flat_map(of_pod).collect()
}

fn in_some_pods(path: &str) -> Vec<FieldSpec> {
    let of_pod = |(kind, spec): &(&str, &str)| field("", "", kind, &format!("{spec}/{path}"));
    SOME_PODS.iter().map(of_pod).collect()
}

/// Fields of a kind, whatever its group and version.
fn fields(places: &[(&str, &str)]) -> Vec<FieldSpec> {
    places
        .iter()
        .map(|(kind, path)| field("", "", kind, path))
        .collect()
}

pub(crate) fn table() -> Vec<References> {
    let to = |group, version, kind, fields| References {
        group,
        version,
        kind,
        fields,
    };
    let scaled = || fields(&[("HorizontalPodAutoscaler", "spec/scaleTargetRef/name")]);
    let rbac = "rbac.authorization.k8s.io";
    let admission = "admissionregistration.k8s.io";
    let mut config_maps = in_pods(&[
        "volumes/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "initContainers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
        "initContainers/envFrom/configMapRef/name",
        "volumes/projected/sources/configMap/name",
    ]);
    config_maps.extend(fields(&[
        ("Node", "spec/configSource/configMap"),
        ("Role", "rules/resourceNames"),
        ("ClusterRole", "rules/resourceNames"),
        (
            "Ingress",
            "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap",
        ),
    ]));
    let mut secrets = in_pods(&[
        "volumes/secret/secretName",
        "containers/env/valueFrom/secretKeyRef/name",
        "initContainers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
        "initContainers/envFrom/secretRef/name",
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    ]);
    secrets.extend(fields(&[
        ("Ingress", "spec/tls/secretName"),
        (
            "Ingress",
            "metadata/annotations/ingress.kubernetes.io\\/auth-secret",
        ),
        (
            "Ingress",
            "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret",
        ),
        (
            "Ingress",
            "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret",
        ),
        ("ServiceAccount", "imagePullSecrets/name"),
        ("StorageClass", "parameters/secretName"),
        ("StorageClass", "parameters/adminSecretName"),
        ("StorageClass", "parameters/userSecretName"),
        ("StorageClass", "parameters/secretRef"),
        ("Role", "rules/resourceNames"),
        ("ClusterRole", "rules/resourceNames"),
        ("PersistentVolume", "spec/azureFile/secretName"),
    ]));
    secrets.push(field(
        "serving.knative.dev",
        "v1",
        "Service",
        "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
    ));
    let mut services = fields(&[
        ("Ingress", "spec/rules/http/paths/backend/serviceName"),
        ("Ingress", "spec/backend/serviceName"),
        ("Ingress", "spec/rules/http/paths/backend/service/name"),
        ("Ingress", "spec/defaultBackend/service/name"),
    ]);
    services.extend([
        field("apps", "", "StatefulSet", "spec/serviceName"),
        field(
            "apiregistration.k8s.io",
            "",
            "APIService",
            "spec/service/name",
        ),
        field(
            admission,
            "",
            "ValidatingWebhookConfiguration",
            "webhooks/clientConfig/service",
        ),
        field(
            admission,
            "",
            "MutatingWebhookConfiguration",
            "webhooks/clientConfig/service",
        ),
    ]);
    let mut accounts = vec![
        field(rbac, "", "RoleBinding", "subjects"),
        field(rbac, "", "ClusterRoleBinding", "subjects"),
    ];
    accounts.extend(in_some_pods("serviceAccountName"));
    let role = |kind: &str| field(rbac, "", kind, "roleRef/name");
    vec![
        to("", "", "Deployment", scaled()),
        to("", "", "ReplicationController", scaled()),
        to("", "", "ReplicaSet", scaled()),
        to("", "", "StatefulSet", scaled()),
        to("", "v1", "ConfigMap", config_maps),
        to("", "v1", "Secret", secrets),
        to("", "v1", "Service", services),
        to(rbac, "", "Role", vec![role("RoleBinding")]),
        to(
            rbac,
            "",
            "ClusterRole",
            vec![role("RoleBinding"), role("ClusterRoleBinding")],
        ),
        to("", "v1", "ServiceAccount", accounts),
        to(
            "",
            "v1",
            "PersistentVolumeClaim",
            in_some_pods("volumes/persistentVolumeClaim/claimName"),
        ),
        to(
            "",
            "v1",
            "PersistentVolume",
            fields(&[
                ("PersistentVolumeClaim", "spec/volumeName"),
                ("ClusterRole", "rules/resourceNames"),
            ]),
        ),
        to(
            "storage.k8s.io",
            "v1",
            "StorageClass",
            fields(&[
                ("PersistentVolume", "spec/storageClassName"),
                ("PersistentVolumeClaim", "spec/storageClassName"),
                (
                    "StatefulSet",
                    "spec/volumeClaimTemplates/spec/storageClassName",
                ),
            ]),
        ),
        to(
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            in_some_pods("priorityClassName"),
        ),
    ]
}
