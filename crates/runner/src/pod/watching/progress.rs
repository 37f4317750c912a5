//! How far a pod is from being usable, and why it fails: read from its status alone,
//! without I/O.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod, PodStatus};

/// How far a pod has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// On its way; what it waits for, as far as that is known.
    Waiting(String),
    /// It runs and has an address: its wrapper should answer.
    Addressed,
    /// Nothing will come of it, for this reason, in the cluster's own words.
    Failed(String),
    /// Being deleted.
    Leaving,
}

/// Reasons for which a container waits that do not pass by themselves in time.
const HOPELESS: &[&str] = &[
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// How the kubelet words it that its request to the container runtime was interrupted, because one
/// of the two was restarted. It makes the same request again by itself. Of a container that was
/// created already it gives gRPC's words without its code.
const INTERRUPTED: &[&str] = &[
    "context canceled",
    "code = Canceled",
    "code = Unavailable",
    "error reading from server",
    "transport is closing",
    "Error while dialing",
];

/// Reasons of containers that could not be started. The others are of containers that ran, or of
/// images.
const UNSTARTED: &[&str] = &["CreateContainerError", "RunContainerError", "StartError"];

/// Looks at a pod.
pub(crate) fn progress(pod: &Pod) -> Progress {
    if pod.metadata.deletion_timestamp.is_some() {
        return Progress::Leaving;
    }
    let Some(status) = &pod.status else {
        return Progress::Waiting("its status".into());
    };
    if let Some(trouble) = trouble(status) {
        return Progress::Failed(trouble);
    }
    let is_running = status.phase.as_deref() == Some("Running");
    if is_running && has_address(status) {
        Progress::Addressed
    } else {
        Progress::Waiting(waits_for(status))
    }
}

/// A pod's address is known long before the kubelet looks at its containers again
/// and says that they run: its wrapper may answer from here on.
pub(crate) fn has_address(status: &PodStatus) -> bool {
    let address = status.pod_ip.as_deref();
    address.is_some_and(|address| !address.is_empty())
}

fn trouble(status: &PodStatus) -> Option<String> {
    let containers = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    let container = containers.flatten().find_map(container_trouble);
    let is_over = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    if container.is_none() && !is_over {
        return None;
    }
    // Why the pod was ended, by an eviction for example, is why its containers have failed.
    let words = [status.reason.as_deref(), status.message.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    match (words.is_empty(), container) {
        (false, _) => Some(words.join(": ")),
        (true, Some(container)) => Some(container),
        (true, None) => Some("the pod has ended".to_owned()),
    }
}

fn container_trouble(container: &ContainerStatus) -> Option<String> {
    let name = &container.name;
    let state = container.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        if !HOPELESS.contains(&reason) {
            return None;
        }
        let message = waiting.message.as_deref().unwrap_or_default();
        if is_interrupted(reason, message) {
            return None;
        }
        // The status of the run before says why it crashed.
        let ended = container
            .last_state
            .as_ref()
            .and_then(|last| last.terminated.as_ref());
        let ended = ended.map_or(String::new(), |ended| {
            let reason = ended.reason.as_deref().unwrap_or("ended");
            format!(" (last time: {reason}, exit code {})", ended.exit_code)
        });
        return Some(format!("container {name:?}: {reason}: {message}{ended}"));
    }
    let ended = state
        .terminated
        .as_ref()
        .filter(|ended| ended.exit_code != 0)?;
    let reason = ended.reason.as_deref().unwrap_or("ended");
    let message = ended.message.as_deref().unwrap_or_default();
    if is_interrupted(reason, message) {
        return None;
    }
    let message = ended
        .message
        .as_deref()
        .map_or(String::new(), |message| format!(": {message}"));
    Some(format!(
        "container {name:?}: {reason}, exit code {}{message}",
        ended.exit_code
    ))
}

fn is_interrupted(reason: &str, message: &str) -> bool {
    UNSTARTED.contains(&reason) && INTERRUPTED.iter().any(|words| message.contains(words))
}

/// The container whose last log lines say what went wrong, and whether they are
/// those of the run before. `None` where none has run.
pub(crate) fn last_words(pod: &Pod) -> Option<(&str, bool)> {
    let status = pod.status.as_ref()?;
    let containers = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    containers.flatten().find_map(|container| {
        let has_failed = |state: &Option<ContainerState>| {
            let ended = state.as_ref().and_then(|state| state.terminated.as_ref());
            ended.is_some_and(|ended| ended.exit_code != 0)
        };
        if has_failed(&container.state) {
            return Some((container.name.as_str(), false));
        }
        has_failed(&container.last_state).then_some((container.name.as_str(), true))
    })
}

/// What the pod waits for: the scheduler's words, or the first container's.
fn waits_for(status: &PodStatus) -> String {
    let conditions = status.conditions.iter().flatten();
    let unscheduled = conditions
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .find_map(|condition| condition.message.clone());
    if let Some(message) = unscheduled {
        return format!("a node: {message}");
    }
    let containers = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses);
    let waiting = containers.flatten().find_map(|container| {
        let reason = container.state.as_ref()?.waiting.as_ref()?.reason.clone()?;
        Some(format!("container {:?}: {reason}", container.name))
    });
    waiting.unwrap_or_else(|| "its containers".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn seen(status: &Value) -> Progress {
        progress(&serde_json::from_value(json!({ "status": status })).unwrap())
    }

    fn container(state: &Value) -> Value {
        json!({ "phase": "Pending", "containerStatuses": [{
            "name": "function", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": state,
        }]})
    }

    #[test]
    fn a_pod_is_usable_once_it_runs_and_has_an_address() {
        assert_eq!(
            seen(&json!({ "phase": "Running", "podIP": "10.0.0.1" })),
            Progress::Addressed
        );
        for early in [
            json!({ "phase": "Pending", "podIP": "10.0.0.1" }),
            json!({ "phase": "Running" }),
            json!({}),
        ] {
            assert!(matches!(seen(&early), Progress::Waiting(_)));
        }
    }

    #[test]
    fn hopeless_states_are_told_in_the_kubelets_words() {
        for (state, words) in [
            (
                json!({ "waiting": { "reason": "ImagePullBackOff", "message": "not found" } }),
                "container \"function\": ImagePullBackOff: not found",
            ),
            (
                json!({ "terminated": { "reason": "OOMKilled", "exitCode": 137 } }),
                "container \"function\": OOMKilled, exit code 137",
            ),
        ] {
            assert_eq!(seen(&container(&state)), Progress::Failed(words.into()));
        }
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on disk" });
        assert_eq!(
            seen(&evicted),
            Progress::Failed("Evicted: low on disk".into())
        );
        let mut ended = container(&json!({ "terminated": { "reason": "Error", "exitCode": 137 } }));
        ended["reason"] = "Evicted".into();
        ended["message"] = "low on disk".into();
        let words = "Evicted: low on disk".to_owned();
        assert_eq!(seen(&ended), Progress::Failed(words), "not its symptom");
    }

    #[test]
    fn what_may_pass_by_itself_is_waited_for() {
        let state = json!({ "waiting": { "reason": "PodInitializing" } });
        let words = "container \"function\": PodInitializing".to_owned();
        assert_eq!(seen(&container(&state)), Progress::Waiting(words));
        let unschedulable = json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available",
        }]});
        let words = "a node: 0/1 nodes are available".to_owned();
        assert_eq!(seen(&unschedulable), Progress::Waiting(words));
    }

    #[test]
    fn a_start_that_a_restarted_kubelet_or_containerd_interrupted_is_waited_for() {
        let canceled = "failed to create containerd task: failed to create shim task: context \
                        canceled: unknown";
        let ended = json!({ "terminated": {
            "reason": "StartError", "exitCode": 128, "message": canceled,
        }});
        assert!(matches!(seen(&container(&ended)), Progress::Waiting(_)));
        let away = "rpc error: code = Unavailable desc = error reading from server: EOF";
        let waiting = json!({ "waiting": { "reason": "CreateContainerError", "message": away } });
        assert!(matches!(seen(&container(&waiting)), Progress::Waiting(_)));
        let away = "error reading from server: EOF";
        let waiting = json!({ "waiting": { "reason": "RunContainerError", "message": away } });
        assert!(matches!(seen(&container(&waiting)), Progress::Waiting(_)));

        let missing = json!({ "terminated": {
            "reason": "StartError", "exitCode": 128, "message": "exec: \"/none\": no such file",
        }});
        assert!(matches!(seen(&container(&missing)), Progress::Failed(_)));
        // A pod that is not started again is over, whatever the reason.
        let mut over = container(&ended);
        over["phase"] = "Failed".into();
        assert!(matches!(seen(&over), Progress::Failed(_)));
    }

    #[test]
    fn a_pod_on_its_way_out_is_leaving() {
        let pod = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" },
                          "status": { "phase": "Running", "podIP": "10.0.0.1" } });
        assert_eq!(
            progress(&serde_json::from_value(pod).unwrap()),
            Progress::Leaving
        );
    }
}
