//! Porch 1.6's kinds as the API server has them: `FunctionConfig` and `ServiceTemplate`.
//!
//! An object's `spec` is read on its own: one that is not understood must not hide the
//! others, as it would if a whole list were read at once.

use std::borrow::Cow;

use k8s_openapi::{
    api::core::v1::{EnvFromSource, EnvVar, PodSecurityContext, ResourceRequirements},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::Resource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const GROUP: &str = "config.porch.kpt.dev";
pub(crate) const VERSION: &str = "v1alpha1";

/// Which functions are run how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FunctionConfig {
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// A [`Spec`], if it is understood.
    #[serde(default)]
    pub spec: Value,
    /// A [`Status`], if it is understood.
    #[serde(default)]
    pub status: Value,
}

/// What services in front of function pods look like.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServiceTemplate {
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// A service's `metadata` and `spec`.
    #[serde(default)]
    pub template: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    /// The last element of the image's path.
    #[cfg_attr(any(test, feature = "definitions"), schemars(length(min = 1)))]
    pub image: String,
    /// What may stand before it; the empty one is `--default-image-prefix`.
    #[serde(default)]
    pub prefixes: Vec<String>,
    pub pod_executor: Option<PodExecutor>,
    pub binary_executor: Option<BinaryExecutor>,
    pub go_executor: Option<GoExecutor>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodExecutor {
    /// Each a constraint.
    #[serde(default)]
    pub tags: Vec<String>,
    pub time_to_live: Option<String>,
    pub max_parallel_executions: Option<i64>,
    pub preferred_max_queue_length: Option<i64>,
    pub template_overrides: Option<TemplateOverrides>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TemplateOverrides {
    pub service_account_name: Option<String>,
    #[cfg_attr(
        any(test, feature = "definitions"),
        schemars(with = "Option<definition::Anything>")
    )]
    pub security_context: Option<PodSecurityContext>,
    pub init_container: Option<ContainerOverrides>,
    pub container: Option<ContainerOverrides>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerOverrides {
    #[cfg_attr(
        any(test, feature = "definitions"),
        schemars(with = "Option<definition::Anything>")
    )]
    pub resources: Option<ResourceRequirements>,
    #[serde(default)]
    #[cfg_attr(
        any(test, feature = "definitions"),
        schemars(with = "Vec<definition::Anything>")
    )]
    pub env: Vec<EnvVar>,
    #[serde(default)]
    #[cfg_attr(
        any(test, feature = "definitions"),
        schemars(with = "Vec<definition::Anything>")
    )]
    pub env_from: Vec<EnvFromSource>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
pub struct BinaryExecutor {
    #[cfg_attr(any(test, feature = "definitions"), schemars(length(min = 1)))]
    pub tags: Vec<String>,
    /// Absolute, or below `--functions`.
    #[cfg_attr(any(test, feature = "definitions"), schemars(length(min = 1)))]
    pub path: String,
}

/// Runs inside of Porch's server; here it is a bundled function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
pub struct GoExecutor {
    #[serde(default)]
    pub tags: Vec<String>,
    pub id: Option<String>,
}

/// What Porch's parts say about an object. They share `error`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "definitions"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub api_server_observed_generation: Option<i64>,
    pub function_runner_observed_generation: Option<i64>,
    pub controller_observed_generation: Option<i64>,
    pub error: Option<String>,
}

macro_rules! kind {
    ($type:ty, $kind:literal, $plural:literal) => {
        impl Resource for $type {
            type DynamicType = ();
            type Scope = k8s_openapi::NamespaceResourceScope;

            fn kind((): &()) -> Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> Cow<'_, str> {
                GROUP.into()
            }

            fn version((): &()) -> Cow<'_, str> {
                VERSION.into()
            }

            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

kind!(FunctionConfig, "FunctionConfig", "functionconfigs");
kind!(ServiceTemplate, "ServiceTemplate", "servicetemplates");

#[cfg(any(test, feature = "definitions"))]
pub mod definition;
