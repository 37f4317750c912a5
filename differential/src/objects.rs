//! Generated objects: templates of many kinds, with names that meet each other and
//! with fields that come and go.

use crate::{
    dice::Dice,
    tree::{Tree, map, scalar, template},
};

pub(crate) const NAMES: &[&str] = &[
    "web",
    "db",
    "my-app",
    "a",
    "the-config",
    "web-1",
    "default",
    "prod",
];
pub(crate) const NAMESPACES: &[&str] = &["default", "prod", "example", "dev", "kube-system", "web"];
const IMAGES: &[&str] = &[
    "nginx",
    "nginx:1.14.2",
    "registry.example.com:5000/team/nginx:v1",
    "nginx@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
    "nginx:1@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3",
    "busybox:latest",
    "redis",
];
/// Scalars as people write them.
const TEXTS: &[&str] = &[
    "value",
    "\"quoted\"",
    "'single'",
    "7",
    "\"7\"",
    "true",
    "\"true\"",
    "yes",
    "null",
    "~",
    "\"\"",
    "1.50",
    "0x1F",
    "1e3",
    "web-prod",
    "nginx:1.14.2",
    "\"a: b\"",
    "'it''s'",
    "\"line\\nbreak\"",
    "|\nfirst\nsecond\n",
    "|-\n# no comment\nlast",
    ">\nfolded\ntext\n",
    "|+\nkept\n\n",
    "äöü €",
    "2020-01-01",
    "0755",
    "a,b",
    "${web}",
    "'- x'",
    "\"  spaces \"",
    "a long text that goes on and on so that a writer that folds lines at eighty columns would have to fold it somewhere",
];

const KINDS: &[&str] = &[
    "apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, namespace: $ns, labels: {app: $label, tier: $text}}
spec:
  replicas: $int
  selector: {matchLabels: {app: $label}, matchExpressions: [{key: app, operator: In, values: [$label]}]}
  template:
    metadata: {labels: {app: $label}, annotations: {note: $text}}
    spec:
      serviceAccountName: $name
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: $label}}, topologyKey: zone}
      topologySpreadConstraints:
      - {labelSelector: {matchLabels: {app: $label}}, maxSkew: 1}
      initContainers:
      - {name: init, image: $image}
      containers:
      - name: $name
        image: $image
        args: [$text, $text]
        ports: [{containerPort: 80, name: http}]
        env: [{name: HOST, value: $text}, {name: KEY, valueFrom: {secretKeyRef: {name: $name, key: k}}}]
        envFrom: [{configMapRef: {name: $name}}]
      volumes:
      - {name: v, configMap: {name: $name}}
      - {name: s, secret: {secretName: $name}}",
    "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: $name, namespace: $ns}
spec:
  serviceName: $name
  selector: {matchLabels: {app: $label}}
  template: {spec: {containers: [{name: c, image: $image}]}}
  volumeClaimTemplates: [{metadata: {name: $name, labels: {app: $label}}}]",
    "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: $name, namespace: $ns}
spec: {template: {metadata: {labels: {app: $label}}, spec: {containers: [{name: c, image: $image}]}}}",
    "apiVersion: v1
kind: Pod
metadata: {name: $name, namespace: $ns, labels: {app: $label}}
spec: {initContainers: [{name: i, image: $image}], containers: [{name: c, image: $image}, {name: d, image: $image}]}",
    "apiVersion: batch/v1
kind: Job
metadata: {name: $name, namespace: $ns}
spec: {template: {spec: {containers: [{name: c, image: $image}], restartPolicy: Never}}}",
    "apiVersion: batch/v1
kind: CronJob
metadata: {name: $name, namespace: $ns}
spec: {schedule: '* * * * *', jobTemplate: {metadata: {labels: {app: $label}}, spec: {template: {metadata: {labels: {app: $label}}, spec: {containers: [{image: $image}]}}}}}",
    "apiVersion: v1
kind: Service
metadata: {name: $name, namespace: $ns, labels: {app: $label}}
spec: {selector: {app: $label}, ports: [{port: $int, targetPort: http}], type: $text}",
    "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: $name, namespace: $ns}
spec: {rules: [{host: $text, http: {paths: [{path: /, backend: {service: {name: $name, port: {number: $int}}}}]}}], tls: [{secretName: $name}]}",
    "apiVersion: v1
kind: ConfigMap
metadata: {name: $name, namespace: $ns}
data: {web: $text, host: $text, config: $text, app.properties: $text}",
    "apiVersion: v1
kind: Secret
metadata: {name: $name, namespace: $ns}
type: Opaque
stringData: {password: $text, token: $text}",
    "apiVersion: v1
kind: Namespace
metadata: {name: $ns, labels: {app: $label}}",
    "apiVersion: v1
kind: ServiceAccount
metadata: {name: $name, namespace: $ns}
imagePullSecrets: [{name: $name}]",
    "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: $name, namespace: $ns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: $name}
subjects: [{kind: ServiceAccount, name: $name, namespace: $ns}, {kind: User, name: $name}]",
    "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: $name}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $name}
subjects: [{kind: ServiceAccount, name: $name, namespace: $ns}, {kind: Group, name: $name, namespace: $ns}]",
    "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: $name, namespace: $ns}
rules: [{apiGroups: [''], resources: [pods, $text], resourceNames: [$name], verbs: [get]}]",
    "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: $name, namespace: $ns}}}}}",
    "apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}
spec: {service: {name: $name, namespace: $ns}, group: example.com}",
    "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $name}
webhooks: [{name: a.example.com, clientConfig: {service: {name: $name, namespace: $ns}}}]",
    "apiVersion: example.com/v1
kind: Widget
metadata: {name: $name, namespace: $ns, labels: {app: $label}}
spec: {a: $text, list: [$text, $text], nested: {b: $text, items: [{name: one, value: $text}, {name: two, value: $int}]}, namespace: $ns, image: $image}",
    "apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sRequiredLabels
metadata: {name: $name}
spec: {enforcementAction: $text, match: {namespaces: [$ns]}}",
    "apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: $name, annotations: {config.kubernetes.io/local-config: 'true'}}
info: {description: $text}
pipeline: {mutators: [{image: 'gcr.io/kpt-fn/apply-setters:v0.2', configMap: {web: $text, host: $text}}]}",
    "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: $name, namespace: $ns}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $name}, minReplicas: $int}",
    "apiVersion: v1
kind: PersistentVolume
metadata: {name: $name}
spec: {claimRef: {name: $name, namespace: $ns}, storageClassName: $name}",
    "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: $name, namespace: $ns}
spec: {podSelector: {matchLabels: {app: $label}}, ingress: [{from: [{podSelector: {matchLabels: {app: $label}}}]}]}",
    "apiVersion: v1
kind: ConfigMap
metadata: {name: setters, annotations: {config.kubernetes.io/local-config: 'true'}}
data: {web: $text, list: $text}",
];

/// The value for a placeholder of a template.
fn placed(word: &str, dice: &mut Dice) -> Option<String> {
    let chosen = match word {
        "$name" => dice.pick(NAMES),
        "$ns" => dice.pick(NAMESPACES),
        "$image" => dice.pick(IMAGES),
        "$label" => dice.pick(&["web", "\"db\"", "my-app"]),
        "$int" => dice.pick(&["1", "3", "80", "\"80\"", "8080"]),
        "$text" => dice.pick(TEXTS),
        _ => return None,
    };
    Some(chosen.to_owned())
}

pub(crate) fn text(dice: &mut Dice) -> String {
    dice.pick(TEXTS).to_owned()
}

/// An object, in most cases a right one.
pub(crate) fn object(dice: &mut Dice) -> Tree {
    let mut object = template(dice.pick(KINDS));
    drop_fields(&mut object, true, dice);
    object.each(&mut |entry| {
        if let Tree::Scalar(word) = &mut entry.value {
            if let Some(placed) = placed(word, dice) {
                *word = placed;
            } else if word.is_empty() {
                *word = "\"\"".to_owned();
            } else if word == "* * * * *" || word == "true" {
                *word = format!("\"{word}\"");
            }
        }
    });
    annotate(&mut object, dice);
    object
}

/// Drops fields here and there; what makes an object an object only rarely.
fn drop_fields(tree: &mut Tree, is_top: bool, dice: &mut Dice) {
    match tree {
        Tree::Map(fields) => {
            fields.retain(|(key, _)| {
                let is_needed = is_top || key == "name" || key == "namespace";
                !dice.percent(if is_needed { 2 } else { 15 })
            });
            for (_, entry) in fields {
                drop_fields(&mut entry.value, false, dice);
            }
        }
        Tree::List(items) => {
            for entry in items {
                drop_fields(&mut entry.value, false, dice);
            }
        }
        Tree::Scalar(_) => {}
    }
}

fn annotate(object: &mut Tree, dice: &mut Dice) {
    let name = dice.pick(NAMES);
    let namespace = dice.pick(NAMESPACES);
    let possible = [
        (
            "internal.config.kubernetes.io/seqindent",
            10,
            dice.pick(&["wide", "compact"]).to_owned(),
        ),
        ("internal.config.kubernetes.io/id", 3, "'1'".to_owned()),
        (
            "config.kubernetes.io/local-config",
            6,
            dice.pick(&["'true'", "\"false\""]).to_owned(),
        ),
        (
            "config.kubernetes.io/depends-on",
            8,
            dice.pick(&[
                &format!("apps/namespaces/{namespace}/Deployment/{name}")[..],
                &format!("/namespaces/{namespace}/ConfigMap/{name}"),
                &format!("rbac.authorization.k8s.io/ClusterRole/{name}"),
                "apps/Deployment",
                "nonsense",
            ])
            .to_owned(),
        ),
        (
            "internal.kpt.dev/upstream-identifier",
            12,
            dice.pick(&[
                &format!("'apps|Deployment|{namespace}|{name}'")[..],
                &format!("'|ConfigMap|{namespace}|{name}'"),
                "'a|b'",
                "''",
            ])
            .to_owned(),
        ),
        (
            "config.kubernetes.io/function",
            2,
            "|\ncontainer:\n  image: x".to_owned(),
        ),
        ("note", 10, text(dice)),
    ];
    let mut annotations = Vec::new();
    for (key, chance, value) in possible {
        if dice.percent(chance) {
            annotations.push((key.to_owned(), value));
        }
    }
    add_annotations(object, annotations);
}

/// Where an object is written to, in one or both spellings.
pub(crate) fn place(object: &mut Tree, spellings: &[&str], dice: &mut Dice) {
    let file = dice.pick(&["'a.yaml'", "dir/b.yaml", "'Kptfile'", "\"x y.yaml\""]);
    let index = dice.pick(&["'0'", "\"1\"", "2"]);
    let mut annotations = Vec::new();
    for spelling in spellings {
        for (what, value) in [("path", file), ("index", index)] {
            if dice.percent(95) {
                annotations.push((format!("{spelling}/{what}"), value.to_owned()));
            }
        }
    }
    add_annotations(object, annotations);
}

fn add_annotations(object: &mut Tree, annotations: Vec<(String, String)>) {
    if annotations.is_empty() {
        return;
    }
    let Some(metadata) = object.get_mut("metadata") else {
        return;
    };
    if metadata.get_mut("annotations").is_none() {
        metadata.set("annotations", map([]));
    }
    if let Some(known) = metadata.get_mut("annotations") {
        for (key, value) in annotations {
            known.set(&key, scalar(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Style, write};

    #[test]
    fn objects_of_every_template_are_yaml() {
        for seed in 0..500 {
            let mut dice = Dice::new(seed);
            let object = object(&mut dice);
            let style = Style {
                is_wide: seed % 2 == 0,
                flow: 30,
            };
            let text = write(&object, style, &mut dice);
            let parsed = functions::yaml::parse_all(&text);
            assert!(parsed.is_ok(), "{seed}: {parsed:?}\n{text}");
        }
    }
}
