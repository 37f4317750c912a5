//! The envelope check and the verdict, on texts such as functions write them.

use std::hint::black_box;

use bytes::Bytes;
use krm::{judge_completed, resource_list};
use process::{Completed, Exit};

use crate::Workload;

pub(crate) const WORKLOADS: &[Workload] = &[
    ("envelope-block", |rounds| recognise(rounds, block())),
    ("envelope-json", |rounds| recognise(rounds, json())),
    ("envelope-odd", |rounds| recognise(rounds, odd())),
    ("verdict-success", |rounds| judge(rounds, 0, block())),
    ("verdict-failure", |rounds| judge(rounds, 1, with_results())),
];

fn recognise(rounds: usize, text: String) {
    let text = text.into_bytes();
    for _ in 0..rounds {
        black_box(resource_list::read(black_box(&text)).unwrap());
    }
}

fn judge(rounds: usize, code: i32, text: String) {
    let text = Bytes::from(text);
    for _ in 0..rounds {
        let completed = Completed {
            exit: Exit::Code(code),
            stdout: text.clone(),
            log: Bytes::new(),
        };
        assert_eq!(judge_completed("function", completed).is_ok(), code == 0);
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
