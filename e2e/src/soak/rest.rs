//! A rest between two rounds: nobody calls, pods go after their time, and what is left is counted.

use std::fs;
use std::time::{Duration, Instant};

use acceptance::{Server, system};
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use tokio::time::{sleep, timeout};

use super::growth::{MEASURES, Sample, median};
use crate::scope::Scope;

/// How long things may take to settle: pods go after 8 s, a crashed runner is given up after 30 s.
const SETTLING: Duration = Duration::from_secs(75);

/// Threads that wait for more work have ended by then.
const THREADS: Duration = Duration::from_secs(11);

/// How often is looked, and how many looks are one sample.
const LOOK: Duration = Duration::from_millis(300);
const LOOKS: usize = 5;

/// What is left of a round, at the runner and in the cluster.
pub(crate) async fn rest(scope: &Scope, runner: &Server, runners: u64) -> Result<Sample> {
    let begin = Instant::now();
    loop {
        let [.., pods, services, leases] = look(scope, runner).await?;
        let is_settled = (pods, services, leases) == (0, 0, runners)
            && system::descendants(runner.pid()).is_empty()
            && begin.elapsed() > THREADS;
        // What has not settled by now is counted as it is.
        if is_settled || begin.elapsed() > SETTLING {
            break;
        }
        sleep(LOOK).await;
    }
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        looks.push(look(scope, runner).await?);
        sleep(LOOK).await;
    }
    let of = |index: usize| median(looks.iter().map(|look| look[index]));
    let sample = std::array::from_fn(of);
    let words: Vec<String> = MEASURES
        .iter()
        .zip(sample)
        .map(|(measure, value)| format!("{value} {}", measure.name))
        .collect();
    println!(
        "at rest after {:.1} s: {}",
        begin.elapsed().as_secs_f64(),
        words.join(", ")
    );
    Ok(sample)
}

async fn look(scope: &Scope, runner: &Server) -> Result<Sample> {
    let status = fs::read_to_string(format!("/proc/{}/status", runner.pid()))?;
    let field = |name: &str| -> Result<u64> {
        let line = status.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_whitespace().nth(1));
        value
            .and_then(|value| value.parse().ok())
            .with_context(|| format!("no {name} of the runner"))
    };
    let every = ListParams::default();
    let counts = async {
        let (pods, services) = scope.functions().await?;
        let leases = scope.api::<Lease>().list(&every).await?.items;
        anyhow::Ok((
            pods.len() as u64,
            services.len() as u64,
            leases.len() as u64,
        ))
    };
    let (pods, services, leases) = timeout(SETTLING, counts).await.context("no answer")??;
    Ok([
        // Of the program's own file, pages come when code runs for the first time, and go as the
        // kernel likes.
        field("RssAnon:")?,
        system::open_descriptors(runner.pid()) as u64,
        field("Threads:")?,
        pods,
        services,
        leases,
    ])
}
