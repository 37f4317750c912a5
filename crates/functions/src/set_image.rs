//! `set-image`: gives containers another image, tag or digest.
//!
//! Where the Go function leaves the work to kustomize, every object goes through JSON:
//! comments are lost and fields are sorted.

mod first;
mod image;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    fieldspec::{Create, FieldSpec},
    function::{Clock, Function, Stop},
    json,
    list::{ResourceList, W4},
    release::Release,
    results::{Report, encoded},
    runner_config::{self, Given},
    yaml::{Node, SequenceIndent, Tag, write_node},
};
use image::{Change, Image, Rule};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.3", W4, &V0_2_3)
        .of_2026()
        .also(&["master-20260113"]),
    Release::unknown("v0.1.4"),
    Release::unknown("v0.1.3"),
    Release::native("v0.1.2", W4, &V0_1_2)
        .with_digests(&["sha256:3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339"]),
    Release::native("v0.1.1", W4, &first::Tracked),
    Release::unknown("v0.1.0"),
    // What was in the catalog's source after v0.1.2.
    Release::native("head", W4, &HEAD),
];

/// Containers are found by kustomize.
const V0_2_3: SetImage = SetImage {
    goes_on: true,
    containers: Containers::Fields,
    fields: Rule::TagAndDigest,
    names_types: true,
};
/// Goes on after errors of the configuration, with what it has.
const V0_1_2: SetImage = SetImage {
    goes_on: true,
    containers: Containers::Pods,
    fields: Rule::TagAndDigest,
    names_types: true,
};
const HEAD: SetImage = SetImage {
    goes_on: false,
    containers: Containers::Pods,
    fields: Rule::TagAndDigest,
    names_types: false,
};

const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

/// What releases do differently.
#[derive(Debug)]
pub(crate) struct SetImage {
    /// Whether images are changed although the configuration has errors.
    goes_on: bool,
    containers: Containers,
    /// The rule for additional fields.
    fields: Rule,
    /// Whether an error says which field of the configuration is of a wrong type.
    names_types: bool,
}

/// How containers are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Containers {
    /// In pods and their templates, by kind.
    Pods,
    /// As kustomize's fields of some kinds, by the rule for additional fields.
    Fields,
}

/// The types of a typed configuration.
#[derive(Default, Deserialize)]
#[serde(default, rename = "SetImage", rename_all = "camelCase")]
#[allow(dead_code, reason = "only read to find wrong types")]
struct Typed {
    image: Image,
    data: BTreeMap<String, String>,
    additional_image_fields: Specs,
}

#[derive(Default, Deserialize)]
#[serde(rename = "types.FsSlice")]
#[allow(dead_code, reason = "only read to find wrong types")]
struct Specs(Vec<FieldSpec>);

impl Function for SetImage {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let given = match runner_config::given(list.config(), "SetImage") {
            Ok(given) => given,
            Err(message) => return Err(fail(list, message)),
        };
        if let Some(Given::Object(config)) = given
            && let Err(message) = self.check_types(config)
        {
            return Err(fail(list, message));
        }
        let is_given = given.is_some();
        let mut errors = Vec::new();
        let configured = given.map(|given| configure(&given, &mut errors));
        let (image, fields) = configured.unwrap_or_default();
        if !is_given {
            runner_config::tell_missing(list);
        }
        errors.extend(image.error());
        if let (false, Some(error)) = (self.goes_on, errors.first()) {
            list.results.push(Report::error(error.as_str()));
            return Err(fail(list, format!("function is terminated: {error}")));
        }
        for error in errors {
            let wrong_key = error.starts_with("ConfigMap");
            list.results.push(Report::error(if wrong_key {
                // A mistake in a format string of Go's.
                format!("{error}%!(EXTRA <nil>)")
            } else {
                format!("invalid FunctionConfig: {error}")
            }));
        }
        let mut count = 0;
        match self.containers {
            Containers::Pods => {
                let change = Change::new(&image, Rule::Own).map_err(nil)?;
                for item in &mut list.items {
                    clock.check()?;
                    count += in_pod(item, &change)?;
                }
            }
            Containers::Fields => {
                count += self.set_all(list, clock, &image, &container_fields())?;
            }
        }
        if let Some(fields) = fields {
            count += self.set_all(list, clock, &image, &fields)?;
        }
        list.results.push(Report::info(format!(
            "summary: updated a total of {count} image(s)"
        )));
        if list.results.iter().any(Report::is_error) {
            return Err(Stop::Failed(runner_config::FAILURE.into()));
        }
        Ok(())
    }
}

impl SetImage {
    fn check_types(&self, config: &Node) -> Result<(), String> {
        let read = runner_config::read::<Typed>(config, "transformer.SetImage");
        let words = |error: String| match (self.names_types, self.containers) {
            (false, _) => "SubObject has unmatched field type: `".to_owned(),
            (true, Containers::Fields) => error,
            // The image is of a type of the function's own.
            (true, Containers::Pods) => error.replace("type types.Image", "type transformer.Image"),
        };
        read.map(|_| ()).map_err(words)
    }

    /// Changes the images in these fields; how many. An object in which that fails stays as it
    /// was, and the failure is a result.
    fn set_all(
        &self,
        list: &mut ResourceList,
        clock: &Clock,
        image: &Image,
        fields: &[FieldSpec],
    ) -> Result<usize, Stop> {
        let change = Change::new(image, self.fields).map_err(nil)?;
        let mut count = 0;
        for item in &mut list.items {
            clock.check()?;
            match set_fields(item, fields, &change, &mut |_, _, _| count += 1) {
                Ok(changed) => *item = changed,
                // Another mistake in a format string of Go's.
                Err(message) => list.results.push(Report::error(format!(
                    "{message}%!(EXTRA *fn.KubeObject={})",
                    write_node(item, SequenceIndent::Compact)
                ))),
            }
        }
        Ok(count)
    }
}

/// The name is an expression, in the Go function by accident; it does not look whether it is
/// a valid one.
fn nil(_: String) -> Stop {
    Stop::Panicked(NIL.into())
}

fn fail(list: &mut ResourceList, message: String) -> Stop {
    list.results.push(Report::error(message));
    Stop::Failed(runner_config::FAILURE.into())
}

impl Image {
    /// What is missing.
    fn error(&self) -> Option<String> {
        if self.name.is_empty() {
            return Some("must specify `name`".into());
        }
        if self.new_name.is_empty() && self.new_tag.is_empty() && self.digest.is_empty() {
            return Some("must specify one of `newName`, `newTag`, or `digest`".into());
        }
        None
    }
}

fn configure(given: &Given<'_>, errors: &mut Vec<String>) -> (Image, Option<Vec<FieldSpec>>) {
    let mut image = Image::default();
    let (pairs, fields) = match given {
        Given::Data(data) => (data.clone(), None),
        Given::Object(config) => {
            let fields = config.get("additionalImageFields");
            let pairs = config.get("image").map_or_else(Vec::new, Node::texts);
            (
                pairs,
                fields.map(|fields| FieldSpec::read_all(Some(fields))),
            )
        }
    };
    for (key, value) in pairs {
        let place = match key {
            "name" => &mut image.name,
            "newName" => &mut image.new_name,
            "newTag" => &mut image.new_tag,
            "digest" => &mut image.digest,
            "tagSuffix" if matches!(given, Given::Object(_)) => &mut image.tag_suffix,
            _ if matches!(given, Given::Object(_)) => continue,
            other => {
                errors.push(format!("ConfigMap has wrong field name {other}"));
                continue;
            }
        };
        value.clone_into(place);
    }
    (image, fields)
}

/// The fields of containers as kustomize names them.
fn container_fields() -> Vec<FieldSpec> {
    let pods = ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"];
    let templates = pods.map(|kind| ("apps", kind, "spec/template/spec"));
    let owners = [("", "Pod", "spec")].into_iter().chain(templates);
    owners
        .flat_map(|(group, kind, pod)| {
            ["containers", "initContainers"].map(|list| {
                FieldSpec::new(group, "v1", kind, &format!("{pod}/{list}[]/image"), false)
            })
        })
        .collect()
}

/// The object with its images changed; `made` hears of each: its path, and what it was and is.
fn set_fields(
    item: &Node,
    fields: &[FieldSpec],
    change: &Change<'_>,
    made: &mut dyn FnMut(&str, &str, &str),
) -> Result<Node, String> {
    let mut item = json::checked(item)?;
    if item.kind() == "CustomResourceDefinition" {
        return Ok(item);
    }
    for spec in fields {
        spec.apply(&mut item, Create::Never, &mut |node, path| {
            let Some(old) = node.value() else {
                let kind = if node.is_mapping() {
                    "MappingNode"
                } else {
                    "SequenceNode"
                };
                return Err(format!(
                    "wrong node kind: expected ScalarNode but got {kind}: node contents:\n{}\n",
                    json::flow(node)
                ));
            };
            if let Some(new) = change.of(old) {
                made(path, old, &new);
                *node = encoded(&new);
            }
            Ok(())
        })?;
    }
    Ok(item)
}

/// Changes the containers of an object that has some; how many.
fn in_pod(object: &mut Node, change: &Change<'_>) -> Result<usize, Stop> {
    let pod = match object.kind() {
        "Pod" => object.get_mut("spec"),
        "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "PodTemplate" => {
            let template = object.at_mut(&["spec", "template"]);
            let template = template.filter(|template| template.is_mapping());
            if template.as_ref().is_some_and(|it| it.get("spec").is_none()) {
                return Err(Stop::Panicked(NIL.into()));
            }
            template.and_then(|template| template.get_mut("spec"))
        }
        _ => None,
    };
    let Some(pod) = pod else { return Ok(0) };
    let mut count = 0;
    // The Go function looks for "iniContainers", too: init containers keep
    // their images.
    for list in ["iniContainers", "containers"] {
        let containers = pod.get_mut(list).and_then(Node::items_mut);
        for container in containers.into_iter().flatten() {
            let old = container.text_at(&["image"]).to_owned();
            if let Some(new) = change.of(&old).filter(|new| *new != old) {
                // The style is the SDK's choice, comments stay.
                if let Some(image) = container.get_mut("image") {
                    image.content = encoded(&new).content;
                    image.tag = Tag::Str;
                    count += 1;
                }
            }
        }
    }
    Ok(count)
}
