//! Memory of large calls is kept for the next ones, and goes back to the system
//! when no more of them come.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

/// After this many bytes in and out, of one call or of many, there is something worth
/// giving back.
const MUCH: usize = 1024 * 1024;

/// Giving back and getting anew costs a large call as much time again, so it
/// waits until no more of them come. It is repeated for what is freed late: an
/// answer may take a while to leave.
const QUIET: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(2),
    Duration::from_secs(15),
];

/// Gives memory back some time after the last large call.
#[derive(Debug)]
pub(crate) struct Memory {
    moved: AtomicUsize,
    moved_much: Arc<Notify>,
}

/// A call under way: what it has moved counts once it is over, also if its caller
/// gives up.
#[derive(Debug)]
pub(crate) struct Moving<'a> {
    memory: &'a Memory,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            moved: AtomicUsize::new(0),
            moved_much: Arc::new(Notify::new()),
        }
    }

    /// The task that gives it back. It never ends.
    pub(crate) fn gives_back(&self) -> impl Future<Output = ()> + use<> {
        give_back(Arc::clone(&self.moved_much))
    }

    /// A call has begun with this many bytes.
    pub(crate) fn moving(&self, bytes: usize) -> Moving<'_> {
        Moving {
            memory: self,
            bytes,
        }
    }
}

impl Moving<'_> {
    /// More of its bytes have come.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let moved = &self.memory.moved;
        if moved.fetch_add(self.bytes, Ordering::Relaxed) + self.bytes >= MUCH {
            moved.store(0, Ordering::Relaxed);
            self.memory.moved_much.notify_one();
        }
    }
}

async fn give_back(moved_much: Arc<Notify>) {
    loop {
        moved_much.notified().await;
        let mut pauses = QUIET.iter();
        while let Some(pause) = pauses.next() {
            if timeout(*pause, moved_much.notified()).await.is_ok() {
                pauses = QUIET.iter();
            } else {
                // Fails only if the runtime ends.
                let _ = tokio::task::spawn_blocking(process::give_back_freed_memory).await;
            }
        }
    }
}
