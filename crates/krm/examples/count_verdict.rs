//! Workloads whose instructions `scripts/bench-check` counts: `count_verdict NAME ROUNDS`;
//! without arguments, their names. Each round does the same; what comes before the rounds does
//! not count.
#![allow(clippy::unwrap_used)]

use std::{env, hint::black_box};

use bytes::Bytes;
use krm::{judge_completed, resource_list};
use process::{Completed, Exit};

/// A workload's name, its text, and what is done with it.
const WORKLOADS: &[(&str, fn() -> String, fn(&Bytes))] = &[
    ("envelope-block", block, recognise),
    ("envelope-json", json, recognise),
    ("envelope-odd", odd, recognise),
    ("verdict-success", block, succeed),
    ("verdict-failure", with_results, fail),
];

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [name, rounds] = &words[..] else {
        WORKLOADS.iter().for_each(|(name, ..)| println!("{name}"));
        return;
    };
    let (_, text, work) = WORKLOADS.iter().find(|(known, ..)| known == name).unwrap();
    let text = Bytes::from(text());
    for _ in 0..rounds.parse().unwrap() {
        work(black_box(&text));
    }
}

fn recognise(text: &Bytes) {
    black_box(resource_list::read(text).unwrap());
}

fn succeed(text: &Bytes) {
    black_box(judge_completed("function", completed(0, text)).unwrap());
}

fn fail(text: &Bytes) {
    black_box(judge_completed("function", completed(1, text)).unwrap_err());
}

fn completed(code: i32, text: &Bytes) -> Completed {
    Completed {
        exit: Exit::Code(code),
        stdout: text.clone(),
        log: Bytes::new(),
    }
}

/// What functions usually write, about a megabyte of it.
fn block() -> String {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings\n    labels: {app: shop}\n  \
                data:\n    key: value\n    text: |\n      some text\n";
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
    format!("{list}{}", item.repeat(8_000))
}

fn json() -> String {
    let item =
        r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"key":"some text \" with quotes"}},"#;
    let items = item.repeat(4_000);
    format!("{{\"items\":[{items}1],\"kind\":\"ResourceList\"}}")
}

/// Indented as a whole: only the parser understands it.
fn odd() -> String {
    let item = "  - kind: ConfigMap\n    data:\n      key: some text\n";
    format!("  kind: ResourceList\n  items:\n{}", item.repeat(500))
}

fn with_results() -> String {
    let result = "- message: must be set\n  severity: error\n  resourceRef:\n    apiVersion: v1\n    \
                  kind: ConfigMap\n    name: settings\n  field:\n    path: data.key\n";
    format!("{}results:\n{}", block(), result.repeat(100))
}
