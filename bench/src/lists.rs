//! Lists of objects for the bundled functions, from small to large, as kyaml writes
//! them or as people do.

/// What the objects of a list look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// As kyaml writes them.
    Canonical,
    /// One in ten is not.
    OneInTenOdd,
    /// Comments, quotes and brackets in all of them, some not as kyaml writes them.
    AllOdd,
}

/// A list of at least this many bytes.
pub(crate) fn list(objects: Objects, bytes: usize, config: &str) -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for number in 0.. {
        if list.len() >= bytes {
            break;
        }
        let is_odd = match objects {
            Objects::Canonical => false,
            Objects::OneInTenOdd => number % 10 == 3,
            Objects::AllOdd => true,
        };
        let object = if is_odd { ODD } else { DEPLOYMENT };
        list.push_str(&object.replace("NUMBER", &number.to_string()));
    }
    list + "functionConfig:\n" + config
}

/// The configuration of a function that is measured.
pub(crate) fn config(name: &str) -> Option<&'static str> {
    let (_, config) = CONFIGS.iter().find(|(known, _)| *known == name)?;
    Some(config)
}

const CONFIGS: &[(&str, &str)] = &[
    (
        "set-namespace",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    namespace: prod\n",
    ),
    (
        "set-labels",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    tier: front\n",
    ),
    (
        "apply-setters",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    replicas: '5'\n",
    ),
    (
        "search-replace",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    by-value: eu-west-1\n    put-value: eu-west-2\n",
    ),
    (
        "upsert-resource",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: app-settings\n    namespace: prod\n  data:\n    colour: green\n",
    ),
    (
        "ensure-name-substring",
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    prepend: shop-\n",
    ),
    (
        "starlark",
        "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata:\n    name: s\n  source: |\n    for resource in ctx.resource_list['items']:\n        resource['metadata']['namespace'] = 'prod'\n",
    ),
];

const DEPLOYMENT: &str = r"- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: app-NUMBER
    namespace: default
    labels:
      app: app-NUMBER
      app.kubernetes.io/part-of: example
    annotations:
      internal.config.kubernetes.io/path: 'apps/app-NUMBER.yaml'
      internal.config.kubernetes.io/index: '0'
  spec:
    replicas: 3 # kpt-set: ${replicas}
    selector:
      matchLabels:
        app: app-NUMBER
    template:
      metadata:
        labels:
          app: app-NUMBER
      spec:
        containers:
        - name: main
          image: registry.example.com/team/app-NUMBER:v1.2.NUMBER
          args:
          - --listen=:8080
          - --verbose
          env:
          - name: LEVEL
            value: info
          - name: REGION
            value: eu-west-1
          - name: TEXT
            value: some words of text
          ports:
          - containerPort: 8080
            name: http
          resources:
            limits:
              cpu: 100m
              memory: 128Mi
            requests:
              cpu: 50m
              memory: 64Mi
";

const ODD: &str = r#"- apiVersion: apps/v1
  kind: "Deployment"
  metadata: # kpt-merge: default/app-NUMBER
    name: app-NUMBER
    namespace: default # the old one
    labels: {app: app-NUMBER, app.kubernetes.io/part-of: "example" }
    annotations:
      internal.config.kubernetes.io/path: 'apps/app-NUMBER.yaml'
      internal.config.kubernetes.io/index: '0'

  # how many
  spec:
    replicas: 3 # kpt-set: ${replicas}
    selector:
      matchLabels: {app: app-NUMBER}
    template:
      metadata:
        labels:
          app: app-NUMBER
      spec:
        containers:
          # the only one
          - name: main
            image: "registry.example.com/team/app-NUMBER:v1.2.NUMBER"
            args: ["--listen=:8080", "--verbose"]
            env:
              - {name: LEVEL, value: "info"}
              - {name: REGION, value: 'eu-west-1'}
              - name: TEXT
                value: some words of text
            ports:
              - containerPort: 8080 # as the image says
                name: http
            resources:
              limits: {cpu: 100m, memory: 128Mi}
              requests:
                cpu: 50m
                memory: 64Mi
"#;
