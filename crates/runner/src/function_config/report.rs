//! What is written to objects, and when: pure.
//!
//! Porch's other parts write the same field `error`, and clear it whenever they look at the
//! object. So this runner writes an error when that error changes, not whenever the field
//! is empty: two writers that correct each other would never end. Errors of this runner
//! begin with [`MARK`], and it clears only those.

use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::kind::{FunctionConfig, Status};

/// The beginning of errors that this runner wrote.
const MARK: &str = "function-runner: ";

/// What function runners of Porch 1.6 put on objects, which stay for ever if nobody
/// removes it. Ours puts none on them.
const FINALIZER: &str = "config.porch.kpt.dev/functionconfig-function-runner";

/// What was written to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    uid: Option<String>,
    generation: i64,
    error: Option<String>,
}

/// What holds for an object now, and how to patch its status, if it does not say so.
pub(super) fn status(
    object: &FunctionConfig,
    complaints: &[String],
    before: Option<&Written>,
) -> (Written, Option<Value>) {
    let generation = object.metadata.generation.unwrap_or_default();
    let error = (!complaints.is_empty()).then(|| format!("{MARK}{}", complaints.join("; ")));
    let now = Written {
        uid: object.uid(),
        generation,
        error,
    };
    if before == Some(&now) {
        return (now, None);
    }
    let there: Status = serde_json::from_value(object.status.clone()).unwrap_or_default();
    let is_seen = there.function_runner_observed_generation == Some(generation);
    let ours = there.error.filter(|error| error.starts_with(MARK));
    if is_seen && ours == now.error {
        return (now, None);
    }
    let mut status = json!({ "functionRunnerObservedGeneration": generation });
    if ours != now.error {
        status["error"] = json!(now.error);
    }
    (now, Some(json!({ "status": status })))
}

/// How to patch an object that waits for a function runner to let it go.
pub(super) fn release(object: &FunctionConfig) -> Option<Value> {
    object.metadata.deletion_timestamp.as_ref()?;
    let (runners, others): (Vec<&String>, Vec<&String>) =
        (object.finalizers().iter()).partition(|name| name.starts_with(FINALIZER));
    // Of two that change the list at once one must not undo the other's.
    let metadata = json!({ "finalizers": others, "resourceVersion": object.resource_version() });
    (!runners.is_empty()).then(|| json!({ "metadata": metadata }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(status: Value) -> FunctionConfig {
        let metadata = json!({ "name": "a", "uid": "u", "generation": 3, "resourceVersion": "9" });
        let mut object = json!({ "metadata": metadata });
        object["status"] = status;
        serde_json::from_value(object).unwrap()
    }

    fn patch(there: Value, complaints: &[&str]) -> Option<Value> {
        let complaints: Vec<String> = complaints.iter().map(|text| (*text).into()).collect();
        status(&object(there), &complaints, None).1
    }

    #[test]
    fn a_status_is_written_when_it_does_not_say_what_holds() {
        let seen =
            json!({ "functionRunnerObservedGeneration": 3, "apiServerObservedGeneration": 2 });
        assert_eq!(patch(seen.clone(), &[]), None);
        let told =
            json!({ "functionRunnerObservedGeneration": 3, "error": "function-runner: x; y" });
        assert_eq!(patch(told.clone(), &["x", "y"]), None);
        assert_eq!(
            patch(json!(null), &[]),
            Some(json!({ "status": { "functionRunnerObservedGeneration": 3 } }))
        );
        assert_eq!(patch(seen, &["x", "y"]), Some(json!({ "status": told })));
        assert_eq!(
            patch(told, &[]),
            Some(json!({ "status": { "functionRunnerObservedGeneration": 3, "error": null } }))
        );
    }

    #[test]
    fn what_others_say_is_left_and_nobody_is_corrected_again_and_again() {
        let theirs = json!({ "functionRunnerObservedGeneration": 2, "error": "the server's" });
        assert_eq!(
            patch(theirs, &[]),
            Some(json!({ "status": { "functionRunnerObservedGeneration": 3 } }))
        );
        let complaints = ["x".to_owned()];
        let (written, patch) = status(&object(json!(null)), &complaints, None);
        assert!(patch.is_some());
        // Somebody else has cleared it since.
        let cleared = object(json!({ "functionRunnerObservedGeneration": 3 }));
        assert_eq!(status(&cleared, &complaints, Some(&written)).1, None);
        assert!(
            status(&cleared, &[], Some(&written)).1.is_none(),
            "it is clear already"
        );
        let other = ["y".to_owned()];
        assert!(status(&cleared, &other, Some(&written)).1.is_some());
    }

    #[test]
    fn finalizers_of_function_runners_go_and_others_stay() {
        let mut object = object(json!(null));
        let ours = FINALIZER.to_owned();
        object.metadata.finalizers = Some(vec!["other/x".into(), ours]);
        assert_eq!(release(&object), None, "it is not being deleted");
        let time = k8s_openapi::jiff::Timestamp::from_second(1).unwrap();
        let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
        object.metadata.deletion_timestamp = Some(time);
        assert_eq!(
            release(&object),
            Some(json!({ "metadata": { "finalizers": ["other/x"], "resourceVersion": "9" } }))
        );
        object.metadata.finalizers = Some(vec!["other/x".into()]);
        assert_eq!(release(&object), None);
    }
}
