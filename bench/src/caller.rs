//! The load: a number of callers over one connection, as Porch keeps it, each of which makes its
//! next call as soon as the last one is answered.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use proto::EvaluateFunctionRequest;
use tokio::task::JoinSet;
use tonic::Request;
use tonic::transport::Channel;

use crate::stats::Figure;

/// No call takes this long unless something is broken.
const LONGEST: Duration = Duration::from_secs(60);

/// What is called, by how many, for how long.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Callers take turns through them.
    pub(crate) images: Vec<String>,
    pub(crate) list: Bytes,
    pub(crate) callers: usize,
    /// No call begins after that, unless one of the first.
    pub(crate) time: Duration,
    /// What each caller calls in any case, so that slow work is measured too.
    pub(crate) at_least: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) latencies: Vec<Duration>,
    pub(crate) elapsed: Duration,
}

impl Outcome {
    /// The latency that half of the calls keep, in milliseconds.
    pub(crate) fn p50(&self) -> Result<f64> {
        let latencies: Vec<f64> = self
            .latencies
            .iter()
            .map(|time| milliseconds(*time))
            .collect();
        Ok(Figure::of(&latencies).context("no call was made")?.median)
    }

    pub(crate) fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of calls is small")]
        let calls = self.latencies.len() as f64;
        calls / self.elapsed.as_secs_f64()
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Calls as the load says, after half as long that is not counted: the peer may make 45 requests
/// to the API server at once before its limiter slows it down, and the first calls find caches cold.
/// A call that fails ends the measurement.
pub(crate) async fn drive(channel: &Channel, load: &Load) -> Result<Outcome> {
    let lead = Load {
        time: load.time / 2,
        at_least: 1,
        ..load.clone()
    };
    at_once(channel, &lead).await?;
    at_once(channel, load).await
}

/// The same without anything before.
pub(crate) async fn at_once(channel: &Channel, load: &Load) -> Result<Outcome> {
    let begin = Instant::now();
    // Each a task of its own, so that an answer wakes only the caller who waits for it.
    let mut callers = JoinSet::new();
    for number in 0..load.callers {
        callers.spawn(one_caller(channel.clone(), load.clone(), number, begin));
    }
    let mut latencies = Vec::new();
    while let Some(called) = callers.join_next().await {
        latencies.append(&mut called??);
    }
    Ok(Outcome {
        latencies,
        elapsed: begin.elapsed(),
    })
}

async fn one_caller(
    channel: Channel,
    load: Load,
    number: usize,
    begin: Instant,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    while latencies.len() < load.at_least || begin.elapsed() < load.time {
        let image = &load.images[(number + latencies.len()) % load.images.len()];
        let called = Instant::now();
        call(channel.clone(), image, &load.list).await?;
        latencies.push(called.elapsed());
    }
    Ok(latencies)
}

/// One call; the list that came back.
pub(crate) async fn call(channel: Channel, image: &str, list: &Bytes) -> Result<Bytes> {
    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: list.clone(),
        image: image.to_owned(),
        tag: String::new(),
    });
    request.set_timeout(LONGEST);
    let answer = acceptance::evaluate(channel, request).await;
    let answer = answer.with_context(|| format!("a call of {image} failed"))?;
    Ok(answer.resource_list)
}
