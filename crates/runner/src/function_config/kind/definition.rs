//! The kinds' definitions, made from our own types, for a cluster without Porch: tests
//! need one. Porch ships its own; ours are looser where Kubernetes' own types begin.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use super::{GROUP, Spec, Status, VERSION};

/// A type of Kubernetes' own.
pub(super) struct Anything;

impl JsonSchema for Anything {
    fn schema_name() -> Cow<'static, str> {
        "Anything".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// Both `CustomResourceDefinition` objects.
///
/// # Panics
/// If our own types have no schema, which a test would show.
pub fn definitions() -> [Value; 2] {
    let executors = ["podExecutor", "binaryExecutor", "goExecutor"];
    let mut spec = schema::<Spec>();
    spec["anyOf"] = executors.map(|name| json!({ "required": [name] })).into();
    let object = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    [
        definition(
            "FunctionConfig",
            &json!({ "spec": spec, "status": schema::<Status>() }),
            &json!({ "status": {} }),
        ),
        definition(
            "ServiceTemplate",
            &json!({ "template": object }),
            &json!({}),
        ),
    ]
}

/// A type's schema without references and without what API servers do not take.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    schema
}

fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("title");
            // Would contradict the absence of the field.
            if fields
                .get("default")
                .is_some_and(|value| *value == json!([]))
            {
                fields.remove("default");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn definition(kind: &str, properties: &Value, subresources: &Value) -> Value {
    let (singular, mut all) = (kind.to_lowercase(), properties.clone());
    all["apiVersion"] = json!({ "type": "string" });
    all["kind"] = json!({ "type": "string" });
    all["metadata"] = json!({ "type": "object" });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{singular}s.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "kind": kind, "listKind": format!("{kind}List"),
                       "plural": format!("{singular}s"), "singular": singular },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": all } },
                "subresources": subresources,
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_the_fields_of_our_types_and_no_reference() {
        let [functions, services] = definitions();
        let text = functions.to_string();
        assert!(!text.contains("$ref"), "{text}");
        let schema = &functions["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        let spec = &schema["spec"]["properties"];
        assert_eq!(spec["image"]["minLength"], 1);
        assert_eq!(spec["binaryExecutor"]["properties"]["tags"]["minItems"], 1);
        let overrides = &spec["podExecutor"]["properties"]["templateOverrides"]["properties"];
        assert_eq!(overrides["container"]["properties"]["env"]["type"], "array");
        let seen = &schema["status"]["properties"]["functionRunnerObservedGeneration"];
        assert_eq!(seen["format"], "int64");
        assert_eq!(
            services["metadata"]["name"],
            "servicetemplates.config.porch.kpt.dev"
        );
    }

    /// The tags that Porch's own server runs, as its default objects name them.
    const IN_PORCH: &[(&str, &str)] = &[
        ("apply-replacements", "[v0.1, v0.1.5]"),
        ("set-namespace", "[v0.4, v0.4.5]"),
    ];

    fn bundled_objects() -> String {
        let mut text = String::from(
            "# Made from what is bundled: BLESS=1 cargo test -p runner --lib deployed_objects\n",
        );
        for function in functions::catalog::FUNCTIONS {
            let name = function.name;
            let versions: Vec<&str> = function
                .reproduced()
                .map(|chosen| chosen.release.version)
                .filter(|version| version.starts_with('v'))
                .collect();
            if versions.is_empty() {
                continue;
            }
            text += &format!(
                "---\napiVersion: {GROUP}/{VERSION}\nkind: FunctionConfig\nmetadata:\n  name: {name}\n  \
                 namespace: porch-fn-system\nspec:\n  image: {name}\n  prefixes: [\"\", \
                 ghcr.io/kptdev/krm-functions-catalog, gcr.io/kpt-fn]\n  binaryExecutor:\n    \
                 path: {name}\n    tags: [{}]\n",
                versions.join(", ")
            );
            if let Some((_, tags)) = IN_PORCH.iter().find(|(known, _)| *known == name) {
                text += &format!("  goExecutor:\n    tags: {tags}\n");
            }
        }
        text
    }

    #[test]
    fn deployed_objects_name_every_bundled_release() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../deploy/function-configs/bundled.yaml"
        );
        let expected = bundled_objects();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        let deployed = std::fs::read_to_string(path).unwrap();
        assert!(
            deployed == expected,
            "what is bundled has changed: run this test once with BLESS=1 and commit {path}"
        );
        for document in expected.split("---\n").skip(1) {
            let object: Value = serde_saphyr::from_str(document).unwrap();
            let spec: Spec = serde_json::from_value(object["spec"].clone()).unwrap();
            assert!(
                spec.binary_executor
                    .is_some_and(|binary| !binary.tags.is_empty())
            );
        }
    }
}
