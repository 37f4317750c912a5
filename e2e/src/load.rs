//! Callers that call without end, beside a test that changes something under them.
//!
//! They live in a thread of their own, with connections of their own, so nothing that blocks the
//! test holds them up: calls go on while a runner starts or the API server is away. No call that
//! left the client is sent again (one that did not is, up to 3 times), and each is accounted for:
//! answered as it should be, or failed with its words.

use std::error::Error as _;
use std::iter;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use futures::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use proto::EvaluateFunctionResponse;
use tokio::sync::watch;
use tokio::time::sleep;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::account::Account;
use crate::runner::call_on;

/// How long so many calls may take; a call that waits for a new pod fits in several times.
const PATIENCE: Duration = Duration::from_secs(60);

/// The deadline of a call, unless another one is set.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often in a row a call may meet a connection that has just closed.
const MOST_UNSENT: usize = 3;

/// After a failed call: a refused one takes no time, and nobody calls so often.
const AFTER_FAILURE: Duration = Duration::from_millis(20);

/// Calls of one function at one address, to be.
#[derive(Debug, Clone)]
#[must_use]
pub struct Calls {
    address: String,
    image: String,
    callers: usize,
    pause: Duration,
    anew: bool,
}

impl Calls {
    /// One caller that keeps its connection. Its function has to return its list.
    pub fn to(address: &str, image: &str) -> Self {
        Self {
            address: address.to_owned(),
            image: image.to_owned(),
            callers: 1,
            pause: Duration::ZERO,
            anew: false,
        }
    }

    /// So many callers, over the same connection.
    pub fn callers(self, callers: usize) -> Self {
        Self { callers, ..self }
    }

    /// A pause after each call.
    pub fn pausing(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// A new connection for each call.
    pub fn connecting_anew(self) -> Self {
        Self { anew: true, ..self }
    }

    pub fn start(self) -> Load {
        Load::start(self.callers, async move || {
            let endpoint = Endpoint::from_shared(format!("http://{}", self.address))?;
            let kept = endpoint.connect_lazy();
            Ok(async move || {
                let channel = if self.anew {
                    endpoint.connect_lazy()
                } else {
                    kept.clone()
                };
                answered(channel, &self.image).await?;
                sleep(self.pause).await;
                Ok(())
            })
        })
    }
}

async fn answered(channel: Channel, image: &str) -> Result<()> {
    let answer = unsent_again(channel, image, LIST, DEADLINE).await?;
    ensure!(answer.resource_list == LIST, "another list came back");
    Ok(())
}

/// A call, which is sent again if the connection closed while it still waited in the client. Porch's
/// client sends such a call over the next connection by itself; tonic leaves that to us.
pub(crate) async fn unsent_again(
    channel: Channel,
    image: &str,
    list: &str,
    deadline: Duration,
) -> Result<EvaluateFunctionResponse, Status> {
    let mut answer = call_on(channel.clone(), image, list.to_owned(), deadline).await;
    for _ in 0..MOST_UNSENT {
        if !answer.as_ref().is_err_and(never_left) {
            break;
        }
        answer = call_on(channel.clone(), image, list.to_owned(), deadline).await;
    }
    answer
}

/// A status in all its words: those of a broken connection are in its causes.
pub(crate) fn with_causes(status: &Status) -> String {
    let causes = iter::successors(status.source(), |error| (*error).source());
    let words = iter::once(status.message().to_owned()).chain(causes.map(ToString::to_string));
    words.collect::<Vec<_>>().join(": ")
}

/// Whether a call was never written to a connection.
fn never_left(status: &Status) -> bool {
    let causes = iter::successors(status.source(), |error| (*error).source());
    let mut errors = causes.filter_map(|error| error.downcast_ref::<hyper::Error>());
    errors.any(hyper::Error::is_canceled)
}

/// Calls under way. Ends when dropped.
#[derive(Debug)]
pub struct Load {
    account: Arc<Mutex<Account>>,
    stage: watch::Sender<Stage>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Calling,
    /// Calls under way come to their end, and no other is sent.
    Ending,
    /// Nobody wants to know what becomes of calls under way.
    Abandoned,
}

impl Load {
    /// So many callers, each with one call after the other until it is over. What they share is
    /// prepared in their thread: a connection lives where it was made.
    pub fn start<C>(
        callers: usize,
        prepare: impl AsyncFnOnce() -> Result<C> + Send + 'static,
    ) -> Self
    where
        C: AsyncFn() -> Result<()>,
    {
        let account = Arc::new(Mutex::new(Account::begin()));
        let (stage, mut stages) = watch::channel(Stage::Calling);
        let shared = Arc::clone(&account);
        let work = async move || {
            let call = match prepare().await {
                Ok(call) => call,
                Err(error) => return lock(&shared).failed(&error, Instant::now()),
            };
            let is_over = stages.clone();
            let caller = async || {
                while *is_over.borrow() == Stage::Calling {
                    let began = Instant::now();
                    let outcome = call().await;
                    if let Err(error) = outcome {
                        lock(&shared).failed(&error, began);
                        sleep(AFTER_FAILURE).await;
                    } else {
                        lock(&shared).answered(began);
                    }
                }
            };
            // Cancel-safe: what is abandoned is of no use any more.
            tokio::select! {
                _ = join_all((0..callers).map(|_| caller())) => {}
                _ = stages.wait_for(|stage| *stage == Stage::Abandoned) => {}
            }
        };
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(work());
        });
        Self {
            account,
            stage,
            thread: Some(thread),
        }
    }

    /// Waits until this many more calls were answered.
    pub async fn goes_on(&self, calls: u64) -> Result<()> {
        let (begin, goal) = (Instant::now(), lock(&self.account).answered + calls);
        while lock(&self.account).answered < goal {
            let is_late = begin.elapsed() > PATIENCE;
            ensure!(!is_late, "{goal} are not reached: {}", lock(&self.account));
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Goes on for this time; fails as soon as a call has failed.
    pub async fn goes_on_for(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            lock(&self.account).none_failed()?;
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Ends it when the calls under way have ended; fails if any call has failed.
    pub async fn end(self) -> Result<Account> {
        let account = self.ended().await?;
        account.none_failed()?;
        Ok(account)
    }

    /// The same for a test that says which calls may fail.
    pub async fn ended(self) -> Result<Account> {
        let account = self.finished().await?;
        println!("{account}");
        Ok(account)
    }

    /// No other call is sent from now on.
    pub(crate) fn is_enough(&self) {
        self.stage.send_replace(Stage::Ending);
    }

    /// Waits until the calls under way have ended.
    pub(crate) async fn finished(mut self) -> Result<Account> {
        self.is_enough();
        while self.thread.as_ref().is_some_and(|it| !it.is_finished()) {
            sleep(Duration::from_millis(5)).await;
        }
        let thread = self.thread.take().context("a thread")?;
        thread.join().ok().context("a caller panicked")?;
        Ok(lock(&self.account).clone())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Abandoned);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = Result<()>>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(test).expect("a success");
    }

    #[test]
    fn calls_go_on_while_the_test_itself_is_blocked() {
        run(async {
            let (count, counted) = std::sync::mpsc::channel();
            let load = Load::start(1, async move || {
                Ok(async move || {
                    sleep(Duration::from_millis(1)).await;
                    Ok(count.send(())?)
                })
            });
            // Blocks the only thread of this runtime.
            for _ in 0..3 {
                counted.recv_timeout(PATIENCE)?;
            }
            ensure!(load.end().await?.answered >= 3);
            Ok(())
        });
    }

    #[test]
    fn every_call_is_accounted_for_and_one_that_failed_fails_the_load() {
        run(async {
            let load = Load::start(1, async || {
                let calls = std::cell::Cell::new(0);
                Ok(async move || {
                    sleep(Duration::from_millis(1)).await;
                    calls.set(calls.get() + 1);
                    ensure!(calls.get() != 2, "the second call");
                    Ok(())
                })
            });
            load.goes_on(3).await?;
            let told = load.end().await.err().context("no error")?.to_string();
            ensure!(told.contains(" 1 failed"), "{told}");
            ensure!(told.contains("the second call"), "{told}");
            Ok(())
        });
    }
}
