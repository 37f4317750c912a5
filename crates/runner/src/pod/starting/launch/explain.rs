//! Why a pod did not come up, in words for its callers.

use std::{sync::Once, time::Duration};

use causes::in_full;
use kube::api::LogParams;
use registry::MetadataError;
use tokio::time::timeout;

use super::PodLauncher;
use crate::{
    pod::watching::{Progress, SeenPod},
    policy::Refused,
    pool::{Failure, Outlook},
};

/// How long a container's last words may take: the caller waits for the reason.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LAST_LINES: i64 = 10;

impl PodLauncher {
    /// Why a pod failed, with the last lines of the container at fault.
    pub(super) async fn failure(&self, name: &str, reason: String) -> Failure {
        // As it is now: before its last words have come, the kubelet may have started it again.
        let pod = self.objects.watch.get(name);
        let outlook = outlook(pod.as_deref());
        let log = match &pod {
            Some(pod) => self.last_words(pod).await.unwrap_or_default(),
            None => String::new(),
        };
        Failure {
            log: log.into(),
            outlook,
            ..Failure::passing(reason)
        }
    }

    async fn last_words(&self, pod: &SeenPod) -> Option<String> {
        static DENIED: Once = Once::new();
        let (container, previous) = pod.last_words.as_ref()?;
        let parameters = LogParams {
            container: Some(container.to_string()),
            previous: *previous,
            tail_lines: Some(LAST_LINES),
            ..LogParams::default()
        };
        let logs = self.objects.pods.logs(&pod.identity.name, &parameters);
        let logs = self.objects.gate.once_uncounted(logs);
        match timeout(LAST_WORDS, logs).await.ok()? {
            Ok(log) => Some(log.trim_end().to_owned()),
            Err(error) => {
                if error.is_denied() {
                    DENIED.call_once(|| {
                        tracing::warn!(
                            "logs of pods cannot be read, so errors lack the last log lines of a \
                             failed pod; to change that, allow \"get\" of pods/log"
                        );
                    });
                }
                None
            }
        }
    }
}

/// What the image policy says against a pod.
pub(super) fn not_admitted(refused: Refused) -> Failure {
    match refused {
        Refused::Denied(reason) => Failure::denied(reason),
        Refused::Unknown(reason) => Failure::passing(reason),
    }
}

/// What has failed by itself would do so again; what somebody has deleted or the node
/// has evicted would not.
fn outlook(pod: Option<&SeenPod>) -> Outlook {
    let Some(pod) = pod else {
        return Outlook::Taken;
    };
    match pod.progress {
        Progress::Leaving => Outlook::Taken,
        Progress::Failed(_) if pod.was_ended => Outlook::Taken,
        Progress::Failed(_) => Outlook::Lasting,
        Progress::Waiting(_) | Progress::Addressed => Outlook::Passing,
    }
}

pub(super) fn unknown_image(error: &MetadataError) -> Failure {
    let reason = in_full(error);
    match error {
        MetadataError::Fetch(fetch) if fetch.is_definite() => Failure::lasting(reason),
        _ => Failure::passing(reason),
    }
}
