//! What packages really name: of the function images in the pipelines of public
//! repositories, and in Porch's default configuration, how many are answered by the
//! runner itself.
//!
//! The table of images is not part of this repository: a line is how often an image was
//! found, or `porch-…` for one that Porch maps to a binary, a tab, and the image.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use acceptance::{Server, evaluate};
use proto::EvaluateFunctionRequest;
use tonic::{Code, transport::Channel};

/// The part of the references in packages that has to be answered, in percent: 502 of 619.
const ANSWERED: u32 = 81;

/// Functions that are bundled. Their images must be answered in whatever version.
const BUNDLED: &[(&str, &str)] = &[
    (
        "apply-replacements",
        "apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata: {name: c}\n  \
         replacements:\n  - source: {kind: Deployment, fieldPath: metadata.name}\n    \
         targets:\n    - {select: {kind: Deployment}, fieldPaths: [spec.to]}",
    ),
    ("apply-setters", "data: {to: b}"),
    ("create-setters", "data: {to: a}"),
    ("ensure-name-substring", "data: {prepend: p-}"),
    ("search-replace", "data: {by-value: a, put-value: b}"),
    ("set-annotations", "data: {a: b}"),
    ("set-enforcement-action", "data: {enforcementAction: deny}"),
    ("set-image", "data: {name: nginx, newTag: v2}"),
    ("set-labels", "data: {a: b}"),
    ("set-namespace", "data: {namespace: prod}"),
    ("set-project-id", "data: {project-id: p}"),
    (
        "starlark",
        "apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata: {name: c}\n  \
         source: \"x = 1\"",
    ),
    (
        "upsert-resource",
        "apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: new}",
    ),
];

const ITEMS: &str = "\
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: p, annotations: {config.kubernetes.io/local-config: 'true'}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    namespace: old
    labels: {a: a}
    annotations: {config.kubernetes.io/path: d.yaml}
  spec:
    to: a # kpt-set: ${to}
    template:
      spec:
        containers: [{name: c, image: nginx}]
";

/// A list that the function named `name` succeeds with, in each of its releases.
fn list(name: &str) -> Option<String> {
    let (_, config) = BUNDLED.iter().find(|(bundled, _)| *bundled == name)?;
    let config = if config.starts_with("data") {
        format!("apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  {config}")
    } else {
        (*config).to_owned()
    };
    Some(format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{ITEMS}\
         functionConfig:\n  {config}\n"
    ))
}

/// The function's name in an image of the catalog, or in one without a registry.
fn name(image: &str) -> &str {
    let folders = ["ghcr.io/kptdev/krm-functions-catalog/", "gcr.io/kpt-fn/"];
    let rest = folders.iter().find_map(|folder| image.strip_prefix(folder));
    let rest = rest.unwrap_or(image);
    rest.split(['@', ':']).next().unwrap_or(rest)
}

/// The table: the file `REFERENCES`, or that beside the repository.
fn table() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = env::var_os("REFERENCES").map(PathBuf::from);
    let place = root.join(place.unwrap_or_else(|| "../shared/references.tsv".into()));
    fs::read_to_string(&place).unwrap_or_else(|error| {
        let place = place.display();
        panic!("{place}: {error}; REFERENCES names the table of images")
    })
}

/// Whether the runner answers a call of the image. An error is not an answer.
async fn is_answered(channel: Channel, image: &str) -> bool {
    let list = list(name(image));
    let is_bundled = list.is_some();
    let request = EvaluateFunctionRequest {
        resource_list: list.unwrap_or_else(|| acceptance::LIST.to_owned()).into(),
        image: image.to_owned(),
        tag: String::new(),
    };
    match evaluate(channel, request).await {
        Ok(answer) => {
            assert!(is_bundled, "{image}: who answered?");
            assert!(!answer.resource_list.is_empty(), "{image}");
            true
        }
        Err(status) => {
            assert_eq!(status.code(), Code::NotFound, "{image}: {status:?}");
            false
        }
    }
}

#[tokio::test]
#[ignore = "needs make build-starlark, and the table of images that packages name (REFERENCES)"]
async fn four_fifths_of_what_packages_name_and_all_that_porch_maps_are_answered_here() {
    let table = table();
    let server = Server::with_starlark("functions: []\n");
    let channel = server.connect().await;
    let (mut all, mut answered, mut of_porch) = (0, 0, 0);
    let mut missing = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (count, image) = line.split_once('\t').expect("a count and an image");
        let is_answered = is_answered(channel.clone(), image).await;
        if !is_answered && list(name(image)).is_some() {
            missing.push(image);
        }
        if is_answered {
            let names = format!("image=\"{image}\"");
            let logged = server.wait_for_log(&names);
            let by = format!("answered_by=\"{}@v", name(image));
            assert!(logged.contains(&by), "{logged}");
        }
        match count.parse::<u32>() {
            Ok(count) => {
                all += count;
                answered += if is_answered { count } else { 0 };
            }
            Err(_) => {
                assert!(is_answered, "{count} maps {image}");
                of_porch += 1;
            }
        }
    }
    println!("{answered} of {all} references in packages, {of_porch} of Porch's");
    assert!(all > 600 && of_porch == 30, "{all} and {of_porch} lines");
    assert!(answered * 100 >= all * ANSWERED, "{answered} of {all}");
    assert!(missing.is_empty(), "releases that are named: {missing:?}");
}
