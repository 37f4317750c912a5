//! Bundled functions on lists of Deployments.

use std::hint::black_box;

use functions::{Clock, Reading, catalog};

use crate::Workload;
use lists::{CONFIGS, Objects, list};

#[path = "../../bench/src/lists.rs"]
mod lists;

/// An object, a package, and a list so large that what every call costs does not show.
const SMALL: usize = 1000;
const PACKAGE: usize = 100_000;
const LARGE: usize = 1_000_000;

pub(crate) const WORKLOADS: &[Workload] = &[
    ("set-namespace-small", |rounds| {
        run(rounds, "set-namespace", Objects::Canonical, SMALL);
    }),
    ("set-namespace-package", |rounds| {
        run(rounds, "set-namespace", Objects::Canonical, PACKAGE);
    }),
    ("set-namespace-text", |rounds| {
        run(rounds, "set-namespace", Objects::Canonical, LARGE);
    }),
    ("set-namespace-mixed", |rounds| {
        run(rounds, "set-namespace", Objects::OneInTenOdd, LARGE);
    }),
    ("set-namespace-odd", |rounds| {
        run(rounds, "set-namespace", Objects::AllOdd, LARGE);
    }),
    ("set-namespace-parsed", |rounds| {
        let reading = Reading::Parsed;
        run_reading(reading, rounds, "set-namespace", Objects::Canonical, LARGE);
    }),
    ("set-labels-small", |rounds| {
        run(rounds, "set-labels", Objects::Canonical, SMALL);
    }),
    ("set-labels-package", |rounds| {
        run(rounds, "set-labels", Objects::Canonical, PACKAGE);
    }),
    ("set-labels-text", |rounds| {
        run(rounds, "set-labels", Objects::Canonical, LARGE);
    }),
    ("apply-setters-small", |rounds| {
        run(rounds, "apply-setters", Objects::Canonical, SMALL);
    }),
    ("apply-setters-package", |rounds| {
        run(rounds, "apply-setters", Objects::Canonical, PACKAGE);
    }),
    ("apply-setters-text", |rounds| {
        run(rounds, "apply-setters", Objects::Canonical, LARGE);
    }),
    ("search-replace-small", |rounds| {
        run(rounds, "search-replace", Objects::Canonical, SMALL);
    }),
    ("search-replace-package", |rounds| {
        run(rounds, "search-replace", Objects::Canonical, PACKAGE);
    }),
    ("search-replace-text", |rounds| {
        run(rounds, "search-replace", Objects::Canonical, LARGE);
    }),
];

fn run(rounds: usize, name: &str, objects: Objects, bytes: usize) {
    run_reading(Reading::AsText, rounds, name, objects, bytes);
}

fn run_reading(reading: Reading, rounds: usize, name: &str, objects: Objects, bytes: usize) {
    let (_, config) = CONFIGS.iter().find(|(known, _)| *known == name).unwrap();
    let list = list(objects, bytes, config);
    let function = catalog::find(name).unwrap();
    for _ in 0..rounds {
        let ended = function
            .run_reading(reading, list.as_bytes(), &Clock::default())
            .unwrap();
        assert_eq!(ended.exit, 0, "{}", ended.stderr);
        black_box(ended);
    }
}
