//! Measures the temporary files of running calls.
//!
//! A call may have thousands of files, and each is looked at. So this is done neither under
//! the gate's lock, which every call takes, nor on the executor's threads, of which a
//! wrapper has only one; and the look at everybody's memory does not wait for it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rustix::process::Pid;
use tokio::{task::spawn_blocking, time::sleep};

use super::{Over, Shared, plan::Ticket, watched::Watched};
use crate::{confine::scratch, error::Bound};

/// How long after a measurement the next one begins, and the first one after a start: most
/// calls have ended by then.
const EVERY: Duration = Duration::from_millis(300);

/// The temporary files of a call.
pub(super) struct Files {
    pub(super) path: PathBuf,
    /// Most bytes that they may have.
    pub(super) most: u64,
    /// Those that may have files open that have no name any more.
    pub(super) processes: Vec<Pid>,
}

impl Files {
    /// What there is too much of.
    fn over(&self) -> Option<Bound> {
        let (had, most) = (scratch::measure(&self.path, &self.processes), self.most);
        (had > most).then_some(Bound::TemporaryFiles { had, most })
    }
}

impl Shared {
    /// Ends calls that wrote too much, for ever.
    pub(super) async fn watch_files(self: Arc<Self>) {
        loop {
            self.began_to_write.notified().await;
            loop {
                sleep(EVERY).await;
                let files = self.files();
                if files.is_empty() {
                    break;
                }
                let over = move || files.iter().filter_map(over).collect();
                // It fails only if it panics, which has been reported, or if this server ends.
                let over: Vec<(Ticket, Bound)> = spawn_blocking(over).await.unwrap_or_default();
                self.end(over);
            }
        }
    }

    fn files(&self) -> Vec<(Ticket, Files)> {
        let state = self.state();
        let running = state.running.iter();
        running
            .filter_map(|(ticket, watched)| Some((*ticket, watched.files()?)))
            .collect()
    }

    fn end(&self, over: Vec<(Ticket, Bound)>) {
        let mut state = self.state();
        for (ticket, bound) in over {
            // It may have ended meanwhile.
            let watched = state.running.get_mut(&ticket);
            if let Some(end) = watched.and_then(Watched::end) {
                let _ = end.send(Over::Bound(bound));
            }
        }
    }
}

fn over((ticket, files): &(Ticket, Files)) -> Option<(Ticket, Bound)> {
    Some((*ticket, files.over()?))
}
