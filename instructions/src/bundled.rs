//! Bundled functions on lists of Deployments. `starlark` is a program of its own: it is not here.

use std::hint::black_box;

use functions::{
    Clock, Reading,
    catalog::{self, Chosen},
};

use crate::Workload;
use lists::{Objects, config, list};
use pipeline::{IN_A_ROW, ROW};

#[path = "../../bench/src/lists.rs"]
mod lists;
#[path = "../../bench/src/pipeline.rs"]
mod pipeline;

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
    ("search-replace-expression", |rounds| {
        run_with(rounds, "search-replace", PACKAGE, EXPRESSION);
    }),
    ("five-in-a-row", in_a_row),
];

/// Its expression is compiled, and asked about every value.
const EXPRESSION: &str = "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    \
                          by-value-regex: eu-(\\w+)-[0-9]\n    put-value: us-${1}-1\n";

fn run_with(rounds: usize, name: &str, bytes: usize, config: &str) {
    let list = list(Objects::Canonical, bytes, config);
    let function = catalog::find(name).unwrap();
    for _ in 0..rounds {
        black_box(output(function, Reading::AsText, &list));
    }
}

/// Each function gets the objects of the one before, and a configuration of its own.
fn in_a_row(rounds: usize) {
    const CONFIG: &str = "\nfunctionConfig:\n";
    let first = list(Objects::Canonical, ROW, "");
    for _ in 0..rounds {
        let mut list = first.clone();
        for name in IN_A_ROW {
            let (items, _) = list.split_once(CONFIG).unwrap();
            let configured = [items, CONFIG, config(name).unwrap()].concat();
            list = output(catalog::find(name).unwrap(), Reading::AsText, &configured);
        }
        black_box(list);
    }
}

fn run(rounds: usize, name: &str, objects: Objects, bytes: usize) {
    run_reading(Reading::AsText, rounds, name, objects, bytes);
}

fn run_reading(reading: Reading, rounds: usize, name: &str, objects: Objects, bytes: usize) {
    let list = list(objects, bytes, config(name).unwrap());
    let function = catalog::find(name).unwrap();
    for _ in 0..rounds {
        black_box(output(function, reading, &list));
    }
}

fn output(function: Chosen, reading: Reading, list: &str) -> String {
    let ended = function
        .run_reading(reading, list.as_bytes(), &Clock::default())
        .unwrap();
    assert_eq!(ended.exit, 0, "{}", ended.stderr);
    ended.stdout
}
