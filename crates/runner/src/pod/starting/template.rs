//! What function pods and their services look like: the inline template, the one of
//! a ConfigMap, or since Porch 1.6 the ones of a PodTemplate and a ServiceTemplate.
//!
//! The contract of a pod template: a container named `function` whose command
//! starts the wrapper server. Its image is replaced, and the wrapper's flags and
//! the function's entrypoint are appended to its arguments. Everything else stays as
//! the template's author wrote it.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodTemplate, Service};
use registry::Digest;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::function_config::{
    kind::ServiceTemplate,
    overrides::{FUNCTION_CONTAINER, wrapper_container},
};

const POD_KEY: &str = "template";
const SERVICE_KEY: &str = "serviceTemplate";

/// A pair of templates that keeps the contract.
#[derive(Debug, Clone)]
pub(crate) struct Templates {
    pub(crate) pod: Pod,
    pub(crate) service: Service,
    /// Changes with their content: pods of another version are replaced.
    pub(crate) version: String,
    /// The same for a ServiceTemplate, if there is one.
    pub(crate) service_version: Option<String>,
}

/// What is wrong with a template.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum TemplateError {
    #[error("pod template ConfigMap {config_map:?}, key {key:?}: {reason}")]
    ConfigMap {
        config_map: String,
        key: &'static str,
        reason: String,
    },
    #[error("{kind} {name:?}: {reason}")]
    Object {
        kind: &'static str,
        name: String,
        reason: String,
    },
}

impl Templates {
    /// The templates that come with the runner.
    ///
    /// # Panics
    /// If they break their own contract, which a test shows.
    pub(crate) fn inline(wrapper_image: &str) -> Self {
        let quoted = Value::from(wrapper_image).to_string();
        let pod = include_str!("template/pod.yaml").replace("WRAPPER_SERVER_IMAGE", &quoted);
        match Self::read("inline", &pod, include_str!("template/service.yaml")) {
            Ok(templates) => templates,
            Err(error) => panic!("{error}"),
        }
    }

    /// Those of a ConfigMap.
    pub(crate) fn from_config_map(config_map: &ConfigMap) -> Result<Self, TemplateError> {
        let name = config_map.metadata.name.as_deref().unwrap_or_default();
        let value = |key: &'static str| {
            let data = config_map.data.as_ref().and_then(|data| data.get(key));
            data.ok_or_else(|| complaint(name, key, "the ConfigMap has no such key"))
        };
        Self::read(name, value(POD_KEY)?, value(SERVICE_KEY)?)
    }

    /// Those of objects: what there is none of is the inline one's. A PodTemplate's
    /// wrapper is the one of the runner's configuration.
    pub(crate) fn from_objects(
        pod: Option<&PodTemplate>,
        service: Option<&ServiceTemplate>,
        wrapper_image: &str,
    ) -> Result<Self, TemplateError> {
        let mut templates = Self::inline(wrapper_image);
        if let Some(object) = pod {
            templates.version = object.metadata.resource_version.clone().unwrap_or_default();
            let complaint = |reason| TemplateError::Object {
                kind: "PodTemplate",
                name: object.metadata.name.clone().unwrap_or_default(),
                reason,
            };
            let template = object.template.clone().unwrap_or_default();
            let mut pod = Pod {
                metadata: template.metadata.unwrap_or_default(),
                spec: template.spec,
                status: None,
            };
            check(&pod).map_err(complaint)?;
            let wrapper = pod.spec.as_mut().and_then(wrapper_container);
            if let Some(container) = wrapper {
                container.image = Some(wrapper_image.to_owned());
            }
            templates.pod = pod;
        }
        if let Some(object) = service {
            let complaint = |reason: String| TemplateError::Object {
                kind: "ServiceTemplate",
                name: object.metadata.name.clone().unwrap_or_default(),
                reason,
            };
            let json = object.template.to_string();
            let service: Service =
                serde_json::from_str(&json).map_err(|error| complaint(found(&json, &error)))?;
            if service.spec.is_none() {
                return Err(complaint("its template has no spec".into()));
            }
            templates.service = service;
            templates
                .service_version
                .clone_from(&object.metadata.resource_version);
        }
        Ok(templates)
    }

    fn read(name: &str, pod_text: &str, service_text: &str) -> Result<Self, TemplateError> {
        let pod: Pod = parse(name, POD_KEY, pod_text)?;
        check(&pod).map_err(|reason| complaint(name, POD_KEY, &reason))?;
        let service: Service = parse(name, SERVICE_KEY, service_text)?;
        if service.spec.is_none() {
            return Err(complaint(name, SERVICE_KEY, "the Service has no spec"));
        }
        let digest = Digest::of(format!("{pod_text}\0{service_text}").as_bytes()).to_string();
        let version = digest
            .trim_start_matches("sha256:")
            .chars()
            .take(16)
            .collect();
        Ok(Self {
            pod,
            service,
            version,
            service_version: None,
        })
    }
}

fn complaint(config_map: &str, key: &'static str, reason: &str) -> TemplateError {
    TemplateError::ConfigMap {
        config_map: config_map.to_owned(),
        key,
        reason: reason.to_owned(),
    }
}

/// Numbers and booleans as kubectl reads them. By way of JSON, which the API
/// client reads anyway: the code that reads a whole Pod from YAML is larger than
/// the rest of the pod runtime.
fn parse<T: DeserializeOwned>(
    name: &str,
    key: &'static str,
    text: &str,
) -> Result<T, TemplateError> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true, legacy_octal_numbers: true };
    let value: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| complaint(name, key, &error.to_string()))?;
    let json = value.to_string();
    serde_json::from_str(&json).map_err(|error| complaint(name, key, &found(&json, &error)))
}

/// An error without its position in the JSON, which nobody sees, but with the
/// text before it.
fn found(json: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let end = json.floor_char_boundary(error.column().min(json.len()));
    let start = json.floor_char_boundary(end.saturating_sub(60));
    format!("{message}, at the end of `{}`", &json[start..end])
}

fn check(pod: &Pod) -> Result<(), String> {
    let spec = pod.spec.as_ref().ok_or("the Pod has no spec")?;
    let container = spec
        .containers
        .iter()
        .find(|container| container.name == FUNCTION_CONTAINER)
        .ok_or_else(|| format!("no container is named {FUNCTION_CONTAINER:?}"))?;
    if container.command.as_ref().is_none_or(Vec::is_empty) {
        return Err(format!(
            "the container {FUNCTION_CONTAINER:?} has no command; it has to start the wrapper server"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
