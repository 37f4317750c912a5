//! The types that the SDK reads configurations into, as far as they can refuse one.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Scalars, check_keys, read};
use crate::yaml::Node;

/// Kubernetes' ConfigMap.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "v1.ConfigMap", rename_all = "camelCase")]
pub struct ConfigMap {
    api_version: String,
    kind: String,
    metadata: ConfigMapMeta,
    immutable: Option<bool>,
    pub data: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "v1.ObjectMeta", rename_all = "camelCase")]
struct ConfigMapMeta {
    name: String,
    generate_name: String,
    namespace: String,
    resource_version: String,
    generation: i64,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    finalizers: Vec<String>,
}

impl ConfigMap {
    /// Reads one as the SDK does. The error is Go's.
    pub fn read(config: &Node) -> Result<Self, String> {
        let embedded = [("ConfigMap.", "ConfigMap.TypeMeta.")];
        let names_type = |error: &String| {
            error.contains("ConfigMap.kind ") || error.contains("ConfigMap.apiVersion ")
        };
        check_keys(config)?;
        read(config, Scalars::Strict).map_err(|error: String| {
            if names_type(&error) {
                embed(error, &embedded)
            } else {
                error
            }
        })
    }
}

/// A configuration of a function's own type, which embeds kyaml's metadata.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "own.Type", rename_all = "camelCase")]
struct Own {
    api_version: String,
    kind: String,
    metadata: OwnMeta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename = "yaml.ObjectMeta", rename_all = "camelCase")]
struct OwnMeta {
    name: String,
    namespace: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// Whether an object can be read into the function's own type, whose further fields are text or
/// mappings. The error is Go's.
pub fn check_own(
    config: &Node,
    type_name: &str,
    texts: &[&'static str],
    maps: &[&'static str],
) -> Result<(), String> {
    check_keys(config)?;
    // Go reads the fields in their order in JSON and reports the first one that is wrong.
    let mut errors: Vec<(&str, String)> = Vec::new();
    if let Err(error) = read::<Own>(config, Scalars::Strict) {
        let of = ["apiVersion", "kind", "metadata"];
        let field = of.into_iter().find(|field| {
            error.contains(&format!("Type.{field} ")) || error.contains(&format!("Meta.{field}."))
        });
        errors.push((field.unwrap_or(""), error));
    }
    let given = |field: &str| config.get(field).filter(|value| !value.is_null());
    let at = |field: &str, error: String, go_type: &str| {
        let place = format!("Go struct field Type.{field} of type {go_type}");
        let known = error.find("Go value of type").unwrap_or(error.len());
        format!("{}{place}", &error[..known])
    };
    for field in texts {
        if let Some(Err(error)) = given(field).map(|it| read::<String>(it, Scalars::Strict)) {
            errors.push((field, at(field, error, "string")));
        }
    }
    for field in maps {
        let odd = given(field).filter(|value| !value.is_mapping());
        let read = odd.map(|value| read::<BTreeMap<String, String>>(value, Scalars::Strict));
        if let Some(Err(error)) = read {
            errors.push((field, at(field, error, "map[string]interface {}")));
        }
    }
    errors.sort_by_key(|(field, _)| *field);
    match errors.into_iter().next() {
        None => Ok(()),
        Some((_, error)) => Err(embed(
            error,
            &[
                ("Type.kind ", "Type.ResourceMeta.TypeMeta.kind "),
                ("Type.apiVersion ", "Type.ResourceMeta.TypeMeta.apiVersion "),
                ("Type.metadata ", "Type.ResourceMeta.metadata "),
                (
                    "Meta.metadata.name ",
                    "Meta.ResourceMeta.metadata.NameMeta.name ",
                ),
                (
                    "Meta.metadata.namespace ",
                    "Meta.ResourceMeta.metadata.NameMeta.namespace ",
                ),
                (
                    "Meta.metadata.labels ",
                    "Meta.ResourceMeta.metadata.labels ",
                ),
                (
                    "Meta.metadata.annotations ",
                    "Meta.ResourceMeta.metadata.annotations ",
                ),
                ("field Type.", &format!("field {type_name}.")),
            ],
        )),
    }
}

/// Go's messages name the structs in which fields are embedded.
fn embed(error: String, names: &[(&str, &str)]) -> String {
    names.iter().fold(error, |error, (plain, embedded)| {
        error.replacen(plain, embedded, 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_all;

    #[test]
    fn wrong_configurations_are_refused_in_gos_words() {
        let root = |text: &str| parse_all(text).unwrap().remove(0).root;
        for (text, told) in [
            (
                "kind: []",
                "array into Go struct field ConfigMap.TypeMeta.kind of type string",
            ),
            (
                "metadata: {name: 7}",
                "number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                "data: {a: 7}",
                "number into Go struct field ConfigMap.data of type string",
            ),
            (
                "data: a",
                "string into Go struct field ConfigMap.data of type map[string]string",
            ),
        ] {
            let error = ConfigMap::read(&root(text)).unwrap_err();
            assert_eq!(error, format!("json: cannot unmarshal {told}"));
        }
        for (text, told) in [
            (
                "kind: {}",
                "object into Go struct field StarlarkRun.ResourceMeta.TypeMeta.kind of type string",
            ),
            (
                "metadata: true",
                "bool into Go struct field StarlarkRun.ResourceMeta.metadata of type yaml.ObjectMeta",
            ),
            (
                "metadata: {name: []}",
                "array into Go struct field ObjectMeta.ResourceMeta.metadata.NameMeta.name of type string",
            ),
            (
                "params: 1.5",
                "number into Go struct field StarlarkRun.params of type map[string]interface {}",
            ),
            (
                "source: 7",
                "number into Go struct field StarlarkRun.source of type string",
            ),
        ] {
            let error =
                check_own(&root(text), "StarlarkRun", &["source"], &["params"]).unwrap_err();
            assert_eq!(error, format!("json: cannot unmarshal {told}"));
        }
    }

    #[test]
    fn a_date_is_a_time_to_the_sdk() {
        let root = parse_all("data: {a: 2020-01-01}").unwrap().remove(0).root;
        let data = ConfigMap::read(&root).unwrap().data;
        assert_eq!(data["a"], "2020-01-01T00:00:00Z");
    }
}
