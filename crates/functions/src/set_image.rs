//! `set-image`: gives containers another image, tag or digest.
//!
//! With additional fields in the configuration every object goes through JSON,
//! as in the Go function: comments are lost and fields are sorted.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use crate::{
    fieldspec::{Create, FieldSpec},
    function::{Clock, Function, Stop},
    json,
    list::{ResourceList, W4},
    release::Release,
    results::{Report, encoded},
    runner_config::{self, Given},
    typed::{self, Scalars},
    yaml::{Node, Tag},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.2.3")
        .of_2026()
        .also(&["master-20260113"]),
    Release::unknown("v0.1.4"),
    Release::unknown("v0.1.3"),
    Release::native("v0.1.2", W4, &V0_1_2)
        .with_digests(&["sha256:3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339"]),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
    // What was in the catalog's source after v0.1.2.
    Release::native("head", W4, &HEAD),
];

/// Goes on after errors of the configuration, with what it has.
const V0_1_2: SetImage = SetImage { goes_on: true };
const HEAD: SetImage = SetImage { goes_on: false };

/// What releases do differently.
#[derive(Debug)]
pub(crate) struct SetImage {
    /// Whether images are changed although the configuration has errors.
    goes_on: bool,
}

/// The types of a typed configuration.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(dead_code, reason = "only read to find wrong types")]
struct Typed {
    image: Image,
    data: BTreeMap<String, String>,
    additional_image_fields: Vec<FieldSpec>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Image {
    name: String,
    new_name: String,
    new_tag: String,
    digest: String,
}

impl Function for SetImage {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let given = match runner_config::given(list.config(), "SetImage") {
            Ok(given) => given,
            Err(message) => return Err(fail(list, message)),
        };
        if let Some(Given::Object(config)) = given
            && typed::read::<Typed>(config, Scalars::Strict).is_err()
        {
            // The SDK says no more than that.
            return Err(fail(list, "SubObject has unmatched field type: `".into()));
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
            return Err(fail(list, error.clone()));
        }
        let is_failed = !errors.is_empty();
        for error in errors {
            let wrong_key = error.starts_with("ConfigMap");
            list.results.push(Report::error(if wrong_key {
                // A mistake in a format string of Go's.
                format!("{error}%!(EXTRA <nil>)")
            } else {
                format!("invalid FunctionConfig: {error}")
            }));
        }
        let change = match Change::new(image) {
            Ok(change) => change,
            Err(message) => return Err(fail(list, message)),
        };
        let mut count = 0;
        for item in &mut list.items {
            clock.check()?;
            count += change.containers(item)?;
        }
        if let Some(fields) = fields {
            for item in &mut list.items {
                clock.check()?;
                count += change.fields(item, &fields)?;
            }
        }
        list.results.push(Report::info(format!(
            "summary: updated a total of {count} image(s)"
        )));
        if is_failed {
            return Err(Stop::Failed(runner_config::FAILURE.into()));
        }
        Ok(())
    }
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

struct Change {
    image: Image,
    matcher: Regex,
    field_matcher: Regex,
}

impl Change {
    fn new(image: Image) -> Result<Self, String> {
        // The name is an expression, in the Go function by accident.
        let matcher = |tag: &str| {
            let expression = format!("^{}{tag}$", image.name);
            Regex::new(&expression).map_err(|error| error.to_string())
        };
        Ok(Self {
            matcher: matcher("(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?")?,
            field_matcher: matcher("(@sha256)?(:[a-zA-Z0-9_.{}-]*)?")?,
            image,
        })
    }

    /// What an image becomes; `None` if it is another one.
    fn changed(&self, old: &str) -> Option<String> {
        if !self.matcher.is_match(old) {
            return None;
        }
        let (name, tag, digest) = split(old);
        let Image {
            new_name,
            new_tag,
            digest: new_digest,
            ..
        } = &self.image;
        let name = if new_name.is_empty() { name } else { new_name };
        Some(match (new_tag.as_str(), new_digest.as_str()) {
            (_, digest) if !digest.is_empty() => format!("{name}@{digest}"),
            // The Go function forgets what separates them.
            ("", _) if tag.is_empty() => format!("{name}{}", digest.trim_start_matches('@')),
            ("", _) => format!("{name}{}", tag.trim_start_matches(':')),
            (tag, _) => format!("{name}:{tag}"),
        })
    }

    /// What an image in an additional field becomes: kustomize's rules.
    fn changed_field(&self, old: &str) -> Option<String> {
        if !self.field_matcher.is_match(old) {
            return None;
        }
        let from = old.find('/').unwrap_or(0);
        let colon = old[from..].rfind(':').map(|at| from + at);
        let at = old.rfind('@').or(colon).unwrap_or(old.len());
        let (mut name, mut tag) = (&old[..at], old[at..].to_owned());
        let image = &self.image;
        if !image.new_name.is_empty() {
            name = &image.new_name;
        }
        if !image.new_tag.is_empty() {
            tag = format!(":{}", image.new_tag);
        }
        if !image.digest.is_empty() {
            tag = format!("@{}", image.digest);
        }
        Some(format!("{name}{tag}"))
    }

    /// Changes the containers of an object that has some.
    fn containers(&self, object: &mut Node) -> Result<usize, Stop> {
        let pod = match object.kind() {
            "Pod" => object.get_mut("spec"),
            "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "PodTemplate" => {
                let template = object.at_mut(&["spec", "template"]);
                let template = template.filter(|template| template.is_mapping());
                if template.as_ref().is_some_and(|it| it.get("spec").is_none()) {
                    return Err(Stop::Panicked(
                        "runtime error: invalid memory address or nil pointer dereference".into(),
                    ));
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
                if let Some(new) = self.changed(&old).filter(|new| *new != old) {
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

    fn fields(&self, item: &mut Node, fields: &[FieldSpec]) -> Result<usize, Stop> {
        *item = json::through(item);
        let mut count = 0;
        if item.kind() == "CustomResourceDefinition" {
            return Ok(count);
        }
        for spec in fields {
            spec.apply(item, Create::Never, &mut |node, _| {
                let old = node.value().ok_or("wrong node kind: expected ScalarNode")?;
                if let Some(new) = self.changed_field(old) {
                    *node = encoded(&new);
                    count += 1;
                }
                Ok(())
            })?;
        }
        Ok(count)
    }
}

/// Name, tag and digest, the latter with what separates them.
fn split(image: &str) -> (&str, &str, &str) {
    let domain = image.find('/').unwrap_or(0);
    let rest = &image[domain..];
    let (colon, at) = (rest.find(':'), rest.find('@'));
    match (colon, at) {
        (None, None) => (image, "", ""),
        (Some(colon), Some(at)) if colon < at => {
            (&image[..domain + colon], &rest[colon..at], &rest[at..])
        }
        (_, Some(at)) => (&image[..domain + at], "", &rest[at..]),
        (Some(colon), None) => (&image[..domain + colon], &rest[colon..], ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_split_into_name_tag_and_digest() {
        for (image, parts) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1", ("nginx", ":1", "")),
            ("host:5000/a/nginx", ("host:5000/a/nginx", "", "")),
            (
                "host:5000/nginx:1@sha256:0",
                ("host:5000/nginx", ":1", "@sha256:0"),
            ),
            ("nginx@sha256:0", ("nginx", "", "@sha256:0")),
        ] {
            assert_eq!(split(image), parts);
        }
    }
}
