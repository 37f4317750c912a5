//! `set-image` v0.1.1: images in kustomize's fields of any kind, each change a result.
//!
//! Objects pass through JSON. The configuration is read without a runner of the SDK: errors
//! in it are written to standard error only.

use serde::Deserialize;

use super::{
    image::{Change, Image, Rule},
    set_fields,
};
use crate::{
    fieldspec::FieldSpec,
    function::{Clock, Function, Stop},
    list::ResourceList,
    meter::charge,
    object::{INDEX, LEGACY_INDEX},
    results::Report,
    typed::{self, Scalars},
    yaml::Node,
};

/// The whole of v0.1.1.
#[derive(Debug)]
pub(super) struct Tracked;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    image: Image,
    additional_image_fields: Vec<FieldSpec>,
}

impl Function for Tracked {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        list.as_first_sdk();
        let Some(config) = &list.config else {
            return Err(Stop::Panicked(super::NIL.into()));
        };
        let config = match read(config) {
            Ok(config) => config,
            Err(Wrong::Type(message)) => {
                list.results.push(Report::error(message.clone()));
                return Err(Stop::Failed(message));
            }
            Err(Wrong::Value(message)) => return Err(Stop::Failed(message)),
        };
        let change = Change::new(&config.image, Rule::TagOrDigest)
            .map_err(|_| Stop::Panicked(super::NIL.into()))?;
        let mut changed = Vec::with_capacity(list.items.len());
        let mut reports = Vec::new();
        for item in &list.items {
            clock.check()?;
            let mut made = |path: &str, old: &str, new: &str| {
                let message = format!("set image from {old} to {new}");
                charge(4 * message.len());
                reports.push(Report {
                    field: Some(path.to_owned()),
                    values: Some([old.to_owned(), new.to_owned()]),
                    file: Some((item.path().to_owned(), index(item))),
                    object: Some(item.identity()),
                    ..Report::info(message)
                });
            };
            let fields = &config.additional_image_fields;
            // What fails leaves the list as it was.
            changed.push(set_fields(item, fields, &change, &mut made)?);
        }
        list.items = changed;
        if reports.is_empty() {
            reports.push(Report::info("no images changed"));
        }
        reports.sort_by_cached_key(order);
        list.results.append(&mut reports);
        Ok(())
    }
}

enum Wrong {
    Type(String),
    Value(String),
}

fn read(config: &Node) -> Result<Config, Wrong> {
    let mut read = match (config.api_version(), config.kind()) {
        ("v1", "ConfigMap") => Config {
            image: of_data(config)?,
            ..Config::default()
        },
        (api_version @ "fn.kpt.dev/v1alpha1", kind @ "SetImage") => {
            typed::read(config, Scalars::Strict).map_err(|_| {
                let name = config.name();
                Wrong::Type(format!(
                    "Resource(apiVersion={api_version}, kind={kind}, Name={name}) has unmatched field type: `"
                ))
            })?
        }
        _ => {
            let message = "`functionConfig` must be a `ConfigMap` or `SetImage`";
            return Err(Wrong::Value(message.into()));
        }
    };
    let image = &read.image;
    let [is_renamed, is_tagged, is_pinned] =
        [&image.new_name, &image.new_tag, &image.digest].map(|part| !part.is_empty());
    let missing = match () {
        () if image.name.is_empty() => "missing image name",
        () if !is_renamed && !is_tagged && !is_pinned => "missing image newName, newTag, or digest",
        () if is_tagged && is_pinned => "image newTag and digest both set",
        () => {
            read.additional_image_fields.extend(kustomize_fields());
            return Ok(read);
        }
    };
    Err(Wrong::Value(missing.into()))
}

/// Any scalar is text here, unlike in an object of the function's own type.
fn of_data(config: &Node) -> Result<Image, Wrong> {
    let wrong = || Wrong::Type("SubObject has unmatched field type: `data".into());
    let mut image = Image::default();
    let Some(data) = config.get("data").filter(|data| !data.is_null()) else {
        return Ok(image);
    };
    if !data.is_mapping() {
        return Err(wrong());
    }
    for (key, value) in data.fields() {
        let place = match key.value() {
            Some("name") => &mut image.name,
            Some("newName") => &mut image.new_name,
            Some("tagSuffix") => &mut image.tag_suffix,
            Some("newTag") => &mut image.new_tag,
            Some("digest") => &mut image.digest,
            _ => continue,
        };
        if value.value().is_none() {
            return Err(wrong());
        }
        value.text_or_null().clone_into(place);
    }
    Ok(image)
}

/// Where kustomize looks for images, in objects of any kind.
fn kustomize_fields() -> impl Iterator<Item = FieldSpec> {
    [
        "spec/containers[]/image",
        "spec/initContainers[]/image",
        "spec/template/spec/containers[]/image",
        "spec/template/spec/initContainers[]/image",
    ]
    .into_iter()
    .map(|path| FieldSpec::new("", "", "", path, true))
}

fn index(item: &Node) -> i64 {
    let index = match item.annotation(INDEX) {
        "" => item.annotation(LEGACY_INDEX),
        index => index,
    };
    index.parse().unwrap_or(0)
}

/// The SDK's order of results: by file, then by how Go prints them.
fn order(report: &Report) -> (Option<(String, i64)>, String) {
    let [api_version, kind, name, namespace] = report.object.clone().unwrap_or_default();
    let [old, new] = report.values.clone().unwrap_or_default();
    let path = report.field.as_deref().unwrap_or_default();
    (
        report.file.clone(),
        format!(
            "&{{{{{api_version} {kind}}} {{{name} {namespace}}}}},field:&{{{path} {old} {new}}}"
        ),
    )
}
