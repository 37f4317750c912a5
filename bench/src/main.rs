//! Measures the runner beside Porch's own, on the real node: `make bench`; or, without a node, the
//! bundled functions beside the Go functions: `bench bundled`.
//!
//! Rounds alternate between the two sides, so that other load on the machine disturbs both; only
//! ratios are judged. The table goes into `docs/performance.md` and the charts beside it; with
//! `QUICK=1` everything is shorter and only printed. A bar that is missed in every round is a failure.

mod bundled;
mod caller;
mod chart;
mod growth;
mod lists;
mod material;
mod memory;
mod pipeline;
mod rig;
mod rounds;
mod servers;
mod stats;
mod table;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::time::timeout;

use rig::{Rig, Side};
use rounds::{Effort, Lists, measure};
use table::Measurements;

/// Bounds the whole: on two cores it takes about eight minutes.
const LONGEST: Duration = Duration::from_secs(30 * 60);

struct Plan {
    rounds: usize,
    effort: Effort,
    point: Duration,
    is_kept: bool,
}

impl Plan {
    const FULL: Self = Self {
        rounds: 4,
        effort: Effort {
            time: Duration::from_secs(2),
            first_calls: 2,
        },
        point: Duration::from_secs(1),
        is_kept: true,
    };
    const QUICK: Self = Self {
        rounds: 1,
        effort: Effort {
            time: Duration::from_secs(1),
            first_calls: 2,
        },
        point: Duration::from_millis(300),
        is_kept: false,
    };
}

fn main() -> Result<()> {
    let is_quick = std::env::var_os("QUICK").is_some_and(|value| value == "1");
    let plan = if is_quick { Plan::QUICK } else { Plan::FULL };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let run = async {
        match words.split_first() {
            None => timeout(LONGEST, on_node(&plan)).await,
            Some((what, only)) if what == "bundled" => timeout(LONGEST, bundled(&plan, only)).await,
            _ => bail!("usage: bench [bundled [words of rows]]"),
        }
        .context("it took too long and was given up")?
    };
    runtime.block_on(run)
}

/// What needs no node; all of it, or some rows, which are then only printed.
async fn bundled(plan: &Plan, only: &[String]) -> Result<()> {
    let begin = Instant::now();
    let measurements = bundled::all_rounds(plan.rounds, plan.effort.time, only).await?;
    ensure!(!measurements.is_empty(), "no row has these words: {only:?}");
    let table = table::render(&measurements, "other");
    println!("{table}");
    if plan.is_kept && only.is_empty() {
        write("measured, bundled", &table)?;
    }
    ended(begin, &measurements)
}

async fn on_node(plan: &Plan) -> Result<()> {
    let begin = Instant::now();
    let rig = Rig::build()?;
    let measurements = all_rounds(&rig, plan).await?;
    let table = table::render(&measurements, "peer");
    println!("{table}");
    let charts = growth::charts(&rig, plan.point).await?;
    if plan.is_kept {
        write("measured", &table)?;
        fs::create_dir_all(docs().join("performance"))?;
    }
    for (file, chart) in charts {
        println!("{}", chart.text());
        if plan.is_kept {
            fs::write(docs().join("performance").join(file), chart.svg())?;
        }
    }
    ended(begin, &measurements)
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Puts a table into the document, between the marks of this name.
fn write(name: &str, table: &str) -> Result<()> {
    let document = docs().join("performance.md");
    let text = table::insert(&fs::read_to_string(&document)?, name, table)?;
    Ok(fs::write(&document, text)?)
}

fn ended(begin: Instant, measurements: &Measurements) -> Result<()> {
    println!("took {} s", begin.elapsed().as_secs());
    let missed = table::missed(measurements);
    ensure!(
        missed.is_empty(),
        "missed in every round: {}",
        missed.join("; ")
    );
    Ok(())
}

/// The sides take turns, and in who begins.
async fn all_rounds(rig: &Rig, plan: &Plan) -> Result<Measurements> {
    let lists = Lists::new();
    let mut measurements = Measurements::new();
    for round in 0..plan.rounds {
        let mut sides = Side::BOTH;
        if round % 2 == 1 {
            sides.reverse();
        }
        for side in sides {
            let begin = Instant::now();
            let name = side.name();
            let values = measure(rig, side, &lists, plan.effort)
                .await
                .with_context(|| format!("{name}, round {}", round + 1))?;
            for (work, value) in values {
                let rounds = measurements.entry(work).or_default();
                match side {
                    Side::Ours => rounds.ours.push(value),
                    Side::Peer => rounds.other.push(value),
                }
            }
            let seconds = begin.elapsed().as_secs();
            eprintln!(
                "round {} of {}: {name}: {seconds} s",
                round + 1,
                plan.rounds
            );
        }
    }
    Ok(measurements)
}
