//! SIGTERM and SIGINT: the first asks to stop, the second insists.

use std::{io, time::Duration};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code after the second signal: what was in flight was cut off.
const CUT_OFF: i32 = 1;

/// How long killed functions get to be gone before an exit that cannot wait.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Listens for the signals that end a server.
#[derive(Debug)]
pub struct Shutdown {
    term: Signal,
    int: Signal,
}

impl Shutdown {
    /// From here on the signals no longer end the process by themselves, which
    /// as PID 1 they would not do anyway.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }

    /// Waits for the first signal, and has the second end the process at once:
    /// functions are killed, calls are cut off.
    pub async fn requested(mut self) {
        self.next().await;
        tokio::spawn(async move {
            self.next().await;
            tracing::warn!("second signal: ending at once");
            process::end_all(AT_ONCE);
            std::process::exit(CUT_OFF);
        });
    }
}
