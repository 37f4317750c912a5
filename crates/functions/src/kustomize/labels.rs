//! The fields that hold labels, to kustomize.

use crate::fieldspec::FieldSpec;

const TEMPLATE: &str = "spec/template/metadata/labels";
const SELECTOR: &str = "spec/selector/matchLabels";

pub(super) fn specs() -> Vec<FieldSpec> {
    let created = [
        ("", "", "", "metadata/labels"),
        ("", "v1", "Service", "spec/selector"),
        ("", "v1", "ReplicationController", "spec/selector"),
        ("", "v1", "ReplicationController", TEMPLATE),
        ("", "", "Deployment", SELECTOR),
        ("", "", "Deployment", TEMPLATE),
        ("", "", "ReplicaSet", SELECTOR),
        ("", "", "ReplicaSet", TEMPLATE),
        ("", "", "DaemonSet", SELECTOR),
        ("", "", "DaemonSet", TEMPLATE),
        ("apps", "", "StatefulSet", SELECTOR),
        ("apps", "", "StatefulSet", TEMPLATE),
        (
            "apps",
            "",
            "StatefulSet",
            "spec/volumeClaimTemplates[]/metadata/labels",
        ),
        ("batch", "", "Job", TEMPLATE),
        ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels"),
        (
            "batch",
            "",
            "CronJob",
            "spec/jobTemplate/spec/template/metadata/labels",
        ),
    ];
    let existing = [
        ("batch", "Job", SELECTOR),
        (
            "batch",
            "CronJob",
            "spec/jobTemplate/spec/selector/matchLabels",
        ),
        ("policy", "PodDisruptionBudget", SELECTOR),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            "spec/podSelector/matchLabels",
        ),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            "spec/ingress/from/podSelector/matchLabels",
        ),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            "spec/egress/to/podSelector/matchLabels",
        ),
    ];
    let created = created
        .into_iter()
        .map(|(group, version, kind, path)| FieldSpec::new(group, version, kind, path, true));
    let existing = existing
        .into_iter()
        .map(|(group, kind, path)| FieldSpec::new(group, "", kind, path, false));
    let in_pods = ["Deployment", "StatefulSet"].into_iter().flat_map(in_pods);
    created.chain(in_pods).chain(existing).collect()
}

/// Selectors in the pods of a workload.
fn in_pods(kind: &'static str) -> impl Iterator<Item = FieldSpec> {
    let terms = [
        "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
        "requiredDuringSchedulingIgnoredDuringExecution",
    ];
    let affinities = ["podAffinity", "podAntiAffinity"].into_iter();
    let places = affinities
        .flat_map(move |affinity| terms.map(|term| format!("affinity/{affinity}/{term}")))
        .chain(["topologySpreadConstraints".to_owned()]);
    places.map(move |place| {
        let path = format!("spec/template/spec/{place}/labelSelector/matchLabels");
        FieldSpec::new("apps", "", kind, &path, false)
    })
}
