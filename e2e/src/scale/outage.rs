//! A runner vanishes, and the API server is away for a while.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use futures::future::try_join_all;
use tokio::time::sleep;

use super::calls;
use super::chapters::{FOLLOWING, gate};
use super::dials::{between, not_once, shares};
use super::figures::Figures;
use super::fleet::Fleet;
use super::pods::{self, Seen};
use super::stage::Stage;
use crate::outage::Breakable;

/// A runner that vanished is given up after 30 s, by each by its own clock; then its pods are taken over.
const ADOPTION: Duration = Duration::from_secs(120);

/// The largest share of a departed runner's pods beside an even one. Chance shares them out.
const UNEVEN: f64 = 3.0;

/// Requests of a runner in the first half minute of an API server that has returned.
const RETURN: Duration = Duration::from_secs(30);
const AFTER_RETURN: f64 = 120.0;

/// One runner is killed; its pods are shared out, and each is dialled by one survivor.
pub(super) async fn departure(
    stage: &Stage<'_>,
    fleet: &mut Fleet,
    figures: &mut Figures,
) -> Result<()> {
    let mut gone = fleet.counted.take().context("a runner to vanish")?;
    let before = pods::all(stage.scope).await?;
    let orphans: Vec<&Seen> = before.iter().filter(|pod| pod.owner == gone.name).collect();
    let addresses = orphans
        .iter()
        .map(|pod| pods::address(stage.scope, &pod.name));
    let addresses = try_join_all(addresses).await?;
    let adopted = |fleet: &Fleet| -> usize {
        fleet
            .everybody()
            .iter()
            .map(|member| member.adopted())
            .sum()
    };
    let (had, dials) = (adopted(fleet), stage.wrappers.dials());
    fleet.count_anew();
    let load = calls::steadily(&fleet.serving());
    let begin = Instant::now();
    gone.server.kill();
    while adopted(fleet) - had < orphans.len() {
        let is_late = begin.elapsed() > ADOPTION;
        let taken = adopted(fleet) - had;
        ensure!(
            !is_late,
            "{taken} of {} pods have another owner",
            orphans.len()
        );
        sleep(Duration::from_millis(100)).await;
    }
    figures.tell(
        "until a vanished runner's pods have another owner",
        begin.elapsed().as_secs_f64(),
        "s",
    );
    calls::end(load).await?;
    let since = between(&dials, &stage.wrappers.dials(), &addresses);
    figures.exactly("orphans", orphans.len(), stage.size.share());
    figures.exactly(
        "orphans that were not dialled exactly once",
        not_once(&since),
        0,
    );
    let names: HashSet<&str> = orphans.iter().map(|pod| pod.name.as_str()).collect();
    let after = pods::all(stage.scope).await?;
    let kept: Vec<&Seen> = after
        .iter()
        .filter(|pod| names.contains(pod.name.as_str()))
        .collect();
    figures.exactly("orphans that were kept", kept.len(), orphans.len());
    let owners = kept.iter().map(|pod| pod.owner.as_str());
    let (largest, sharing) = shares(owners, fleet.everybody().len());
    figures.at_most(
        "largest share of them beside an even one",
        largest,
        "times",
        UNEVEN,
    );
    figures.tell("survivors that have a share", sharing as f64, "");
    gate(fleet, figures, "departure");
    Ok(())
}

/// The API server is away, and returns: calls go on, no pod is lost or dialled again, and runners do
/// not fall upon it.
pub(super) async fn absence(
    stage: &Stage<'_>,
    fleet: &Fleet,
    node: &Breakable,
    figures: &mut Figures,
) -> Result<()> {
    let names = |pods: Vec<Seen>| pods.into_iter().map(|pod| (pod.name, pod.owner));
    let before: HashSet<_> = names(pods::all(stage.scope).await?).collect();
    let dials: u64 = stage.wrappers.dials().values().sum();
    let load = calls::steadily(&fleet.serving());
    let outage = node.stop(Component::ApiServer)?;
    sleep(stage.size.outage).await;
    fleet.count_anew();
    // Its end blocks this thread, until also the last component has found the API server again.
    let time = thread::scope(|threads| -> Result<Duration> {
        let watcher = threads.spawn(|| fleet.waits_to_follow(FOLLOWING));
        outage.end()?;
        watcher.join().ok().context("a watcher")?
    })?;
    let what = "until all runners watch an API server that was away, with its own start";
    figures.at_most(what, time.as_secs_f64(), "s", FOLLOWING.as_secs_f64());
    fleet.count_anew();
    sleep(RETURN).await;
    let what = "requests of a runner in the half minute after that";
    figures.at_most(what, fleet.most_requests(), "", AFTER_RETURN);
    let answered = calls::end(load).await?;
    figures.tell("calls while it was away, none failed", answered as f64, "");
    let after: HashSet<_> = names(pods::all(stage.scope).await?).collect();
    let changed = before.symmetric_difference(&after).count();
    figures.exactly("pods lost, added or taken over meanwhile", changed, 0);
    let again = stage.wrappers.dials().values().sum::<u64>() - dials;
    figures.exactly("pods dialled again meanwhile", usize::try_from(again)?, 0);
    Ok(())
}
