//! What the cluster knows of a pod that a call was lost in: whether the pod is lost, why,
//! and whether the cluster can be asked at all.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use registry::{Client, Metadata, Reference};
use tokio::time::Instant;

use crate::pod::{
    objects::Objects,
    watching::{SeenPod, Watched as _},
};

/// A registry's answer is known, or a caller that is refused anyway does not wait for it.
const DIGEST: Duration = Duration::from_secs(2);

/// What evaluations and checks need to know of pods and images.
pub(crate) trait Witness: Send + Sync + 'static {
    /// How often a pod's containers have been started again, as far as is known.
    fn restarts(&self, pod: &str) -> i32;

    /// Waits until the cluster reports what became of a pod since it had been restarted that often:
    /// why it is lost, or why its container has ended before it was started again.
    fn death(&self, pod: &str, restarts: i32) -> impl Future<Output = String> + Send;

    /// Waits until a pod cannot be used any more, and says why.
    fn lost(&self, pod: &str) -> impl Future<Output = String> + Send;

    /// Whether the cluster reports what happens: not while the API server is away.
    fn is_current(&self) -> bool;

    /// The digest that an image's tag stands for now, if that is known.
    fn digest(&self, image: &str) -> impl Future<Output = Option<String>> + Send;
}

/// What the watch and the registries know.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) objects: Arc<Objects>,
    pub(crate) metadata: Arc<Metadata<Client>>,
}

impl Witness for Evidence {
    fn restarts(&self, pod: &str) -> i32 {
        self.objects.watch.get(pod).map_or(0, |pod| pod.restarts)
    }

    async fn death(&self, pod: &str, restarts: i32) -> String {
        let is_told = |seen: Option<&SeenPod>| death(seen, restarts).is_some();
        self.objects.watch.until(pod, is_told).await;
        death(self.objects.watch.get(pod).as_deref(), restarts)
            .unwrap_or_else(|| "the runner is shutting down".into())
    }

    async fn lost(&self, pod: &str) -> String {
        self.objects.watch.lost(pod).await
    }

    fn is_current(&self) -> bool {
        self.objects.watch.is_current()
    }

    async fn digest(&self, image: &str) -> Option<String> {
        let reference: Reference = image.parse().ok()?;
        let image = self.metadata.get(&reference, Instant::now() + DIGEST);
        Some(image.await.ok()?.digest.to_string())
    }
}

/// What became of a pod since it had been restarted that often; `None` if nothing did.
fn death(pod: Option<&SeenPod>, before: i32) -> Option<String> {
    let Some(pod) = pod else {
        return Some(Pod::GONE.into());
    };
    if let Some(loss) = Pod::loss(pod) {
        return Some(loss);
    }
    if pod.restarts <= before {
        return None;
    }
    let ended = pod.ended_before.as_deref();
    Some(
        ended
            .unwrap_or("its container was started again")
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(restarts: i32, last: Option<&str>) -> SeenPod {
        let mut container = json!({ "name": "function", "image": "", "imageID": "", "ready": true,
                                    "restartCount": restarts, "state": { "running": {} } });
        if let Some(reason) = last {
            container["lastState"] = json!({ "terminated": { "reason": reason, "exitCode": 137 } });
        }
        let pod = json!({ "metadata": { "name": "a" }, "status": {
            "phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [container] } });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        SeenPod::from(&pod)
    }

    #[test]
    fn a_container_that_was_started_again_is_told_with_the_kubelets_reason() {
        let fine = pod(1, Some("OOMKilled"));
        assert_eq!(fine.restarts, 1);
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
