//! From an empty namespace to the table of figures.

use std::time::Duration;

use anyhow::{Result, bail};

use super::cost::{self, Cost};
use super::figures::Figures;
use super::fleet::Fleet;
use super::process::memory;
use super::size::Size;
use super::stage::Stage;
use super::{calls, chapters, outage, pods};
use crate::outage::Breakable;
use crate::scenario;

/// What a call or an event may cost more when there is everything: a tenth.
const GROWTH: f64 = 1.10;

/// Threads of a runner that wake for a change of another's pod. It is read, kept, and nobody waits for it.
const WAKE_UPS: f64 = 4.0;

/// Pods of another runner that are changed to see what that costs.
const FEW: usize = 3;

/// Runs everything in a namespace of its own, alone on the node.
///
/// # Panics
/// If a figure is out of bounds or something fails; after printing what the cluster has to say.
pub fn scale(size: Size) {
    // Each pod is started, replaced and removed, on a machine that simulates them all.
    let limit = Duration::from_secs(900)
        + Duration::from_millis(900).mul_f64(size.pods as f64)
        + size.outage;
    scenario::alone(limit, async |scope, node| {
        let stage = Stage::set(scope, size).await?;
        let mut figures = Figures::default();
        let outcome = play(&stage, &node, &mut figures).await;
        println!("\n{figures}");
        if let Err(error) = &outcome {
            println!("{error:#}");
        }
        // Also after a failure: the report would be about thousands of pods.
        stage.strike().await?;
        outcome?;
        let wrong = figures.wrong();
        if !wrong.is_empty() {
            bail!("out of bounds:\n  {}", wrong.join("\n  "));
        }
        println!("all figures are within their bounds");
        Ok(())
    });
}

async fn play(stage: &Stage<'_>, node: &Breakable, figures: &mut Figures) -> Result<()> {
    stage.chapter("one function");
    let mut fleet = Fleet::start(stage).await?;
    calls::in_turn(fleet.counted()?, &fleet.counted()?.functions[..1], 1).await?;
    calls::in_turn(&fleet.plain[0], &fleet.plain[0].functions[..FEW], FEW).await?;
    let foreign = foreign(stage, &fleet).await?;
    let before = if stage.size.has_costs {
        Some(cost::measure(stage, &fleet, 1, &foreign).await?)
    } else {
        None
    };
    println!("  {before:?}");
    let alone = memory(fleet.onlooker.server.pid())?;
    stage.chapter("start");
    chapters::start(stage, &mut fleet, alone, figures).await?;
    if let Some(before) = before {
        costs(stage, &fleet, (before, &foreign), alone, figures).await?;
    }
    stage.chapter("a runner vanishes");
    outage::departure(stage, &mut fleet, figures).await?;
    if stage.size.has_costs {
        stage.chapter("the API server is away");
        outage::absence(stage, &fleet, node, figures).await?;
    }
    stage.chapter("another template");
    chapters::template(stage, &fleet, figures).await?;
    stage.chapter("the end");
    Ok(())
}

/// What it costs that there is everything: with load, at rest, and in trouble. `before` is what calls and events
/// of these pods cost when there was hardly anything, `alone` the memory of a runner at that time.
async fn costs(
    stage: &Stage<'_>,
    fleet: &Fleet,
    (before, foreign): (Cost, &[String]),
    alone: u64,
    figures: &mut Figures,
) -> Result<()> {
    stage.chapter("steady load");
    chapters::steady(stage, fleet, figures).await?;
    stage.chapter("rest");
    chapters::rest(stage, fleet, figures).await?;
    stage.chapter("cost of calls and events");
    let after = cost::measure(stage, fleet, stage.size.share(), foreign).await?;
    println!("  {after:?}");
    compare(before, after, figures);
    chapters::latecomer(stage, alone, figures).await?;
    stage.chapter("trouble");
    chapters::trouble(stage, fleet, figures).await
}

/// Pods of the first plain runner: foreign to the runner that is counted and to the onlooker.
async fn foreign(stage: &Stage<'_>, fleet: &Fleet) -> Result<Vec<String>> {
    let owner = &fleet.plain[0].name;
    let pods = pods::all(stage.scope).await?;
    let theirs = pods.into_iter().filter(|pod| pod.owner == *owner);
    Ok(theirs.map(|pod| pod.name).collect())
}

fn compare(before: Cost, after: Cost, figures: &mut Figures) {
    let unit = "times";
    figures.tell("instructions of a warm call, one function", before.call, "");
    let what = "a warm call of that function among all, beside that";
    figures.at_most(what, after.call / before.call, unit, GROWTH);
    let what = "a warm call of each function in turn, beside that";
    figures.at_most(what, after.mixed_call / before.call, unit, GROWTH);
    figures.tell(
        "instructions for a change of another's pod, few pods",
        before.event,
        "",
    );
    figures.at_most(
        "such a change among all pods, beside that",
        after.event / before.event,
        unit,
        GROWTH,
    );
    figures.at_most(
        "wake-ups for such a change, few pods",
        before.wake_ups,
        "",
        WAKE_UPS,
    );
    figures.at_most(
        "wake-ups for such a change, all pods",
        after.wake_ups,
        "",
        WAKE_UPS,
    );
    figures.tell(
        "instructions in a second at rest, few pods",
        before.at_rest,
        "",
    );
    figures.tell(
        "instructions in a second at rest, all pods",
        after.at_rest,
        "",
    );
}
