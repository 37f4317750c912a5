//! Calls of all functions at their runners.

use std::cell::Cell;
use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Error, Result, ensure};
use futures::future::try_join_all;
use tokio::time::sleep;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::member::Member;
use crate::load::{Load, unsent_again};

/// Longer than all pods together need to start.
const FIRST: Duration = Duration::from_secs(1_200);

/// How often a first call that was told to try again is repeated.
const REPETITIONS: usize = 5;

/// A warm call takes milliseconds, also on a busy machine.
const WARM: Duration = Duration::from_secs(60);

/// Callers of the steady load, in two threads.
pub(super) const CALLERS: usize = 4;

/// How long a caller waits before its next call. Without that the callers alone keep the machine busy, on which
/// the API server has to do its work meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// A function at a runner.
#[derive(Debug, Clone)]
struct Target {
    /// Which of the runners.
    runner: usize,
    image: String,
}

/// Calls every function of these runners once, all at the same time; how many calls had to be repeated. The
/// registry has the same two processors as all the rest, and does not always answer in time.
pub(super) async fn first(members: &[&Member]) -> Result<usize> {
    let channels = connect(&addresses(members))?;
    let targets = targets(members);
    let repeated = Cell::new(0);
    let patiently = async |target: &Target| {
        for _ in 0..REPETITIONS {
            match call(&channels, target, FIRST).await {
                Err(error) if is_passing(&error) => repeated.set(repeated.get() + 1),
                ended => return ended,
            }
        }
        call(&channels, target, FIRST).await
    };
    try_join_all(targets.iter().map(patiently)).await?;
    Ok(repeated.get())
}

/// Whether the caller was told to try again.
fn is_passing(error: &Error) -> bool {
    let status = error.downcast_ref::<Status>();
    status.is_some_and(|status| status.code() == Code::Unavailable)
}

/// Calls these functions of one runner in turn, one after the other.
pub(super) async fn in_turn(member: &Member, functions: &[String], times: usize) -> Result<()> {
    let channels = connect(&addresses(&[member]))?;
    for image in functions.iter().cycle().take(times) {
        let image = image.clone();
        call(&channels, &Target { runner: 0, image }, WARM).await?;
    }
    Ok(())
}

/// Callers that go through all functions of all these runners, again and again.
pub(super) fn steadily(members: &[&Member]) -> Vec<Load> {
    let (addresses, targets) = (addresses(members), targets(members));
    let half = targets.len().div_ceil(2);
    let one = |targets: &[Target]| {
        let (addresses, targets) = (addresses.clone(), targets.to_vec());
        Load::start(CALLERS / 2, async move || {
            let channels = connect(&addresses)?;
            let next = Cell::new(0);
            Ok(async move || {
                sleep(PAUSE).await;
                let number = next.replace(next.get() + 1);
                call(&channels, &targets[number % targets.len()], WARM).await
            })
        })
    };
    targets.chunks(half).map(one).collect()
}

/// Ends callers; how many calls were answered. Fails if one was not.
pub(super) async fn end(loads: Vec<Load>) -> Result<u64> {
    let mut answered = 0;
    for load in loads {
        answered += load.end().await?.answered;
    }
    Ok(answered)
}

fn addresses(members: &[&Member]) -> Vec<String> {
    let address = |member: &&Member| format!("http://{}", member.server.address());
    members.iter().map(address).collect()
}

/// All functions of all runners; neighbours belong to different runners.
fn targets(members: &[&Member]) -> Vec<Target> {
    let most = members.iter().map(|member| member.functions.len()).max();
    let mut targets = Vec::new();
    for number in 0..most.unwrap_or(0) {
        for (runner, member) in members.iter().enumerate() {
            if let Some(image) = member.functions.get(number).cloned() {
                targets.push(Target { runner, image });
            }
        }
    }
    targets
}

fn connect(addresses: &[String]) -> Result<Vec<Channel>> {
    let connect = |address: &String| Ok(Endpoint::from_shared(address.clone())?.connect_lazy());
    addresses.iter().map(connect).collect()
}

async fn call(channels: &[Channel], target: &Target, deadline: Duration) -> Result<()> {
    let channel = channels[target.runner].clone();
    let answer = unsent_again(channel, &target.image, LIST, deadline).await;
    let answer = answer.with_context(|| target.image.clone())?;
    ensure!(answer.resource_list == LIST, "another list came back");
    Ok(())
}
