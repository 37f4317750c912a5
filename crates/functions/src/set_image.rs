//! `set-image`: gives containers another image, tag or digest.
//!
//! With additional fields in the configuration every object goes through JSON,
//! as in the Go function: comments are lost and fields are sorted.

use regex::Regex;

use crate::{
    fieldspec::{Create, FieldSpec},
    function::{Clock, Function, Stop},
    json,
    list::{ResourceList, W4},
    release::Release,
    results::{Report, encoded},
    runner_config::{self, Given},
    yaml::Node,
};

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.2.3")
        .of_2026()
        .also(&["master-20260113"]),
    Release::unknown("v0.1.4"),
    Release::unknown("v0.1.3"),
    Release::native("v0.1.2", W4, &SetImage)
        .with_digests(&["sha256:3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339"]),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
    // What was in the catalog's source after v0.1.2.
    Release::native("head", W4, &SetImage),
];

#[derive(Debug)]
pub(crate) struct SetImage;

#[derive(Default)]
struct Image {
    name: String,
    new_name: String,
    new_tag: String,
    digest: String,
}

impl Function for SetImage {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            list.results.push(Report::error(message));
            Stop::Failed(runner_config::FAILURE.into())
        };
        let given = runner_config::given(list.config.as_ref(), "SetImage");
        let configured = given.and_then(|given| match given {
            None => Ok((None, Image::default(), None)),
            Some(given) => configure(&given).map(|(image, fields)| (Some(()), image, fields)),
        });
        let (is_given, image, fields) = match configured {
            Ok(configured) => configured,
            Err(message) => return Err(fail(list, message)),
        };
        if is_given.is_none() {
            runner_config::tell_missing(list);
        }
        let change = match Change::new(image) {
            Ok(change) => change,
            Err(message) => return Err(fail(list, message)),
        };
        let mut count = 0;
        for item in &mut list.items {
            clock.check()?;
            count += change.containers(item);
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
        Ok(())
    }
}

fn configure(given: &Given<'_>) -> Result<(Image, Option<Vec<FieldSpec>>), String> {
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
            other => return Err(format!("ConfigMap has wrong field name {other}")),
        };
        value.clone_into(place);
    }
    Ok((image, fields))
}

struct Change {
    image: Image,
    matcher: Regex,
}

impl Change {
    fn new(image: Image) -> Result<Self, String> {
        if image.name.is_empty() {
            return Err("must specify `name`".into());
        }
        if image.new_name.is_empty() && image.new_tag.is_empty() && image.digest.is_empty() {
            return Err("must specify one of `newName`, `newTag`, or `digest`".into());
        }
        // The name is an expression, in the Go function by accident.
        let tag = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?";
        let matcher =
            Regex::new(&format!("^{}{tag}$", image.name)).map_err(|error| error.to_string())?;
        Ok(Self { image, matcher })
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
            ("", _) if tag.is_empty() => format!("{name}{digest}"),
            ("", _) => format!("{name}{tag}"),
            (tag, _) => format!("{name}:{tag}"),
        })
    }

    /// Changes the containers of an object that has some.
    fn containers(&self, object: &mut Node) -> usize {
        let pod = match object.kind() {
            "Pod" => object.get_mut("spec"),
            "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "PodTemplate" => {
                object.at_mut(&["spec", "template", "spec"])
            }
            _ => None,
        };
        let Some(pod) = pod else { return 0 };
        let mut count = 0;
        // The Go function looks for "iniContainers", too: init containers keep
        // their images.
        for list in ["iniContainers", "containers"] {
            let containers = pod.get_mut(list).and_then(Node::items_mut);
            for container in containers.into_iter().flatten() {
                let old = container.text_at(&["image"]).to_owned();
                if let Some(new) = self.changed(&old).filter(|new| *new != old) {
                    let _ = container.set_text_at(&["image"], &new);
                    count += 1;
                }
            }
        }
        count
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
                if let Some(new) = self.changed(old) {
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
