//! What happens while all runners are there: everybody starts, calls, rests, meets an API server in
//! trouble, and gets another template.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::sleep;

use super::figures::Figures;
use super::fleet::Fleet;
use super::member::Member;
use super::process::memory;
use super::stage::Stage;
use super::{calls, pods};
use crate::api_proxy::Manner;

/// The runner's own gate: `AT_ONCE` of `pod::cluster::api`.
const GATE: f64 = 16.0;

/// Requests of a runner in a minute in which nobody calls. docs/scale.md counts them up.
const AT_REST: f64 = 48.0;

/// Requests of a runner in a minute in which the API server refuses, fails or forgets everything:
/// what it does anyway, and attempts with pauses that grow.
const IN_TROUBLE: f64 = 240.0;

/// What comes at intervals may come once more than its share, whatever the time is in which it is counted.
const ONCE_MORE: f64 = 8.0;

/// How long a runner may take to work off its lists, and to give back what it needed for that.
const SETTLED: Duration = Duration::from_secs(10);

/// How long runners may take to follow an API server that is well again.
pub(super) const FOLLOWING: Duration = Duration::from_secs(180);

/// Memory for each pod of another runner, with its service.
const FOREIGN_POD: f64 = 1_024.0;

/// What the allocator keeps of a list or a burst of events, however many pods there are. Few pods tell
/// nothing about the memory of each.
const ALLOCATOR: f64 = 2.0 * 1024.0 * 1024.0;

/// A list of up to this many objects is not worth giving its memory back (`LONG_LIST` of the runner's watch),
/// and that much is kept of it.
const SHORT_LIST: usize = 100;
const OF_A_SHORT_LIST: f64 = 6.0 * 1024.0 * 1024.0;

/// How long all pods may take to be replaced, for each of them.
const REPLACEMENT: Duration = Duration::from_millis(400);

/// All runners start all of their pods at once. `alone` is what a runner needs while there are hardly any.
pub(super) async fn start(
    stage: &Stage<'_>,
    fleet: &mut Fleet,
    alone: u64,
    figures: &mut Figures,
) -> Result<()> {
    fleet.complete(stage).await?;
    let there = pods::count(stage.scope).await?;
    fleet.count_anew();
    let begin = Instant::now();
    let repeated = calls::first(&fleet.serving()).await?;
    let time = begin.elapsed().as_secs_f64();
    figures.tell("first calls that had to be repeated", repeated as f64, "");
    let pods = pods::count(stage.scope).await?;
    figures.exactly("pods after the start", pods, stage.size.pods);
    figures.tell("start of all pods", time, "s");
    figures.tell("pods started", (pods - there) as f64 / time, "/s");
    gate(fleet, figures, "start");
    services_get_owners(stage, figures).await?;
    let grown = memory(fleet.onlooker.server.pid())?.saturating_sub(alone);
    foreign_pods(figures, "seen coming", grown, pods - there);
    Ok(())
}

/// Nobody waits for a service's owner to be written. It belongs to the start all the same, and not to what is
/// counted after it.
async fn services_get_owners(stage: &Stage<'_>, figures: &mut Figures) -> Result<()> {
    let begin = Instant::now();
    let time = loop {
        let left = pods::services_without_owner(stage.scope).await?;
        let time = begin.elapsed();
        if left == 0 || time > FOLLOWING {
            break time.as_secs_f64();
        }
        sleep(Duration::from_secs(1)).await;
    };
    let what = "until every service names its pod as its owner";
    figures.at_most(what, time, "s", FOLLOWING.as_secs_f64());
    Ok(())
}

/// A runner that comes when all pods are there lists them.
pub(super) async fn latecomer(stage: &Stage<'_>, alone: u64, figures: &mut Figures) -> Result<()> {
    let late = Member::start(stage, "scale-late", Vec::new(), None).await?;
    sleep(SETTLED).await;
    let grown = memory(late.server.pid())?.saturating_sub(alone);
    foreign_pods(figures, "listed", grown, stage.size.pods);
    Ok(())
}

fn foreign_pods(figures: &mut Figures, how: &str, grown: u64, pods: usize) {
    println!("  {grown} bytes more for {pods} pods, {how}");
    let what = format!("memory for a pod of another runner, {how}");
    let kept = if pods > SHORT_LIST {
        ALLOCATOR
    } else {
        OF_A_SHORT_LIST
    };
    let most = FOREIGN_POD + kept / pods as f64;
    figures.at_most(what, grown as f64 / pods as f64, "bytes", most);
}

/// Everybody calls everything.
pub(super) async fn steady(stage: &Stage<'_>, fleet: &Fleet, figures: &mut Figures) -> Result<()> {
    fleet.count_anew();
    let begin = Instant::now();
    let load = calls::steadily(&fleet.serving());
    sleep(stage.size.load).await;
    let answered = calls::end(load).await?;
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    figures.tell(
        "warm calls of all runners",
        answered as f64 / minutes / 60.0,
        "/s",
    );
    let what = "requests of a runner to the API server under load, in a minute";
    requests(fleet, figures, what, minutes, AT_REST);
    println!("  of which: {:?}", fleet.plain[0].proxy.counted().requests);
    Ok(())
}

/// Nobody calls.
pub(super) async fn rest(stage: &Stage<'_>, fleet: &Fleet, figures: &mut Figures) -> Result<()> {
    fleet.count_anew();
    sleep(stage.size.rest).await;
    let minutes = stage.size.rest.as_secs_f64() / 60.0;
    let what = "requests of a runner to the API server at rest, in a minute";
    requests(fleet, figures, what, minutes, AT_REST);
    println!("  of which: {:?}", fleet.plain[0].proxy.counted().requests);
    Ok(())
}

/// The API server is slow, refuses, fails and forgets, one after the other, while everybody calls.
pub(super) async fn trouble(stage: &Stage<'_>, fleet: &Fleet, figures: &mut Figures) -> Result<()> {
    let kinds = [
        ("late by 300 ms", Manner::Slow(Duration::from_millis(300))),
        ("429", Manner::Refusing),
        ("503", Manner::Failing),
        ("410", Manner::Forgetful),
    ];
    let load = calls::steadily(&fleet.serving());
    for (name, manner) in kinds {
        fleet.count_anew();
        fleet.meet(manner);
        sleep(stage.size.trouble).await;
        let minutes = stage.size.trouble.as_secs_f64() / 60.0;
        let what = format!("requests of a runner while the API server says {name}, in a minute");
        requests(fleet, figures, &what, minutes, IN_TROUBLE);
        fleet.count_anew();
        fleet.meet(Manner::Plain);
        let time = fleet.follows_again(FOLLOWING).await?;
        figures.at_most(
            format!("until all runners watch again after {name}"),
            time.as_secs_f64(),
            "s",
            FOLLOWING.as_secs_f64(),
        );
    }
    let answered = calls::end(load).await?;
    figures.tell("calls meanwhile, none failed", answered as f64, "");
    Ok(())
}

/// How long all pods are left alone between two looks at each of them, for each of them: a look is
/// work for the API server, which has enough.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Outdated pods of a runner that are replaced at once: a tenth of its pods, but not fewer than four (`SHARE` and
/// `LEAST_AT_ONCE` of the runner's `pool::plan::wave`). Replacements are pods as well, so it is a ninth of what was there.
const SHARE: usize = 9;
const LEAST_AT_ONCE: usize = 4;

/// All pods are replaced while everybody calls.
pub(super) async fn template(
    stage: &Stage<'_>,
    fleet: &Fleet,
    figures: &mut Figures,
) -> Result<()> {
    let before = pods::all(stage.scope).await?;
    let old = before
        .first()
        .map(|pod| pod.template.clone())
        .unwrap_or_default();
    fleet.count_anew();
    let load = calls::steadily(&fleet.serving());
    stage.write_template(2).await?;
    let begin = Instant::now();
    let patience = FOLLOWING + REPLACEMENT.mul_f64(stage.size.pods as f64);
    let mut most = 0;
    let after = loop {
        let pods = pods::all(stage.scope).await?;
        most = most.max(pods.len());
        let outdated = pods.iter().filter(|pod| pod.template == old).count();
        let seconds = begin.elapsed().as_secs();
        println!("  {seconds} s: {} pods, {outdated} outdated", pods.len());
        if outdated == 0 && pods.len() <= stage.size.pods {
            break pods;
        }
        let is_late = begin.elapsed() > patience;
        ensure!(
            !is_late,
            "after {patience:?} there are {} pods, {outdated} of them outdated",
            pods.len()
        );
        sleep(BETWEEN_LOOKS.mul_f64(stage.size.pods as f64)).await;
    };
    let what = "until all pods are replaced";
    figures.at_most(
        what,
        begin.elapsed().as_secs_f64(),
        "s",
        patience.as_secs_f64(),
    );
    let runners = fleet.serving().len();
    let wave = (stage.size.pods / runners / SHARE).max(LEAST_AT_ONCE) * runners;
    // Pods that finish their last calls hold up nobody, and are there for a moment more.
    let bound = (stage.size.pods + wave + calls::CALLERS) as f64;
    figures.at_most("pods at once meanwhile", most as f64, "", bound);
    let answered = calls::end(load).await?;
    figures.tell("calls meanwhile, none failed", answered as f64, "");
    gate(fleet, figures, "replacement");
    // Pods that were taken over where nobody calls their function are idle, and go without a replacement:
    // at most those of the runner that vanished.
    let all = stage.size.pods;
    let bounds = (all - stage.size.share(), all);
    figures.between("pods after the replacement", after.len(), bounds);
    Ok(())
}

/// How many requests a runner makes in a minute, counted over some of it.
fn requests(fleet: &Fleet, figures: &mut Figures, what: &str, minutes: f64, most: f64) {
    let measured = fleet.most_requests() / minutes;
    figures.at_most(what, measured, "", most + ONCE_MORE / minutes);
}

/// How many requests the runner lets under way at once, of which it may make any number.
pub(super) fn gate(fleet: &Fleet, figures: &mut Figures, when: &str) {
    let what = format!("requests of a runner under way at once, {when}");
    let most = fleet.most_at_once();
    figures.at_most(what, most.len() as f64, "", GATE);
    if most.len() as f64 > GATE {
        println!("  they were {most:?}");
    }
}
