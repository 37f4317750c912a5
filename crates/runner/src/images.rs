//! How callers name functions, and how their registries are asked.

use registry::{Client, Keychain, Reference, Timeouts, Transport};
use service::EvaluateError;

use crate::config::RegistryConfig;

/// The full reference of `image`: a name without a slash, such as
/// `set-labels:v0.2`, is below `prefix`, which may or may not end with a slash.
pub(crate) fn resolve(prefix: &str, image: &str) -> String {
    if image.is_empty() || image.contains('/') || prefix.is_empty() {
        image.to_owned()
    } else {
        format!("{}/{image}", prefix.trim_end_matches('/'))
    }
}

/// Refuses what no registry could have.
pub(crate) fn parse(image: &str) -> Result<Reference, EvaluateError> {
    image.parse().map_err(
        |reason: registry::InvalidReference| EvaluateError::InvalidImage {
            image: image.to_owned(),
            reason: reason.to_string(),
        },
    )
}

/// A client for registries as the flags describe them.
pub(crate) fn client(config: &RegistryConfig, timeouts: Timeouts) -> Client {
    let keychain = if config.private {
        Keychain::File(config.auth_file.clone())
    } else {
        Keychain::Default
    };
    let transport = Transport {
        authority: config.private_tls.then(|| config.tls_directory.clone()),
        insecure: config.insecure.clone(),
    };
    Client::new(keychain, transport, timeouts)
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn a_prefix_may_or_may_not_end_with_a_slash() {
        for (prefix, image, whole) in [
            ("a/b/", "fn:v1", "a/b/fn:v1"),
            ("a/b", "fn:v1", "a/b/fn:v1"),
            ("", "fn:v1", "fn:v1"),
            ("a/b", "c/fn:v1", "c/fn:v1"),
            ("a/b", "", ""),
        ] {
            assert_eq!(resolve(prefix, image), whole);
        }
    }
}
