use serde_json::json;

use super::*;

/// A view with markup in every text that is not ours.
fn hostile() -> View {
    let bad = "<script>alert(1)</script>\"'&";
    serde_json::from_value(json!({
        "version": bad, "now": 100, "uptime_seconds": 9,
        "process": {
            "memory_bytes": 1, "descriptors": 1, "threads": 1, "budget_bytes": 1,
            "budget_used_bytes": 1, "requests_bytes": 1, "requests_used_bytes": 1,
            "ahead_processes": 0, "ahead_hits": 0, "ahead_misses": 0,
        },
        "functions": [{
            "function": format!("{bad}/{bad}"), "version": bad, "runtimes": [bad], "in_flight": 1,
            "queued": 1, "calls": 3, "errors": 1,
            "lately": { "calls": 3, "errors": 1, "p50": 1, "p95": 2, "p99": 3, "chart": [[3, 1]] },
        }],
        "pods": [{
            "name": bad, "function": bad, "phase": bad, "waits_for": bad, "age_seconds": 1,
            "idle_seconds": 1, "load": 1, "node": bad,
        }],
        "starts": [{
            "at": 1, "function": bad, "took_ms": 5, "phases": [[bad, 5]], "failure": bad,
        }],
        "failures": [{
            "at": 1, "image": bad, "runtime": bad, "pod": bad, "code": bad, "message": bad,
            "advice": bad,
        }],
        "watches": [{ "kind": bad, "is_connected": false, "age_seconds": 1, "interruptions": 1 }],
        "lease_age_seconds": 1,
        "registries": [{
            "host": bad, "requests": 1, "failures": 1, "answered": 1, "trouble": [1, bad],
        }],
        "configuration": {
            "flags": [{ "flag": bad, "value": bad, "is_given": true }],
            "variables": [[bad, bad]], "ignored": [[bad, bad]],
        },
    }))
    .unwrap()
}

#[test]
fn markup_in_names_and_messages_stays_text() {
    let page = html(&hostile());
    assert_eq!(page.matches("<script").count(), 1, "only our own: {page}");
    assert!(
        page.matches("&lt;script&gt;alert(1)").count() > 20,
        "{page}"
    );
    // Nor does it end an attribute.
    assert!(!page.contains(">\"'&"), "{page}");
}

#[test]
fn nothing_inline_that_the_policy_forbids_and_nothing_from_elsewhere() {
    let page = html(&hostile());
    for forbidden in [
        " style=",
        "<style",
        " onclick",
        "http://",
        "https://",
        "javascript:",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for asset in [STYLE, SCRIPT] {
        assert!(!asset.contains("http") && !asset.contains("@import"));
    }
}
