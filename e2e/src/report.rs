//! The evidence after a failure: the test's pods, events and logs, and what the components logged
//! about them. Short, because it stands between the reader and the failure itself.

use std::fmt::Write;
use std::time::Duration;

use cluster::component::Component;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{ListParams, LogParams};

use crate::scope::Scope;

/// Lines per log, and characters of each: enough to see a cause, few enough to be read.
const LINES: usize = 20;
const WIDTH: usize = 300;

/// How far back a component's log is searched for lines about the test.
const SEARCHED: usize = 2000;
const FOUND: usize = 6;

/// How long the API server is asked for evidence; it may be what is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything the cluster knows about a test; what cannot be had is said instead.
pub async fn report(scope: &Scope) -> String {
    let mut text = format!("---- what took part in {} ----\n", scope.namespace());
    if tokio::time::timeout(PATIENCE, objects(scope, &mut text))
        .await
        .is_err()
    {
        add(
            &mut text,
            "pods and events",
            "the API server does not answer",
        );
    }
    for component in Component::ALL {
        let log = component.log_tail(SEARCHED);
        let about = |line: &&str| line.contains(scope.namespace());
        let lines: Vec<&str> = log.lines().filter(about).collect();
        let last = lines[lines.len().saturating_sub(FOUND)..].join("\n");
        add(&mut text, &format!("{component} about it"), &last);
    }
    text
}

async fn objects(scope: &Scope, text: &mut String) {
    match scope.api::<Pod>().list(&ListParams::default()).await {
        Ok(pods) => {
            for pod in &pods {
                describe(scope, pod, text).await;
            }
        }
        Err(error) => add(text, "pods", &format!("cannot be listed: {error}")),
    }
    match scope.api::<Event>().list(&ListParams::default()).await {
        Ok(events) => {
            let line = |event: &Event| {
                let part = |text: &Option<String>| text.clone().unwrap_or_default();
                let object = part(&event.involved_object.name);
                format!("{object}: {} {}", part(&event.reason), part(&event.message))
            };
            let lines: Vec<String> = events.iter().map(line).collect();
            add(text, "events", &lines.join("\n"));
        }
        Err(error) => add(text, "events", &format!("cannot be listed: {error}")),
    }
}

async fn describe(scope: &Scope, pod: &Pod, text: &mut String) {
    let name = pod.name_any();
    // Over several lines, so that none is cut.
    let status = serde_json::to_string(&pod.status).unwrap_or_default();
    let status = status.replace("},{", "},\n{").replace("],", "],\n");
    add(text, &format!("status of pod {name}"), &status);
    let spec = pod.spec.as_ref();
    let containers = spec.into_iter().flat_map(|spec| {
        spec.init_containers
            .iter()
            .flatten()
            .chain(&spec.containers)
    });
    for container in containers {
        let parameters = LogParams {
            container: Some(container.name.clone()),
            tail_lines: Some(LINES as i64),
            ..LogParams::default()
        };
        let log = scope.api::<Pod>().logs(&name, &parameters).await;
        let log = log.unwrap_or_else(|error| format!("cannot be had: {error}"));
        add(text, &format!("log of {name}/{}", container.name), &log);
    }
}

/// Nothing is added about what has nothing to say.
fn add(text: &mut String, title: &str, content: &str) {
    if content.trim().is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "== {title}");
    for line in content.trim_end().lines() {
        let end = line.char_indices().nth(WIDTH);
        let shown = end.map_or(line, |(end, _)| &line[..end]);
        let _ = writeln!(text, "{shown}");
    }
}
