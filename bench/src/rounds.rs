//! One round of one side: every kind of work once, on processes of its own.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::Bytes;
use tonic::transport::Channel;

use crate::caller::{Load, at_once, call, drive, milliseconds};
use crate::material::{LARGE, SMALL, WANTED, list};
use crate::memory::steady_megabytes;
use crate::rig::{EXEC_IDENTITY, EXEC_SET_NAMESPACE, Rig, Side};
use crate::work::Work;

const TOGETHER: usize = 16;

/// How much is measured in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// For each load.
    pub(crate) time: Duration,
    pub(crate) first_calls: usize,
}

/// The lists of a run, made once.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) small: Bytes,
    pub(crate) large: Bytes,
}

impl Lists {
    pub(crate) fn new() -> Self {
        Self {
            small: list(SMALL),
            large: list(LARGE),
        }
    }
}

/// Measures one side. First calls give several values.
pub(crate) async fn measure(
    rig: &Rig,
    side: Side,
    lists: &Lists,
    effort: Effort,
) -> Result<Vec<(Work, f64)>> {
    let mut values = Vec::new();
    in_pods(rig, side, lists, effort, &mut values).await?;
    in_exec(rig, side, lists, effort, &mut values).await?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes of files are small enough"
    )]
    let size = rig.wrapper_size(side)? as f64 / 1e6;
    values.push((Work::WrapperSize, size));
    Ok(values)
}

async fn in_pods(
    rig: &Rig,
    side: Side,
    lists: &Lists,
    effort: Effort,
    values: &mut Vec<(Work, f64)>,
) -> Result<()> {
    rig.clear(side).await?;
    let runner = rig.with_pods(side).await?;
    values.push((Work::MemoryIdle, steady_megabytes(runner.pid()).await));
    let channel = runner.connect().await?;
    // Puts the image on the node, and its metadata into the runner.
    echoes(&channel, &rig.identity, &lists.small).await?;
    for _ in 0..effort.first_calls {
        rig.clear(side).await?;
        let begin = Instant::now();
        call(channel.clone(), &rig.identity, &lists.small).await?;
        values.push((Work::FirstCall, milliseconds(begin.elapsed())));
    }
    let mut load = Load {
        images: vec![rig.identity.clone()],
        list: lists.small.clone(),
        callers: 1,
        time: effort.time,
        at_least: 3,
    };
    values.push((Work::WarmPodAlone, drive(&channel, &load).await?.p50()?));
    load.callers = TOGETHER;
    let outcome = drive(&channel, &load).await?;
    values.push((Work::WarmPodTogether, outcome.per_second()));

    sets_namespace(&channel, &rig.set_namespace, &lists.small).await?;
    load.images = vec![rig.set_namespace.clone()];
    let outcome = drive(&channel, &load).await?;
    values.push((Work::WarmPodSetNamespace, outcome.per_second()));

    load.images = vec![rig.identity.clone()];
    load.list = lists.large.clone();
    load.callers = 1;
    values.push((Work::LargeListInPod, drive(&channel, &load).await?.p50()?));
    load.callers = TOGETHER;
    (load.time, load.at_least) = (Duration::ZERO, 2);
    at_once(&channel, &load).await?;
    let memory = steady_megabytes(runner.pid()).await;
    values.push((Work::MemoryAfterLargeLists, memory));
    runner.stop().await?;
    Ok(())
}

async fn in_exec(
    rig: &Rig,
    side: Side,
    lists: &Lists,
    effort: Effort,
    values: &mut Vec<(Work, f64)>,
) -> Result<()> {
    let runner = rig.with_exec(side).await?;
    let channel = runner.connect().await?;
    sets_namespace(&channel, EXEC_SET_NAMESPACE, &lists.small).await?;
    echoes(&channel, EXEC_IDENTITY, &lists.large).await?;
    let mut load = Load {
        images: vec![EXEC_SET_NAMESPACE.to_owned()],
        list: lists.small.clone(),
        callers: 1,
        time: effort.time,
        at_least: 3,
    };
    values.push((Work::ExecSetNamespace, drive(&channel, &load).await?.p50()?));
    load.images = vec![EXEC_IDENTITY.to_owned()];
    load.callers = TOGETHER;
    let outcome = drive(&channel, &load).await?;
    values.push((Work::ExecTogether, outcome.per_second()));
    load.list = lists.large.clone();
    load.callers = 1;
    values.push((Work::LargeListInExec, drive(&channel, &load).await?.p50()?));
    let memory = steady_megabytes(runner.pid()).await;
    values.push((Work::MemoryAfterExec, memory));
    runner.stop().await?;
    Ok(())
}

/// What does the work wrongly is not measured.
pub(crate) async fn echoes(channel: &Channel, image: &str, list: &Bytes) -> Result<()> {
    let answer = call(channel.clone(), image, list).await?;
    ensure!(answer == *list, "{image} gave back another list");
    Ok(())
}

async fn sets_namespace(channel: &Channel, image: &str, list: &Bytes) -> Result<()> {
    let answer = call(channel.clone(), image, list).await?;
    let answer = String::from_utf8(answer.to_vec())?;
    let count = answer.matches(WANTED).count();
    ensure!(count > 1, "{image} set no namespace:\n{answer}");
    Ok(())
}
