//! Labels and annotations on the pods and services of functions. This runner, its successor and
//! the runners beside it read them.

/// The label by which a service selects its pod, and we recognise ours.
pub(crate) const IMAGE_LABEL: &str = "fn.kpt.dev/image";
/// Which version of the template a pod was made of.
pub(crate) const TEMPLATE_VERSION: &str = "fn.kpt.dev/template-version";
/// Which overrides and which service template, where there are some.
pub(crate) const SETTINGS_VERSION: &str = "fn.kpt.dev/settings-version";
/// Unix seconds after which an idle pod may go.
pub(crate) const RECLAIM_AFTER: &str = "fn.kpt.dev/reclaim-after";
/// The whole reference that was asked for: labels are too short for it.
pub(crate) const IMAGE_REFERENCE: &str = "fn.kpt.dev/image-reference";
pub(crate) const IMAGE_DIGEST: &str = "fn.kpt.dev/image-digest";
/// Which runner a pod belongs to.
pub(crate) const OWNER: &str = "fn.kpt.dev/owner";
/// Which process of that runner made it: another one after each restart.
pub(crate) const INCARNATION: &str = "fn.kpt.dev/owner-incarnation";
/// That its owner could not have a lease when it made it.
pub(crate) const WITHOUT_LEASE: &str = "fn.kpt.dev/owner-without-lease";
