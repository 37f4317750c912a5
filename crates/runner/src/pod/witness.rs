//! What the cluster knows of a pod that a call was lost in: whether it is lost, why,
//! and whether the cluster would tell.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use registry::Reference;
use tokio::time::Instant;

use super::{launch::PodLauncher, watch::Watched as _};

/// A registry's answer is known, or a caller that is refused anyway does not wait for it.
const DIGEST: Duration = Duration::from_secs(2);

/// What evaluations and checks need to know of pods and images.
pub trait Witness: Send + Sync + 'static {
    /// How often a pod's containers have been started again, as far as it was told.
    fn restarts(&self, pod: &str) -> i32;

    /// Waits until it is told what became of a pod since it had been restarted that often:
    /// why it is lost, or why its container has ended before it was started again.
    fn death(&self, pod: &str, restarts: i32) -> impl Future<Output = String> + Send;

    /// Waits until a pod is no longer any good, and says why.
    fn lost(&self, pod: &str) -> impl Future<Output = String> + Send;

    /// Whether the cluster tells what happens: not while the API server is away.
    fn is_current(&self) -> bool;

    /// The digest that an image's tag stands for now, if that is known.
    fn digest(&self, image: &str) -> impl Future<Output = Option<String>> + Send;
}

impl Witness for PodLauncher {
    fn restarts(&self, pod: &str) -> i32 {
        self.watch.get(pod).map_or(0, |pod| restarts(&pod))
    }

    async fn death(&self, pod: &str, restarts: i32) -> String {
        let told = || death(self.watch.get(pod).as_deref(), restarts);
        self.watch.until(|| told().is_some()).await;
        told().unwrap_or_else(|| "the runner is shutting down".into())
    }

    async fn lost(&self, pod: &str) -> String {
        self.watch.lost(pod).await
    }

    fn is_current(&self) -> bool {
        self.watch.is_current()
    }

    async fn digest(&self, image: &str) -> Option<String> {
        let reference: Reference = image.parse().ok()?;
        let image = self.metadata.get(&reference, Instant::now() + DIGEST);
        Some(image.await.ok()?.digest.to_string())
    }
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref());
    let counts = statuses
        .into_iter()
        .flatten()
        .map(|status| status.restart_count);
    counts.sum()
}

/// What became of a pod since it had been restarted that often; `None` if nothing did.
fn death(pod: Option<&Pod>, before: i32) -> Option<String> {
    let Some(pod) = pod else {
        return Some(Pod::GONE.into());
    };
    if let Some(loss) = pod.loss() {
        return Some(loss);
    }
    if restarts(pod) <= before {
        return None;
    }
    let statuses = pod.status.as_ref()?.container_statuses.iter().flatten();
    let ended = statuses.filter_map(|status| {
        let ended = status.last_state.as_ref()?.terminated.as_ref()?;
        let reason = ended.reason.as_deref().unwrap_or("ended");
        let (name, code) = (&status.name, ended.exit_code);
        Some(format!(
            "container {name:?}: {reason}, exit code {code}; it was started again"
        ))
    });
    let ended: Vec<String> = ended.collect();
    if ended.is_empty() {
        Some("its container was started again".into())
    } else {
        Some(ended.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(restarts: i32, last: Option<&str>) -> Pod {
        let mut container = json!({ "name": "function", "image": "", "imageID": "", "ready": true,
                                    "restartCount": restarts, "state": { "running": {} } });
        if let Some(reason) = last {
            container["lastState"] = json!({ "terminated": { "reason": reason, "exitCode": 137 } });
        }
        let pod = json!({ "metadata": { "name": "a" }, "status": {
            "phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [container] } });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_container_that_was_started_again_is_told_with_the_kubelets_reason() {
        let fine = pod(1, Some("OOMKilled"));
        assert_eq!(restarts(&fine), 1);
        assert_eq!(death(Some(&fine), 1), None, "that was another call's");
        assert_eq!(
            death(Some(&fine), 0).unwrap(),
            "container \"function\": OOMKilled, exit code 137; it was started again"
        );
        assert!(
            death(Some(&pod(1, None)), 0)
                .unwrap()
                .contains("started again")
        );
        assert_eq!(death(None, 0).unwrap(), "the pod is gone");
    }
}
