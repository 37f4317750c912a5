//! What a call and an event cost a runner: measured once while there is next to nothing, and once
//! while there is everything.

use std::time::{Duration, Instant};

use acceptance::system::processor_time;
use anyhow::Result;
use tokio::time::sleep;

use super::fleet::Fleet;
use super::member::Member;
use super::process::wake_ups;
use super::stage::{Stage, in_time};
use super::{calls, pods};

/// How long a runner is left alone to see what it does anyway. That is little beside what is measured, so
/// that it matters little that renewals come every 5 s and watches begin anew every 30 s.
const REST: Duration = Duration::from_secs(10);

/// A runner that uses less of this time than that has nothing to do, also under valgrind.
const LOOK: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Instructions of a warm call of one function.
    pub(super) call: f64,
    /// The same, each call another function.
    pub(super) mixed_call: f64,
    /// Instructions for a change of another runner's pod.
    pub(super) event: f64,
    /// How often a thread of the onlooker wakes for such a change.
    pub(super) wake_ups: f64,
    /// Instructions in a second in which nothing happens.
    pub(super) at_rest: f64,
}

/// Measures with the runner that is counted, of whose functions the first `warm` have a pod, and with
/// the onlooker. `foreign` are pods of neither.
pub(super) async fn measure(
    stage: &Stage<'_>,
    fleet: &Fleet,
    warm: usize,
    foreign: &[String],
) -> Result<Cost> {
    let (counter, member) = (&fleet.counter, fleet.counted()?);
    let (pid, samples) = (member.server.pid(), stage.size.samples);
    // What happens for the first time is not warm.
    calls::in_turn(member, &member.functions[..1], 10).await?;
    let rest = counter.during(pid, idle()).await?;
    let one = calls::in_turn(member, &member.functions[..1], samples);
    let call = counter.during(pid, one).await?.each(rest, samples);
    let mixed = calls::in_turn(member, &member.functions[..warm], samples);
    let mixed_call = counter.during(pid, mixed).await?.each(rest, samples);
    let event = counter.during(pid, poke(stage, fleet, foreign)).await?;
    Ok(Cost {
        call,
        mixed_call,
        event: event.each(rest, samples),
        wake_ups: onlookers_wake_ups(stage, fleet, foreign).await?,
        at_rest: rest.instructions / rest.time.as_secs_f64(),
    })
}

async fn idle() -> Result<()> {
    sleep(REST).await;
    Ok(())
}

/// Changes pods, and waits until the runner that is counted has heard of it.
async fn poke(stage: &Stage<'_>, fleet: &Fleet, foreign: &[String]) -> Result<()> {
    let (samples, members) = (stage.size.samples, [fleet.counted()?, &fleet.onlooker]);
    let before = members.map(|member| member.proxy.counted().events);
    pods::poke(stage.scope, foreign, samples).await?;
    let heard = async {
        let is_behind = |(member, before): (&&Member, &u64)| {
            member.proxy.counted().events < before + samples as u64
        };
        while members.iter().zip(&before).any(is_behind) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    in_time("events to arrive", heard).await?;
    // It has to read them yet.
    let worked_off = async {
        let pids = members.map(|member| member.server.pid());
        let mut before = pids.map(processor_time);
        loop {
            sleep(LOOK).await;
            let now = pids.map(processor_time);
            if now
                .iter()
                .zip(before)
                .all(|(now, before)| *now - before < IDLE)
            {
                return;
            }
            before = now;
        }
    };
    in_time("events to be worked off", worked_off).await
}

async fn onlookers_wake_ups(stage: &Stage<'_>, fleet: &Fleet, foreign: &[String]) -> Result<f64> {
    let pid = fleet.onlooker.server.pid();
    let (before, begin) = (wake_ups(pid)?, Instant::now());
    idle().await?;
    let anyway = (wake_ups(pid)? - before) as f64 / begin.elapsed().as_secs_f64();
    let (before, begin) = (wake_ups(pid)?, Instant::now());
    poke(stage, fleet, foreign).await?;
    let woken = (wake_ups(pid)? - before) as f64 - anyway * begin.elapsed().as_secs_f64();
    Ok(woken / stage.size.samples as f64)
}
