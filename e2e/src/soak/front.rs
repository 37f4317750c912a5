//! One address for several runners, as a Service has it: a new connection goes to one of those that
//! are ready, and stays there. Lives in a thread of its own.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Ends when dropped.
#[derive(Debug)]
pub(crate) struct Front {
    address: String,
    runners: Arc<Mutex<Runners>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Runners {
    addresses: Vec<String>,
    turn: usize,
}

impl Runners {
    /// All of them, another one first each time.
    fn next(&mut self) -> Vec<String> {
        self.turn += 1;
        let mut all = self.addresses.clone();
        let count = all.len().max(1);
        all.rotate_left(self.turn % count);
        all
    }
}

impl Front {
    pub(crate) fn start() -> Result<Self> {
        let runners = Arc::<Mutex<Runners>>::default();
        let (end, ended) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let shared = Arc::clone(&runners);
        let serve = async move || -> Result<()> {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            tell.send(listener.local_addr()?.to_string())?;
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await?;
                let runners = lock(&shared).next();
                connections.spawn(pass(stream, runners));
                while connections.try_join_next().is_some() {}
            }
        };
        let thread = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            // Cancel-safe: whoever drops the front wants no more of it.
            runtime.block_on(async {
                tokio::select! {
                    outcome = serve() => eprintln!("the runners' front ended: {outcome:?}"),
                    _ = ended => {}
                }
            });
        });
        let address = told.recv().context("the runners' front")?;
        Ok(Self {
            address,
            runners,
            end: Some(end),
            thread: Some(thread),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A runner is ready: new connections may go there.
    pub(crate) fn add(&self, address: String) {
        lock(&self.runners).addresses.push(address);
    }

    /// No new connections for this runner; those that are open stay.
    pub(crate) fn remove(&self, address: &str) {
        lock(&self.runners).addresses.retain(|it| it != address);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn pass(mut caller: TcpStream, runners: Vec<String>) {
    // One that has just crashed does not listen, as the next one does.
    for address in runners {
        if let Ok(mut runner) = TcpStream::connect(address).await {
            let _ = (caller.set_nodelay(true), runner.set_nodelay(true));
            // Either end may break: both callers and runners do that here.
            let _ = copy_bidirectional(&mut caller, &mut runner).await;
            return;
        }
    }
}

fn lock(runners: &Mutex<Runners>) -> MutexGuard<'_, Runners> {
    runners.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_shared_out_and_none_goes_to_who_left() {
        let mut runners = Runners::default();
        assert!(runners.next().is_empty());
        runners.addresses = vec!["a".to_owned(), "b".to_owned()];
        let first = runners.next();
        let second = runners.next();
        assert_eq!(first.len(), 2);
        assert_ne!(first[0], second[0]);
    }
}
