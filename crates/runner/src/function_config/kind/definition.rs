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
}
