//! A run that is late ends wherever it is: while parsing, inside of one item, in
//! loops that make nothing, while writing.

use std::time::{Duration, Instant};

use functions::{
    Clock, Late,
    catalog::{self, Chosen},
};

fn list(config: &str, items: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\
         functionConfig:\n{config}"
    )
}

/// What is promised of the optimised program.
const MOST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 100 });

/// How late a run ends, with a deadline so many milliseconds ahead. A machine that is
/// busy makes anything late, so the best of some runs counts.
fn overrun(function: Chosen, input: &str, after: u64) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let deadline = Instant::now() + Duration::from_millis(after);
        let ended = function.run(input.as_bytes(), &Clock::until(deadline));
        least = least.min(Instant::now().saturating_duration_since(deadline));
        if after == 0 {
            assert_eq!(ended, Err(Late), "{function}");
        }
        if least < MOST {
            break;
        }
    }
    least
}

#[test]
fn a_late_run_ends_wherever_it_is() {
    let many = "- {apiVersion: v1, kind: A, metadata: {name: a}}\n".repeat(100_000);
    let one = format!(
        "- apiVersion: v1\n  kind: Kptfile\n  metadata: {{name: a}}\n  v:\n{}",
        "  - {a: b, c: [d, e, f]}\n".repeat(100_000)
    );
    let config = "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  \
                  data: {namespace: x, prepend: p, by-value: b, project-id: y, name: b, newTag: z}\n";
    let without_targets = format!(
        "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata: {{name: c}}\n  \
         replacements:\n{}",
        "  - {source: {kind: A, fieldPath: metadata.name}, targets: []}\n".repeat(20_000)
    );
    let one_object = "- {apiVersion: v1, kind: A, metadata: {name: a}}\n";
    let inputs = [
        list(config, &many),
        list(config, &one),
        list(&without_targets, one_object),
        format!("{}x", "[".repeat(100)) + &"x, ".repeat(1_000_000),
    ];
    for (number, input) in inputs.iter().enumerate() {
        for function in catalog::native() {
            for after in [0, 20, 100] {
                let late = overrun(function, input, after);
                let case = format!("{function}, list {number}, {after} ms");
                assert!(late < MOST, "{case}: ended {late:?} late");
            }
        }
    }
}
