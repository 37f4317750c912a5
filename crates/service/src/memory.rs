//! Memory of large calls is kept for the next ones, and goes back to the system
//! when no more of them come.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time::timeout};
use tokio_util::task::AbortOnDropHandle;

/// A call with so many bytes in and out leaves something worth giving back.
const LARGE: usize = 1024 * 1024;

/// Giving back and getting anew costs a large call as much time again, so it
/// waits until no more of them come.
const QUIET: Duration = Duration::from_millis(250);

/// Gives memory back some time after the last large call.
#[derive(Debug)]
pub(crate) struct Memory {
    large_call: Arc<Notify>,
    /// Ends with this value.
    _task: AbortOnDropHandle<()>,
}

impl Memory {
    /// Needs a runtime.
    pub(crate) fn new() -> Self {
        let large_call = Arc::new(Notify::new());
        let task = tokio::spawn(give_back(Arc::clone(&large_call)));
        Self {
            large_call,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// A call has ended that moved so many bytes.
    pub(crate) fn call_ended(&self, bytes: usize) {
        if bytes >= LARGE {
            self.large_call.notify_one();
        }
    }
}

async fn give_back(large_call: Arc<Notify>) {
    loop {
        large_call.notified().await;
        while timeout(QUIET, large_call.notified()).await.is_ok() {}
        // Fails only if the runtime ends.
        let _ = tokio::task::spawn_blocking(process::give_back_freed_memory).await;
    }
}
