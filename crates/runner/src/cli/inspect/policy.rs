//! What an image policy says about an image: a dry run of `--image-policy`.

use std::{path::Path, sync::Arc};

use registry::{Client, Image, Reference};
use serde::Serialize;
use tokio::time::Instant;

use crate::policy::{Current, Guard, PolicyFile, Runtime};

/// Serialised as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Ruling {
    pub(super) allowed: bool,
    pub(super) summary: String,
}

/// A policy, and the guard that fetches signatures.
pub(super) fn guard(path: &Path, client: &Arc<Client>) -> anyhow::Result<Guard> {
    let current = Arc::new(Current::start(PolicyFile(path.to_owned()))?);
    Ok(Guard::new(current, Arc::clone(client)))
}

impl Ruling {
    /// About an image that a pod would run.
    pub(super) async fn of_image(
        guard: &Guard,
        reference: &Reference,
        image: &Image,
        deadline: Instant,
    ) -> Self {
        match guard.admit(reference, &image.digest, deadline).await {
            Err(refused) => Self::refused(&refused),
            Ok(admission) => {
                let rule = admission.rule.unwrap_or_default();
                let mut summary = format!("allowed by rule {rule:?}");
                if let Some(key) = admission.signed_by {
                    summary += &format!(", signed by the key {key}");
                }
                if let Some(warning) = admission.warning {
                    summary += &format!(", with a warning: {warning}");
                }
                Self {
                    allowed: true,
                    summary,
                }
            }
        }
    }

    /// About the bundled function that would answer instead; `None`: it would not.
    pub(super) fn of_bundled(guard: &Guard, reference: &Reference) -> Option<Self> {
        guard.lets_run(reference, Runtime::Bundled).ok()?;
        Some(Self {
            allowed: true,
            summary: "the bundled function may answer (bundled: allow)".into(),
        })
    }

    pub(super) fn refused(refused: &impl ToString) -> Self {
        Self {
            allowed: false,
            summary: format!("refused: {}", refused.to_string()),
        }
    }
}
