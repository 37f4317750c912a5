//! Measures the runner beside Porch's own, on the real node: `make bench`.
//!
//! Rounds alternate between the two sides, so that what disturbs the machine disturbs both; what
//! counts are ratios. The table goes into `docs/performance.md` and the charts beside it; with
//! `QUICK=1` everything is shorter and only printed. A bar that is missed in every round is a failure.

mod caller;
mod chart;
mod growth;
mod material;
mod memory;
mod rig;
mod rounds;
mod stats;
mod table;
mod work;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

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
    let run = async { tokio::time::timeout(LONGEST, run(&plan)).await };
    runtime
        .block_on(run)
        .context("it took too long and was given up")?
}

async fn run(plan: &Plan) -> Result<()> {
    let begin = Instant::now();
    let rig = Rig::build()?;
    let measurements = all_rounds(&rig, plan).await?;
    let table = table::render(&measurements);
    println!("{table}");
    let charts = growth::charts(&rig, plan.point).await?;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    if plan.is_kept {
        let document = docs.join("performance.md");
        let text = table::insert(&fs::read_to_string(&document)?, &table)?;
        fs::write(&document, text)?;
        fs::create_dir_all(docs.join("performance"))?;
    }
    for (file, chart) in charts {
        println!("{}", chart.text());
        if plan.is_kept {
            fs::write(docs.join("performance").join(file), chart.svg())?;
        }
    }
    println!("took {} s", begin.elapsed().as_secs());
    let missed = table::missed(&measurements);
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
                    Side::Peer => rounds.peer.push(value),
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
