//! Pods in the words of the tests: specifications, what a status says, and a pod's processes.

use std::fs;

use anyhow::{Context, Result};
use cluster::process::Process;
use cluster::seed::busybox_reference;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use serde_json::{Value, json};

/// A pod that runs a shell script once.
#[must_use]
pub fn shell(script: &str) -> Value {
    json!({
        "restartPolicy": "Never",
        "containers": [{
            "name": "main",
            "image": busybox_reference(),
            "command": ["sh", "-c", script],
        }],
    })
}

/// The same, as namespaces admit it that enforce Pod Security "restricted".
#[must_use]
pub fn restricted(mut spec: Value) -> Value {
    spec["securityContext"] = json!({
        "runAsNonRoot": true,
        "runAsUser": 65532,
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    spec["containers"][0]["securityContext"] = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
    });
    spec
}

/// A pod that runs an image as the image itself says, once.
#[must_use]
pub fn image(reference: &str) -> Value {
    json!({
        "restartPolicy": "Never",
        "containers": [{ "name": "main", "image": reference }],
    })
}

#[must_use]
pub fn is_running(status: &PodStatus) -> bool {
    status.phase.as_deref() == Some("Running")
}

/// Ended, well or not.
#[must_use]
pub fn is_over(status: &PodStatus) -> bool {
    matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"))
}

/// Whether a container waits or has ended for this reason, or did so before its last restart.
pub fn has_reason(reason: &str) -> impl Fn(&PodStatus) -> bool + '_ {
    move |status| {
        let mut containers = status.container_statuses.iter().flatten();
        containers.any(|container| reasons(container).contains(&reason))
    }
}

fn reasons(container: &ContainerStatus) -> Vec<&str> {
    let states = [&container.state, &container.last_state];
    let words = states.into_iter().flatten().flat_map(|state| {
        let waiting = state
            .waiting
            .as_ref()
            .and_then(|waiting| waiting.reason.as_deref());
        let ended = state
            .terminated
            .as_ref()
            .and_then(|ended| ended.reason.as_deref());
        [waiting, ended]
    });
    words.flatten().collect()
}

/// The processes of a pod's container, as the node sees them; the oldest first.
pub fn processes(pod: &Pod, container: &str) -> Result<Vec<Process>> {
    let statuses = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref());
    let id = statuses
        .into_iter()
        .flatten()
        .find(|status| status.name == container)
        .and_then(|status| status.container_id.as_deref())
        .and_then(|id| id.rsplit('/').next())
        .with_context(|| format!("container {container} never ran"))?;
    processes_in(id)
}

/// The wrapper servers of a pod, as the node sees them: also those of containers that the API server
/// has not heard of yet.
pub fn wrappers(pod: &Pod) -> Result<Vec<Process>> {
    let uid = pod.metadata.uid.as_deref().context("a pod has a uid")?;
    let mut all = processes_in(uid)?;
    all.retain(|process| {
        let name = fs::read_to_string(format!("/proc/{}/comm", process.pid()));
        name.is_ok_and(|name| name.trim_end() == "wrapper-server")
    });
    Ok(all)
}

/// The processes whose control group has this in its name; the oldest first.
fn processes_in(group: &str) -> Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process may end between the listing and the look.
        let groups = fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
        if groups.contains(group) {
            found.extend(Process::with_pid(pid));
        }
    }
    // Numbers begin anew when they run out, so a child may have the lower one.
    found.sort_by_key(Process::started);
    Ok(found)
}
