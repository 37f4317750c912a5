//! Workloads whose instructions `scripts/bench-check` counts: `instructions NAME ROUNDS`;
//! without arguments, their names. Each round does the same work, so that the difference of two
//! counts is one round's, whatever comes before and after.
#![allow(clippy::unwrap_used)]

mod bundled;
mod observed;
mod planner;
mod traced;
mod verdict;

use std::env;

/// A name, and what does so many rounds of it.
type Workload = (&'static str, fn(usize));

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let mut workloads = [
        verdict::WORKLOADS,
        planner::WORKLOADS,
        bundled::WORKLOADS,
        observed::WORKLOADS,
        traced::WORKLOADS,
    ]
    .into_iter()
    .flatten();
    let [name, rounds] = &words[..] else {
        workloads.for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, run) = workloads.find(|(known, _)| known == name).unwrap();
    run(rounds.parse().unwrap());
}
