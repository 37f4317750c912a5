//! A function says the same, whether objects stay text or everything is parsed.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use functions::{
    Clock, Reading,
    catalog::{self, Bundled, Chosen},
};

/// Every input of the cases, with one of its own for all functions.
fn inputs() -> Vec<String> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let folders = |path: &Path| {
        let entries = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let cases = folders(&cases).into_iter().flat_map(|path| folders(&path));
    let inputs = cases.map(|case| fs::read_to_string(case.join("input.yaml")).unwrap());
    inputs.chain([MIXED.to_owned()]).collect()
}

const MIXED: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: # kpt-merge: default/web
    name: web
    namespace: default # the old one
    labels:
      app: web
    annotations:
      internal.config.kubernetes.io/path: 'web.yaml'
  spec:
    replicas: 3 # kpt-set: ${replicas}
    selector:
      matchLabels:
        app: web
    template:
      spec:
        containers:
        # the only one
        - name: main
          image: nginx:1.2 # kpt-set: nginx:${tag}
          args: ["-v", a]
- apiVersion: v1
  kind:  ConfigMap
  metadata:
    name: odd

    # above
    namespace: default
  data: {a: web,  b: [c], }
- # Copyright
  #
  apiVersion: v1
  kind: ConfigMap
  metadata:
      name: spaced # kpt-set: ${tag}-spaced

      # above
      namespace: default
      annotations: { config.kubernetes.io/depends-on:  apps/namespaces/default/Deployment/web }
  data:
    list: # kpt-set: ${list}
      # the first one
      -   a

      - b
    flow: [a, b] # kpt-set: ${list}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
    namespace: default
    annotations:
      config.kubernetes.io/depends-on: apps/namespaces/default/Deployment/web
  data:
    list: # kpt-set: ${list}
    - a
    - b
    script: |
      #!/bin/sh

      exec web
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    namespace: prod
    replicas: '5'
    tag: '1.3'
    list: '[x, y]'
"#;

fn assert_same(release: Chosen, input: &str) {
    let run = |reading| release.run_reading(reading, input.as_bytes(), &Clock::default());
    let [text, parsed] = [Reading::AsText, Reading::Parsed].map(run);
    assert_eq!(text, parsed, "{release}: {input}");
}

#[test]
fn text_and_tree_give_the_same_output() {
    for input in inputs() {
        catalog::native().for_each(|newest| assert_same(newest, &input));
    }
    for release in catalog::FUNCTIONS.iter().flat_map(Bundled::reproduced) {
        assert_same(release, MIXED);
    }
}

/// Values that stand in a field, in several, as a path or a number of the list's own, in
/// brackets or in text, and what may be put there.
#[test]
fn searches_give_the_same_output() {
    let (items, _) = MIXED.split_once("functionConfig:").unwrap();
    let matchers = [
        "by-value: web",
        "by-value: default",
        "by-value: nginx:1.2",
        "by-value: web.yaml",
        "by-value: '0'",
        "by-value: a",
        "by-value: '3'",
        "by-value: exec web",
        "by-value: web\n    by-path: spec.**.app",
        "by-value-regex: (we)b",
        "by-path: metadata.name",
        "by-path: '**[*].name'",
    ];
    let puts = ["a", "'5'", "'null'", "a b", "'true'", "'# a'", "''", "${1}"];
    let puts = puts.map(|put| format!("put-value: {put}"));
    let more = ["put-comment: 'a'", "put-value: a\n    put-comment: kpt-set"];
    for put in puts.into_iter().chain(more.map(str::to_owned)) {
        for matcher in matchers {
            let input = format!(
                "{items}functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    \
                 name: c\n  data:\n    {matcher}\n    {put}\n"
            );
            let search = catalog::FUNCTIONS.iter().flat_map(Bundled::reproduced);
            search
                .filter(|release| release.to_string().starts_with("search-replace"))
                .for_each(|release| assert_same(release, &input));
        }
    }
}

#[test]
fn objects_as_a_function_writes_them_stay_text() {
    let texts = |release: &str| catalog::find(release).unwrap().texts(MIXED);
    assert_eq!(texts("set-namespace"), (3, 4));
    assert_eq!(texts("apply-setters"), (3, 4));
    // It writes a comment behind a dash above the dash.
    assert_eq!(texts("apply-setters@v0.2.2"), (2, 4));
    // It loses comments, which text would keep.
    assert_eq!(texts("apply-setters@v0.1.0"), (0, 4));
}

#[test]
fn keys_of_every_length_give_the_same_output() {
    for length in [127, 128, 129, 1023, 1025] {
        let key = "k".repeat(length);
        for data in [
            format!("{key}: web"),
            format!("inside: {{a: b, {key}: web}}"),
            format!("inside: [{{{key}: [web]}}, web]"),
            format!("inside:\n    - {key}: web"),
        ] {
            let input = format!(
                "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
                 - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    \
                 {data}\nfunctionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    \
                 name: c\n  data:\n    namespace: x\n    by-value: web\n    put-value: b\n"
            );
            catalog::native().for_each(|newest| assert_same(newest, &input));
        }
    }
}
