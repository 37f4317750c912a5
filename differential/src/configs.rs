//! Generated configurations: every option of every function, right and wrong.

use crate::{
    dice::Dice,
    objects::{self, NAMES, NAMESPACES, object, text},
    scripts,
    tree::{Tree, list, map, scalar, wrong},
};

/// The configuration for a function; `None` if the list has none.
pub(crate) fn config(function: &str, dice: &mut Dice) -> Option<Tree> {
    if dice.percent(2) {
        return None;
    }
    if dice.percent(2) {
        return Some(objects::object(dice));
    }
    let mut config = match function {
        "set-namespace" => set_namespace(dice),
        "apply-setters" | "create-setters" | "list-setters" => setters(function, dice),
        "search-replace" => search_replace(dice),
        "apply-replacements" => apply_replacements(dice),
        "ensure-name-substring" => ensure_name_substring(dice),
        "upsert-resource" => upsert_resource(dice),
        "set-labels" | "set-label" => pairs("SetLabels", "SetLabelConfig", "labels", dice),
        "set-annotations" | "set-annotation" => {
            pairs("SetAnnotations", "SetAnnotationConfig", "annotations", dice)
        }
        "set-image" => set_image(dice),
        "set-enforcement-action" => config_map([(
            "enforcementAction",
            scalar(dice.pick(&["deny", "dryrun", "warn", "\"deny\"", "other", "7"])),
        )]),
        "set-project-id" => config_map([(
            "project-id",
            scalar(dice.pick(&["my-project", "\"7\"", "7", "\"\""])),
        )]),
        "starlark" => scripts::config(dice),
        _ => config_map([]),
    };
    if dice.percent(8) {
        config.spoil(dice);
    }
    if dice.percent(6) {
        let key = dice.pick(&["apiVersion", "kind", "metadata", "data", "extra"]);
        match dice.percent(50) {
            true => config.remove(key),
            false => config.set(key, wrong(dice)),
        }
    }
    if dice.percent(5) {
        config.comment(15, dice);
    }
    Some(config)
}

fn config_map<const N: usize>(data: [(&str, Tree); N]) -> Tree {
    map([
        ("apiVersion", scalar("v1")),
        ("kind", scalar("ConfigMap")),
        ("metadata", map([("name", scalar("config"))])),
        ("data", map(data)),
    ])
}

fn typed(kind: &str) -> Tree {
    map([
        ("apiVersion", scalar("fn.kpt.dev/v1alpha1")),
        ("kind", scalar(kind)),
        ("metadata", map([("name", scalar("config"))])),
    ])
}

fn data(config: &mut Tree) -> &mut Tree {
    if config.get_mut("data").is_none() {
        config.set("data", map([]));
    }
    config.get_mut("data").expect("it was set")
}

fn set_namespace(dice: &mut Dice) -> Tree {
    let namespace = scalar(dice.pick(&[
        "prod", "new-ns", "\"web\"", "default", "example", "\"\"", "7",
    ]));
    let matcher = scalar(dice.pick(NAMESPACES));
    let mut config = if dice.percent(60) {
        config_map([("namespace", namespace)])
    } else {
        let mut config = typed(dice.pick(&["SetNamespace", "SetNamespace", "SetNamespaceConfig"]));
        config.set("namespace", namespace);
        config
    };
    if dice.percent(25) {
        let place = match config.get_mut("data") {
            Some(data) => data,
            None => &mut config,
        };
        place.set("namespaceMatcher", matcher);
    }
    if dice.percent(10) {
        config.set("metadata", map([("name", scalar("kptfile.kpt.dev"))]));
        data(&mut config).set("name", scalar(dice.pick(NAMESPACES)));
    }
    if dice.percent(10) {
        let key = dice.pick(&["additionalNamespaceFields", "fieldSpecs"]);
        config.set(key, field_specs(dice));
    }
    config
}

fn field_specs(dice: &mut Dice) -> Tree {
    let count = 1 + dice.below(2);
    let specs: Vec<Tree> = (0..count).map(|_| field_spec(dice)).collect();
    list(specs)
}

fn field_spec(dice: &mut Dice) -> Tree {
    let path = dice.pick(&[
        "spec/namespace",
        "spec/nested/b",
        "spec/list",
        "spec/nested/items[]/value",
        "metadata/name",
        "spec/absent/deep",
        "spec/template/metadata/labels",
        "spec/template/spec/containers[]/image",
        "data/web",
    ]);
    let mut spec = map([("path", scalar(path))]);
    if dice.percent(50) {
        spec.set(
            "kind",
            scalar(dice.pick(&["Widget", "ConfigMap", "Deployment"])),
        );
    }
    if dice.percent(20) {
        spec.set("group", scalar(dice.pick(&["apps", "example.com"])));
    }
    if dice.percent(20) {
        spec.set("version", scalar("v1"));
    }
    if dice.percent(30) {
        spec.set("create", scalar(dice.pick(&["true", "false", "\"true\""])));
    }
    spec
}

/// Values that setters are given and that fields have.
const VALUES: &[&str] = &[
    "value",
    "web",
    "\"7\"",
    "\"true\"",
    "nginx",
    "1.14.2",
    "\"\"",
    "\"[a, b]\"",
    "\"[]\"",
    "|\n- one\n- two\n",
    "\"a: b\"",
    "7",
    "true",
    "prod",
    "'[\"x\", 3]'",
    "quoted",
    "\"${host}\"",
    "\"a.b*c\"",
    "single",
];

fn setters(function: &str, dice: &mut Dice) -> Tree {
    let mut config = config_map([]);
    for name in ["web", "host", "list", "tag", "image", "a-b", "secret-token"] {
        if dice.percent(if function == "list-setters" { 10 } else { 45 }) {
            let value = dice.pick(VALUES);
            data(&mut config).set(name, scalar(value));
        }
    }
    config
}

/// The comments that name setters.
pub(crate) const PATTERNS: &[&str] = &[
    "# kpt-set: ${web}",
    "# kpt-set: ${list}",
    "# kpt-set: ${image}:${tag}",
    "# kpt-set: pre-${web}-${host}",
    "# kpt-set: ${a-b}/x",
    "# kpt-set: ${absent}",
    "# kpt-set: ${web}${host}",
    "# kpt-set: constant",
    "# kpt-set: ${secret-token}",
    "# kpt-set:${web}",
    "# kpt-set: ${web} more",
    "# kpt-set: ${we",
];

const PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.replicas",
    "spec.template.spec.containers[0].image",
    "spec.template.spec.containers[*].image",
    "spec.list[*]",
    "spec.list[1]",
    "spec.nested.items[name=one].value",
    "data.web",
    "data.*",
    "**.name",
    "spec.**.image",
    "metadata.labels.app",
    "metadata.annotations.new-one",
    "spec.absent.deep.er",
    "**",
    "spec.nested.*",
    "data['app.properties']",
    "",
];

fn search_replace(dice: &mut Dice) -> Tree {
    let mut config = config_map([]);
    let data = data(&mut config);
    let by = dice.below(10);
    if by < 4 || by == 9 {
        let value = match dice.percent(50) {
            true => dice.pick(VALUES),
            false => dice.pick(NAMES),
        };
        data.set("by-value", scalar(value));
    }
    if (3..6).contains(&by) {
        let expression = dice.pick(&[
            "\"web.*\"",
            "'(.*)-(.*)'",
            "\"^v\"",
            "'nginx:(\\d+)\\.(.*)'",
            "'['",
            "\".*\"",
            "\"\"",
            "'([a-z]+)'",
        ]);
        data.set("by-value-regex", scalar(expression));
    }
    if by >= 5 {
        data.set("by-path", scalar(format!("{:?}", dice.pick(PATHS))));
    }
    if dice.percent(10) {
        let glob = dice.pick(&[
            "'a.yaml'",
            "'**/*.yaml'",
            "'*.yaml'",
            "'dir/**'",
            "'{a,b}.yaml'",
            "'['",
        ]);
        data.set("by-file-path", scalar(glob));
    }
    if dice.percent(70) {
        let value = dice.pick(&[
            "put",
            "\"7\"",
            "\"true\"",
            "\"\"",
            "'new-$1'",
            "'${1}x${2}'",
            "\"a: b\"",
            "7",
            "'$0'",
        ]);
        data.set("put-value", scalar(value));
    }
    if dice.percent(30) {
        let comment = dice.pick(&[
            "'kpt-set: ${web}'",
            "note",
            "'kpt-set: ${1}'",
            "\"two\\nlines\"",
        ]);
        data.set("put-comment", scalar(comment));
    }
    if dice.percent(3) {
        data.set("by-nothing", scalar("x"));
    }
    config
}

fn ensure_name_substring(dice: &mut Dice) -> Tree {
    let text = dice.pick(&["prod-", "-prod", "web", "\"7\"", "\"\"", "a"]);
    let mode = dice.pick(&["prepend", "append", "prepend", "append", "other"]);
    if dice.percent(70) {
        let mut config = config_map([(mode, scalar(text))]);
        if dice.percent(5) {
            data(&mut config).set("append", scalar("x"));
        }
        return config;
    }
    let mut config = typed("EnsureNameSubstring");
    config.set("substring", scalar(text));
    if dice.percent(70) {
        config.set("editMode", scalar(mode));
    }
    for key in ["additionalNameFields", "fieldSpecs"] {
        if dice.percent(25) {
            config.set(key, field_specs(dice));
        }
    }
    config
}

fn upsert_resource(dice: &mut Dice) -> Tree {
    if dice.percent(30) {
        let count = dice.below(4);
        let items: Vec<Tree> = (0..count).map(|_| upserted(dice)).collect();
        return map([
            ("apiVersion", scalar("v1")),
            ("kind", scalar("List")),
            ("metadata", map([("name", scalar("list"))])),
            ("items", list(items)),
        ]);
    }
    upserted(dice)
}

fn upserted(dice: &mut Dice) -> Tree {
    let mut object = object(dice);
    if dice.percent(30)
        && let Some(metadata) = object.get_mut("metadata")
    {
        if metadata.get_mut("annotations").is_none() {
            metadata.set("annotations", map([]));
        }
        if let Some(annotations) = metadata.get_mut("annotations") {
            let path = dice.pick(&["a.yaml", "new.yaml", "\"\""]);
            annotations.set("config.kubernetes.io/target-path", scalar(path));
        }
    }
    object
}

fn pairs(kind: &str, former: &str, field: &str, dice: &mut Dice) -> Tree {
    let mut pairs = map([]);
    for key in ["app", "env", "example.com/a", "note"] {
        if dice.percent(40) {
            let value = dice.pick(&[
                "web", "\"7\"", "\"true\"", "prod", "7", "true", "\"\"", "a b",
            ]);
            pairs.set(key, scalar(value));
        }
    }
    if dice.percent(60) {
        let mut config = config_map([]);
        config.set("data", pairs);
        return config;
    }
    let mut config = typed(dice.pick(&[kind, kind, former]));
    config.set(field, pairs);
    for key in [
        "additionalLabelFields",
        "additionalAnnotationFields",
        "fieldSpecs",
    ] {
        if dice.percent(15) {
            config.set(key, field_specs(dice));
        }
    }
    config
}

fn set_image(dice: &mut Dice) -> Tree {
    let mut image = map([(
        "name",
        scalar(dice.pick(&[
            "nginx",
            "redis",
            "busybox",
            "registry.example.com:5000/team/nginx",
        ])),
    )]);
    if dice.percent(60) {
        image.set(
            "newName",
            scalar(dice.pick(&["bitnami/nginx", "new", "\"\""])),
        );
    }
    if dice.percent(60) {
        image.set("newTag", scalar(dice.pick(&["1.21", "\"2\"", "v1"])));
    }
    if dice.percent(25) {
        image.set("digest", scalar("sha256:24a0c4b4"));
    }
    if dice.percent(10) {
        image.set("tagSuffix", scalar(dice.pick(&["-slim", "\"7\""])));
    }
    if dice.percent(5) {
        image.remove("name");
    }
    if dice.percent(60) {
        let mut config = config_map([]);
        config.set("data", image);
        return config;
    }
    let mut config = typed("SetImage");
    config.set("image", image);
    if dice.percent(20) {
        config.set("additionalImageFields", field_specs(dice));
    }
    config
}

fn selector(dice: &mut Dice) -> Tree {
    let mut selector = map([]);
    if dice.percent(80) {
        let kind = dice.pick(&[
            "Deployment",
            "ConfigMap",
            "Service",
            "Widget",
            "Pod",
            "Depl.*",
            "Namespace",
        ]);
        selector.set("kind", scalar(kind));
    }
    if dice.percent(50) {
        selector.set("name", scalar(dice.pick(NAMES)));
    }
    if dice.percent(15) {
        selector.set("namespace", scalar(dice.pick(NAMESPACES)));
    }
    if dice.percent(10) {
        selector.set("group", scalar(dice.pick(&["apps", "example.com"])));
    }
    if dice.percent(10) {
        selector.set("version", scalar("v1"));
    }
    selector
}

const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "spec.replicas",
    "spec.template.spec.containers.0.image",
    "spec.template.spec.containers.[name=web].image",
    "spec.template.spec.containers.*.image",
    "spec.list",
    "spec.list.0",
    "spec.list.-",
    "spec.nested",
    "spec.nested.items.[name=one].value",
    "spec.absent.deep",
    "spec.list.7",
    "data.web",
    "data.app\\.properties",
    "metadata.annotations.[note]",
    "metadata.labels.app",
    "spec.selector.matchLabels",
    "spec.nested.items.*.value",
    "kind",
];

fn options(dice: &mut Dice) -> Tree {
    let mut options = map([]);
    if dice.percent(60) {
        options.set(
            "delimiter",
            scalar(dice.pick(&["'-'", "'/'", "':'", "\"\"", "'.'"])),
        );
    }
    if dice.percent(50) {
        options.set("index", scalar(dice.pick(&["0", "1", "-1", "5", "\"1\""])));
    }
    if dice.percent(35) {
        options.set("create", scalar(dice.pick(&["true", "true", "false"])));
    }
    options
}

fn replacement(dice: &mut Dice) -> Tree {
    let mut replacement = map([]);
    if dice.percent(92) {
        let mut source = selector(dice);
        if dice.percent(85) {
            source.set("fieldPath", scalar(dice.pick(FIELDS)));
        }
        if dice.percent(25) {
            source.set("options", options(dice));
        }
        replacement.set("source", source);
    }
    if dice.percent(10) {
        replacement.set("sourceValue", scalar(text(dice)));
    }
    let targets = 1 + dice.below(2);
    let targets: Vec<Tree> = (0..targets).map(|_| target(dice)).collect();
    if dice.percent(96) {
        replacement.set("targets", list(targets));
    }
    replacement
}

fn target(dice: &mut Dice) -> Tree {
    let mut select = selector(dice);
    if dice.percent(10) {
        let labels = dice.pick(&[
            "app=web",
            "'app in (web, db)'",
            "'!app'",
            "app",
            "'app!=web'",
        ]);
        select.set("labelSelector", scalar(labels));
    }
    if dice.percent(5) {
        select.set("annotationSelector", scalar("note=value"));
    }
    let mut target = map([("select", select)]);
    if dice.percent(15) {
        target.set("reject", list([selector(dice)]));
    }
    let paths = 1 + dice.below(2);
    let paths: Vec<Tree> = (0..paths).map(|_| scalar(dice.pick(FIELDS))).collect();
    if dice.percent(92) {
        target.set("fieldPaths", list(paths));
    }
    if dice.percent(40) {
        target.set("options", options(dice));
    }
    target
}

fn apply_replacements(dice: &mut Dice) -> Tree {
    let mut config = typed("ApplyReplacements");
    let count = 1 + dice.below(2);
    let replacements: Vec<Tree> = (0..count).map(|_| replacement(dice)).collect();
    config.set("replacements", list(replacements));
    config
}
