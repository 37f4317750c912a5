//! Reports once that a collector is away, and once that it is back.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    destination::Signal,
    send::{Payload, SendError, Sender},
};

/// A collector, and whether the operator has heard that it is away.
#[derive(Debug)]
pub(crate) struct Collector {
    signal: Signal,
    sender: Sender,
    is_away: AtomicBool,
}

impl Collector {
    pub(crate) fn new(signal: Signal, sender: Sender) -> Self {
        Self {
            signal,
            sender,
            is_away: AtomicBool::new(false),
        }
    }

    /// Sends what there is. What does not arrive is lost.
    pub(crate) async fn send(&self, payload: Payload) -> Result<(), SendError> {
        let sent = self.sender.send(payload).await;
        let was_away = self.is_away.swap(sent.is_err(), Ordering::Relaxed);
        let (signal, destination) = (self.signal.name(), self.sender.destination());
        match &sent {
            Err(error) if !was_away => tracing::warn!(
                "no {signal} reach the collector at {destination}: {error}; calls go on as \
                 before, and what cannot be sent is dropped"
            ),
            Ok(()) if was_away => {
                tracing::info!("{signal} reach the collector at {destination} again");
            }
            _ => {}
        }
        sent
    }
}
