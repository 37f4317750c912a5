//! From an image to a pod that answers, and the end of pods.
//!
//! - [`launch`]: step by step, within the start timeout; and removal.
//! - [`template`], [`current_template`]: what a pod looks like; [`blueprint`]: with a function filled in.
//! - [`pull_secret`]: the secret with which kubelets pull private images.

mod blueprint;
mod current_template;
mod launch;
pub mod pull_secret;
mod template;

pub(crate) use blueprint::settings_version;
pub(crate) use current_template::CurrentTemplate;
pub(crate) use launch::{Images, Materials, PodLauncher, ServiceOwners};
pub(crate) use pull_secret::PullSecret;
