//! Judges runs of functions.

use process::{Completed, RunError};

use crate::outcome::{Failure, FunctionError, Output, judge};

/// Output from this size on is judged on a thread of its own: reading it in the
/// worst case (odd YAML) would hold up other calls for too long.
const LARGE: usize = 256 * 1024;

/// Waits for a run on a ResourceList and judges it. `function` is what callers call it.
pub async fn evaluate(
    function: &str,
    run: impl Future<Output = Result<Completed, RunError>>,
) -> Result<Output, FunctionError> {
    let verdict = async {
        let completed = run.await?;
        if completed.stdout.len() < LARGE {
            return judge(completed);
        }
        tokio::task::spawn_blocking(|| judge(completed))
            .await
            .map_err(|error| Failure::OutputLost {
                error: error.into(),
            })?
    };
    let judged = verdict.await;
    judged.map_err(|failure| FunctionError::new(function, failure))
}

/// Judges a function that ran to its end in this process.
pub fn judge_completed(function: &str, completed: Completed) -> Result<Output, FunctionError> {
    judge(completed).map_err(|failure| FunctionError::new(function, failure))
}
