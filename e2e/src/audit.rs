//! Who asked the API server for what: its audit log, read.

use std::fs;

use anyhow::{Context, Result};
use cluster::layout::audit_log;
use serde_json::Value;

/// Every answered request for objects of a namespace, oldest first, as audit events. The
/// components' own requests are not written down, and neither are bodies.
pub fn audited_requests(namespace: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(audit_log()).context("could not read the audit log")?;
    let mut requests = Vec::new();
    // The last line may be half-written.
    for line in text.lines().filter(|line| line.ends_with('}')) {
        let event: Value = serde_json::from_str(line)?;
        if event["objectRef"]["namespace"] == namespace {
            requests.push(event);
        }
    }
    Ok(requests)
}

/// The names of the pods of a namespace that were asked to be created, deleted and so on, by
/// whomever, oldest first.
pub fn audited_pods(namespace: &str, verb: &str) -> Result<Vec<String>> {
    let requests = audited_requests(namespace)?;
    let pods = requests
        .iter()
        .filter(|event| event["verb"] == verb && event["objectRef"]["resource"] == "pods")
        .filter(|event| event["objectRef"]["subresource"].is_null());
    let name = |event: &Value| event["objectRef"]["name"].as_str().map(str::to_owned);
    Ok(pods.map(|event| name(event).unwrap_or_default()).collect())
}
