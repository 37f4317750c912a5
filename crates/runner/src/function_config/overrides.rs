//! What a function changes of its pods' template.
//!
//! The wrapper's init container and the function's container are found by their names.
//! Porch's own runner takes the first of each; so does this one for a template whose init
//! container has another name.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, EnvFromSource, EnvVar, PodSecurityContext, PodSpec, ResourceRequirements,
    },
    apimachinery::pkg::api::resource::Quantity,
};
use registry::Digest;
use serde::Serialize;

use super::kind;

/// The init container that brings the wrapper, in every template that is shipped.
const WRAPPER_CONTAINER: &str = "copy-wrapper-server";
/// The container that becomes the function.
pub(crate) const FUNCTION_CONTAINER: &str = "function";

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Overrides {
    service_account: Option<String>,
    security_context: Option<PodSecurityContext>,
    init_container: Part,
    container: Part,
}

/// What changes in one container.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Part {
    /// Replaces all of the template's.
    resources: Option<ResourceRequirements>,
    requests: Option<BTreeMap<String, Quantity>>,
    limits: Option<BTreeMap<String, Quantity>>,
    env: Vec<EnvVar>,
    env_from: Vec<EnvFromSource>,
}

impl Overrides {
    /// Those of a file: the function's resources, as a whole.
    pub(crate) fn of_resources(resources: Option<ResourceRequirements>) -> Self {
        Self {
            container: Part {
                resources,
                ..Part::default()
            },
            ..Self::default()
        }
    }

    /// Those of an object.
    pub(crate) fn of_object(overrides: kind::TemplateOverrides) -> Self {
        let part = |part: Option<kind::ContainerOverrides>| Part::of(part.unwrap_or_default());
        Self {
            service_account: overrides
                .service_account_name
                .filter(|name| !name.is_empty()),
            security_context: overrides.security_context,
            init_container: part(overrides.init_container),
            container: part(overrides.container),
        }
    }

    /// Another text for other overrides; `None` where there are none.
    pub(crate) fn version(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        let text = serde_json::to_vec(self).unwrap_or_default();
        let digest = Digest::of(&text).to_string();
        let hex = digest.trim_start_matches("sha256:");
        Some(hex.chars().take(16).collect())
    }

    pub(crate) fn apply(&self, spec: &mut PodSpec) {
        if let Some(account) = &self.service_account {
            spec.service_account_name = Some(account.clone());
            // The older name of the same; both have to agree.
            spec.service_account = None;
        }
        if let Some(context) = &self.security_context {
            spec.security_context = Some(context.clone());
        }
        if let Some(container) = wrapper_container(spec) {
            self.init_container.apply(container);
        }
        let mut containers = spec.containers.iter_mut();
        if let Some(container) = containers.find(|c| c.name == FUNCTION_CONTAINER) {
            self.container.apply(container);
        }
    }
}

/// The init container that brings the wrapper: by its name, else the first one.
pub(crate) fn wrapper_container(spec: &mut PodSpec) -> Option<&mut Container> {
    let all = spec.init_containers.as_mut()?;
    let named = all.iter().position(|c| c.name == WRAPPER_CONTAINER);
    all.get_mut(named.unwrap_or(0))
}

impl Part {
    fn of(overrides: kind::ContainerOverrides) -> Self {
        let resources = overrides.resources.unwrap_or_default();
        Self {
            resources: None,
            requests: resources.requests,
            limits: resources.limits,
            env: overrides.env,
            env_from: overrides.env_from,
        }
    }

    fn apply(&self, container: &mut Container) {
        if let Some(resources) = &self.resources {
            container.resources = Some(resources.clone());
        }
        if self.requests.is_some() || self.limits.is_some() {
            let resources = container.resources.get_or_insert_default();
            for (ours, theirs) in [
                (&self.requests, &mut resources.requests),
                (&self.limits, &mut resources.limits),
            ] {
                if ours.is_some() {
                    theirs.clone_from(ours);
                }
            }
        }
        if !self.env.is_empty() {
            container.env = Some(self.env.clone());
        }
        if !self.env_from.is_empty() {
            container.env_from = Some(self.env_from.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn applied(overrides: &Value, spec: &Value) -> Value {
        let overrides = serde_json::from_value(overrides.clone()).unwrap();
        let mut spec: PodSpec = serde_json::from_value(spec.clone()).unwrap();
        Overrides::of_object(overrides).apply(&mut spec);
        serde_json::to_value(spec).unwrap()
    }

    #[test]
    fn containers_are_found_by_name_and_the_init_container_else_by_order() {
        let overrides = json!({ "initContainer": { "env": [{ "name": "A", "value": "1" }] },
                                "container": { "env": [{ "name": "B", "value": "2" }] } });
        let spec = json!({
            "initContainers": [{ "name": "first" }, { "name": "copy-wrapper-server" }],
            "containers": [{ "name": "sidecar" },
                           { "name": "function", "env": [{ "name": "HOME", "value": "/" }] }],
        });
        let spec = applied(&overrides, &spec);
        assert_eq!(spec["initContainers"][0].get("env"), None);
        assert_eq!(spec["initContainers"][1]["env"][0]["name"], "A");
        assert_eq!(spec["containers"][0].get("env"), None);
        assert_eq!(
            spec["containers"][1]["env"],
            json!([{ "name": "B", "value": "2" }]),
            "replaced, not added to"
        );
        let unnamed = json!({ "initContainers": [{ "name": "x" }, { "name": "y" }],
                              "containers": [{ "name": "function" }] });
        let spec = applied(&overrides, &unnamed);
        assert_eq!(spec["initContainers"][0]["env"][0]["name"], "A");
    }

    #[test]
    fn requests_and_limits_are_replaced_separately_and_the_rest_stays() {
        let overrides = json!({
            "serviceAccountName": "fn",
            "securityContext": { "runAsUser": 7 },
            "container": { "resources": { "limits": { "memory": "1Gi" } } },
        });
        let spec = json!({
            "serviceAccountName": "other",
            "securityContext": { "runAsUser": 1, "runAsNonRoot": true },
            "containers": [{ "name": "function", "image": "x", "resources": {
                "requests": { "cpu": "1" }, "limits": { "cpu": "2" } } }],
        });
        let spec = applied(&overrides, &spec);
        assert_eq!(spec["serviceAccountName"], "fn");
        assert_eq!(spec["securityContext"], json!({ "runAsUser": 7 }));
        let function = &spec["containers"][0];
        assert_eq!(function["image"], "x");
        assert_eq!(
            function["resources"],
            json!({ "requests": { "cpu": "1" }, "limits": { "memory": "1Gi" } })
        );
    }

    #[test]
    fn no_overrides_have_no_version_and_different_ones_different_versions() {
        let version = |overrides: Value| {
            Overrides::of_object(serde_json::from_value(overrides).unwrap()).version()
        };
        assert_eq!(
            version(json!({ "container": {}, "serviceAccountName": "" })),
            None
        );
        let one = version(json!({ "serviceAccountName": "a" }));
        assert!(one.is_some());
        assert_ne!(one, version(json!({ "serviceAccountName": "b" })));
        assert_eq!(one, version(json!({ "serviceAccountName": "a" })));
    }
}
