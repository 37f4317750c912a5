//! The callers of a round: each in a thread of its own, with a connection of its own.

use std::cell::Cell;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{sleep, timeout};
use tonic::transport::Endpoint;

use super::call::{CALLERS, Call, DEADLINE, Patience};
use super::ledger::Ledger;
use super::list::List;
use super::material::Images;
use super::verdict::Heard;
use crate::load::{Load, unsent_again};

/// After its deadline a client has given up by itself; what is still silent then is stuck.
const GRACE: Duration = Duration::from_secs(5);

/// Numbers of a round's calls: no mark is used twice.
const ROUND: u64 = 1_000_000;

/// Starts all callers; `address` leads to the runners.
pub(crate) fn start(
    ledger: &Arc<Ledger>,
    address: &str,
    images: &Arc<Images>,
    seed: u64,
    round: usize,
) -> Vec<Load> {
    ledger.round_begins();
    let one = |caller| {
        let (ledger, images) = (Arc::clone(ledger), Arc::clone(images));
        let address = format!("http://{address}");
        Load::start(1, async move || {
            let endpoint = Endpoint::from_shared(address)?;
            let kept = endpoint.connect_lazy();
            let next = Cell::new(round as u64 * ROUND);
            Ok(async move || {
                let number = next.replace(next.get() + 1);
                let call = Call::draw(seed, caller, number);
                let mark = format!("m{caller}-{number}");
                let channel = if call.is_stranger {
                    endpoint.connect_lazy()
                } else {
                    kept.clone()
                };
                let text = List::new(&call, &mark).text();
                let from = ledger.now();
                let heard = hear(&call, async {
                    let image = images.of(call.function);
                    unsent_again(channel, image, &text, deadline(&call)).await
                });
                let heard = heard.await;
                ledger.record(&call, &mark, &heard, from);
                sleep(call.pause).await;
                Ok(())
            })
        })
    };
    (0..CALLERS).map(one).collect()
}

/// Lets every call under way come to its end.
pub(crate) async fn end(callers: Vec<Load>) -> Result<()> {
    for caller in &callers {
        caller.is_enough();
    }
    for caller in callers {
        caller.finished().await?;
    }
    Ok(())
}

/// The deadline that the runner gets.
fn deadline(call: &Call) -> Duration {
    match call.patience {
        Patience::Full | Patience::GivesUp(_) => DEADLINE,
        Patience::Short(time) => time,
    }
}

async fn hear(
    call: &Call,
    answer: impl Future<Output = Result<proto::EvaluateFunctionResponse, tonic::Status>>,
) -> Heard {
    let (limit, after) = match call.patience {
        Patience::GivesUp(time) => (time, Heard::Nothing),
        Patience::Full | Patience::Short(_) => (deadline(call) + GRACE, Heard::Silence),
    };
    match timeout(limit, answer).await {
        Err(_) => after,
        Ok(Ok(answer)) => Heard::List(answer.resource_list.into()),
        Ok(Err(status)) => {
            let words = crate::load::with_causes(&status);
            // What a runner has answered has no cause on this side.
            if status.source().is_some() {
                Heard::Cut(status.code(), words)
            } else {
                Heard::Failure(status.code(), words)
            }
        }
    }
}
