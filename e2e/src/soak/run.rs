//! A soak from its beginning to its end: rounds of load and faults, a rest after each, and the
//! report.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::blows::Pods;
use super::call::Script;
use super::growth::Growth;
use super::ledger::Ledger;
use super::material::{Images, Material, VARIANTS};
use super::plan::Plan;
use super::replicas::Replicas;
use super::rest::rest;
use super::trouble::Trouble;
use super::{call, callers, objects};
use crate::outage::Breakable;
use crate::runner::{call as evaluate, publish_wrapper};
use crate::scenario;
use crate::scope::Scope;

/// Both replicas have a lease each.
const RUNNERS: u64 = 2;

/// Runs a plan in a namespace of its own. Nobody else may use the node meanwhile if it breaks it.
///
/// # Panics
/// If a call is lost, something has grown, or a fault cannot be repaired; after printing what the
/// cluster has to say about it.
pub fn soak(plan: &Plan) {
    let length: Duration = plan.rounds.iter().map(|round| round.lasts).sum();
    // Faults move what comes after them, and each rest takes its time.
    let limit = length * 3 + Duration::from_secs(900);
    let breaks_node = plan
        .faults()
        .any(|(_, planned)| planned.fault.breaks_node());
    if breaks_node {
        scenario::alone(limit, async |scope, node| {
            objects::install(scope).await?;
            let outcome = run(scope, plan, Some(node)).await;
            let removed = objects::remove(scope).await;
            outcome.and(removed)
        });
    } else {
        scenario::beside_others(limit, async |scope| run(scope, plan, None).await);
    }
}

async fn run(scope: &Scope, plan: &Plan, node: Option<Breakable>) -> Result<()> {
    println!("{plan}");
    let wrapper = publish_wrapper("wrapper", "e2e")?;
    let (material, images) = Material::prepare(scope, &wrapper).await?;
    let images = Arc::new(images);
    let replicas = Replicas::start(scope, &material, &wrapper).await?;
    bring_images(&replicas, &material, scope).await?;
    let ledger = Arc::new(Ledger::begin());
    let trouble = Trouble {
        ledger: &ledger,
        replicas: &replicas,
        material: &material,
        pods: Pods::new(scope),
        node: node.map(|node| &*Box::leak(Box::new(node))),
    };
    let mut growth = Growth::after(plan.rounds[0].lasts);
    let mut rounds = async || -> Result<()> {
        for number in 0..plan.rounds.len() {
            println!("---- round {number} of {} ----", plan.rounds.len() - 1);
            under_load(&trouble, &ledger, &images, plan, number)
                .await
                .with_context(|| format!("round {number} of seed {}", plan.seed))?;
            growth.add(rest(scope, replicas.steady()?, RUNNERS).await?);
        }
        Ok(())
    };
    let outcome = rounds().await;
    println!("\n{ledger}\n{growth}");
    let ended = replicas.end().await;
    verdict(plan, &ledger, &growth)?;
    outcome.and(ended)
}

async fn under_load(
    trouble: &Trouble<'_>,
    ledger: &Arc<Ledger>,
    images: &Arc<Images>,
    plan: &Plan,
    number: usize,
) -> Result<()> {
    let address = trouble.replicas.front.address();
    let load = callers::start(ledger, address, images, plan.seed, number);
    let outcome = trouble.of(&plan.rounds[number]).await;
    callers::end(load).await?;
    outcome
}

/// Lets the node pull every image once: a tag that moves to an image that the node has never seen,
/// while the registry is down, would fail calls, and rightly.
async fn bring_images(replicas: &Replicas<'_>, material: &Material, scope: &Scope) -> Result<()> {
    let channel = replicas.steady()?.connect().await;
    let mut images = Vec::new();
    for script in Script::ALL {
        for variant in 0..VARIANTS {
            let tag = format!("{}-{variant}", scope.namespace());
            images.push((script, material.publish(script, &tag, variant)?));
        }
    }
    let calls = images
        .iter()
        .map(|(_, image)| evaluate(channel.clone(), image, call::DEADLINE));
    let answers = futures::future::join_all(calls).await;
    for ((script, image), answer) in images.iter().zip(answers) {
        if *script != Script::Failing {
            answer.with_context(|| format!("the first call of {image}"))?;
        }
    }
    Ok(())
}

fn verdict(plan: &Plan, ledger: &Ledger, growth: &Growth) -> Result<()> {
    let mut wrong: Vec<String> = ledger.losses();
    wrong.extend(
        growth
            .grown()
            .into_iter()
            .map(|told| format!("grown: {told}")),
    );
    if wrong.is_empty() {
        println!("nothing was lost, nothing got stuck, nothing is left over");
        return Ok(());
    }
    bail!(
        "a soak with seed {} failed; `SEED={} make soak` repeats it:\n  {}",
        plan.seed,
        plan.seed,
        wrong.join("\n  ")
    );
}
