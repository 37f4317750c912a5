//! SIGTERM and SIGINT: the first asks to stop, the second insists.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

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

    /// Waits for a signal. Cancel-safe.
    pub async fn heard(&mut self) {
        self.requested().await;
    }

    /// Waits for the next signal, and tells which it was.
    pub(crate) async fn requested(&mut self) -> Asked {
        // Cancel-safe: a signal that is not heard now is heard next.
        tokio::select! {
            _ = self.term.recv() => Asked::ByTerm,
            _ = self.int.recv() => Asked::ByInterrupt,
        }
    }

    /// From now on a signal ends the process at once: functions are killed, calls
    /// are cut off.
    pub(crate) fn ends_at_once_if_repeated(mut self) -> Insisted {
        let insisted = Insisted::default();
        let is_heard = insisted.clone();
        tokio::spawn(async move {
            self.requested().await;
            is_heard.0.store(true, Ordering::Release);
            tracing::warn!("second signal: ending at once");
            process::end_all(AT_ONCE);
            std::process::exit(CUT_OFF);
        });
        insisted
    }
}

/// Whether there was a second signal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Insisted(Arc<AtomicBool>);

impl Insisted {
    /// Goes on only if nobody has insisted. A drain that ends because functions were
    /// killed is not a success: the process is about to end with the code for that.
    pub(crate) async fn or_never(&self) {
        if self.0.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
    }
}

/// How a server was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// By its supervisor, which may still send callers here.
    ByTerm,
    /// By somebody at a terminal.
    ByInterrupt,
}
