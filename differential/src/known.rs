//! What is known to differ, as precisely as it can be said. docs/bundled-functions.md tells why.

use functions::yaml::{Node, parse_all};

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
    let is_sdk = oracle.function == "set-namespace";
    if is_sdk
        && parse_all(input)
            .is_ok_and(|documents| documents.iter().any(|it| has_null_metadata(&it.root)))
    {
        return Some("metadata is null");
    }
    None
}

/// Whether an object of the list has metadata that is nothing.
fn has_null_metadata(list: &Node) -> bool {
    let items = list.get("items").map_or(&[][..], Node::items);
    let is_null = |item: &Node| item.get("metadata").is_some_and(Node::is_null);
    items.iter().any(is_null)
}

/// A difference of outcomes that is none.
pub(crate) fn excused(ours: &Outcome, go: &Outcome) -> Option<&'static str> {
    if go.exit == Some(2) && ours.exit != Some(0) {
        return Some("the Go function crashed");
    }
    let text = |outcome: &Outcome| String::from_utf8_lossy(&outcome.stdout).into_owned();
    let quotes_object = |outcome: &Outcome| text(outcome).contains(": considering field '");
    if ours.exit == go.exit && ours.exit == Some(1) && quotes_object(ours) && quotes_object(go) {
        return Some("failed, and kustomize's error quotes the object");
    }
    let has_notes = String::from_utf8_lossy(&go.stdout).contains("kubernetes.io/previousNames");
    if ours.exit == Some(1) && go.exit == Some(1) && has_notes {
        return Some("failed, with notes of kustomize in the list");
    }
    None
}
