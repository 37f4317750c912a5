//! How callers name functions.

use registry::Reference;
use service::EvaluateError;

/// The full reference of `image`: a name without a slash, such as
/// `set-labels:v0.2`, is below `prefix`.
pub(crate) fn resolve(prefix: &str, image: &str) -> String {
    if image.is_empty() || image.contains('/') {
        image.to_owned()
    } else {
        format!("{prefix}{image}")
    }
}

/// Refuses what no registry could have.
pub(crate) fn check(image: &str) -> Result<(), EvaluateError> {
    match image.parse::<Reference>() {
        Ok(_) => Ok(()),
        Err(reason) => Err(EvaluateError::InvalidImage {
            image: image.to_owned(),
            reason: reason.to_string(),
        }),
    }
}
