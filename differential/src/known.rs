//! The known differences, as precisely as they can be described. docs/bundled-functions.md says
//! why they are there.

use crate::{oracle::Oracle, process::Outcome};

/// Lists that the Go function cannot be asked about.
pub(crate) fn excluded(oracle: &Oracle, input: &str) -> Option<&'static str> {
    let recurses = oracle.name == "ensure-name-substring@v0.2.4";
    if recurses && input.contains("kind: EnsureNameSubstring") {
        return Some("recurses without end");
    }
    // Releases of the SDK's first half year.
    let is_first_sdk = ["set-image@v0.1.1", "set-namespace@v0.3"];
    if is_first_sdk
        .iter()
        .any(|name| oracle.name.starts_with(name))
        && !input.contains("items:")
    {
        return Some("crashes without items");
    }
    None
}

/// A difference of outcomes that is none.
pub(crate) fn excused(oracle: &Oracle, ours: &Outcome, go: &Outcome) -> Option<&'static str> {
    let both = |code: i32| ours.exit == Some(code) && go.exit == Some(code);
    let contains =
        |outcome: &Outcome, words: &str| String::from_utf8_lossy(&outcome.stdout).contains(words);
    if both(2) && oracle.function == "upsert-resource" && ours.stdout.is_empty() {
        return Some("crashed while it wrote the list");
    }
    let is_starlark = oracle.function == "starlark" && ours.exit == Some(1);
    if is_starlark && go.exit == Some(2) && go.stdout.is_empty() {
        return Some("the script crashes the original, and is an error here");
    }
    if is_starlark && go.exit == Some(0) && contains(ours, "not UTF-8") && contains(go, "!!binary")
    {
        return Some("the script left half of a character in the list");
    }
    let twice = "already defined";
    if is_starlark && go.exit == Some(1) && contains(ours, twice) && contains(go, twice) {
        return Some("a key twice, reported in other words");
    }
    let quotes = ": considering field '";
    if both(1) && contains(ours, quotes) && contains(go, quotes) {
        return Some("failed, and kustomize's error quotes the object");
    }
    let is_renaming = oracle.function == "ensure-name-substring";
    if both(1) && is_renaming && contains(go, "kubernetes.io/previousNames") {
        return Some("failed, with notes of kustomize in the list");
    }
    None
}
